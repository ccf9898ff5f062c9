"""Processes that compute vectors in the background are killed at random moments, or lose their archive."""

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from damage import seeds

from askalike import rankers
from askalike.core.records import Question
from askalike.search import interim
from askalike.search.encoder_installation import adopt_encoder
from askalike.store import Archive
from commands import askalike, environment
from needs import need
from small_models import WORDS, write_encoder

pytestmark = [pytest.mark.fuzz, pytest.mark.long]
need("onnxruntime", "onnx", "safetensors", "tokenizers")
LATEST_S = 4.0
"""The latest moment after a start: most processes have finished by then."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    encoder = write_encoder(tmp_path_factory.mktemp("encoder") / "small", [*dict.fromkeys(WORDS)])
    with Archive.create(tmp_path_factory.mktemp("made") / "faq") as archive:
        archive.upsert(Question(f"q{n}", f"how do i cook rice {n} in pot {n % 7}") for n in range(3_000))
        adopt_encoder(archive, str(encoder))
    return archive.path


def start(path):
    command = [sys.executable, "-P", "-m", interim.__name__, str(path)]
    return subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL)


def found(path):
    with Archive.open(path) as archive:
        searcher = rankers.open_current(rankers.create(None, {}, archive), archive.view())
        run = rankers.rank(searcher, {"q": Question("q", "cook rice 17 in a pot")}, 20)
    return [hit.id for hit in run["q"]]


def test_killed_process_is_completed_by_the_next(made, tmp_path):
    whole = Path(shutil.copytree(made, tmp_path / "whole"))
    expected = found(whole)
    for seed in seeds():
        path = Path(shutil.copytree(made, tmp_path / str(seed)))
        process = start(path)
        time.sleep(random.Random(seed).uniform(0, LATEST_S))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert askalike("search", path, "rice", "--min-similarity", "0").returncode == 0, f"seed {seed}"
        assert found(path) == expected, f"seed {seed}"
        shutil.rmtree(path)


@pytest.mark.parametrize("action", ["delete", "move"])
def test_removed_folder_does_not_come_back(made, tmp_path, action):
    for seed in seeds():
        path = Path(shutil.copytree(made, tmp_path / str(seed)))
        process = start(path)
        time.sleep(random.Random(seed).uniform(0, LATEST_S))
        shutil.move(path, tmp_path / f"gone-{seed}")
        if action == "delete":
            shutil.rmtree(tmp_path / f"gone-{seed}")
        process.wait(timeout=60)
        assert not path.exists(), f"seed {seed}"
