"""`train` and `models` as a person runs them: the chain, and kill -9."""

import os
import signal
import subprocess
import sys
import time

import pytest

from commands import MAIN, askalike, environment

SETTINGS = ("subwords=0", "init=random", "words=500", "bigrams=500", "dim=16", "accelerator=cpu")
SMALL = tuple(word for setting in SETTINGS for word in ("--set", setting))


def test_archive_is_answered_by_the_trained_model(desk, tmp_path):
    done = askalike("train", desk, "--recipe", "static", "--name", "mine", *SMALL, "--set", "training.epochs=3")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{desk}/models/mine: use it with --ranker mine\n"
    lines = done.stderr.splitlines()
    assert lines[0] == "637 training pairs, 16 dev queries over 244 documents"
    assert [line.split("  ")[0] for line in lines[2:]] == ["epoch 1/3", "epoch 2/3", "epoch 3/3"]
    assert all(" examples/s  " in line and " left  Success@10 " in line for line in lines[2:])
    found = askalike("search", desk, "somebody took my bike", "--ranker", "mine", "-k", "2", "--min-similarity", "0")
    assert found.stdout.startswith(" 1. ")
    ranked = askalike("rank", desk, "--ranker", "mine", "--queries", "split:duplicates", "-o", tmp_path / "x.run")
    assert ranked.stdout.startswith("39 queries ranked by mine")
    listed = askalike("models", desk)
    assert listed.stdout.startswith("mine                  static ")
    assert "\nactive ranker: " in listed.stdout
    assert askalike("models", desk, "--remove", "mine").stdout == "removed mine\n"
    assert askalike("models", desk).stdout.startswith("no models; ")


@pytest.mark.long
def test_killed_it_goes_on_to_the_same_weights(desk):
    options = ("--recipe", "static", *SMALL, "--set", "training.epochs=30", "--set", "patience=30")
    line = [sys.executable, "-c", MAIN, "train", str(desk), "--name", "killed", *options]
    process = subprocess.Popen(line, env=environment(), stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 200
    while "epoch 2/30" not in process.stderr.readline():
        assert time.monotonic() < deadline
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (desk / "models/killed").exists()
    resumed = askalike("train", desk, "--name", "killed", *options)
    assert "resuming after epoch " in resumed.stderr
    assert askalike("train", desk, "--name", "whole", *options).returncode == 0
    weights = [(desk / "models" / name / "static.safetensors").read_bytes() for name in ("killed", "whole")]
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--recipe", "nothing"), "no recipe is called 'nothing'; there are: bow, bow_cnn, "),
        (("--recipe", "cnn", "--signals", "same_tag", "--set", "min_pairs=9999"), "too few; 9999 are needed"),
        (("--recipe", "cnn", "--name", "bm25"), "'bm25' is the name of a built-in ranker"),
        (("--recipe", "cnn", "--signals", "nothing"), "no signal is called nothing"),
        (("--recipe", "cnn", "--dev", "nothing"), "nothing"),
        (("--recipe", "cnn", "--set", "init=nowhere.txt"), "expected skipgram, random, packaged, or a file"),
    ],
)
def test_what_is_wrong_is_one_line(desk, words, message):
    done = askalike("train", desk, *words)
    assert done.returncode == 2
    assert message in done.stderr.splitlines()[-1]


def test_it_runs_no_file_of_the_current_folder(desk, tmp_path):
    folder = tmp_path / "shared"
    folder.mkdir()
    for name in ("askalike", "askalike_learning", "json", "multiprocessing", "numpy", "random", "torch", "types"):
        mark = f"open({str(tmp_path / 'ran')!r}, 'a').write('{name} ')\n"
        (folder / f"{name}.py").write_text(mark, encoding="utf-8")
    program = tmp_path / "askalike"
    program.write_text("from askalike.cli import main\nif __name__ == '__main__':\n    main()\n", encoding="utf-8")
    line = [sys.executable, program, "train", desk, "--recipe", "static", "--name", "elsewhere", *SMALL]
    options = ("--set", "training.epochs=1", "--set", "training.devices=2")
    done = subprocess.run([*map(str, line), *options], cwd=folder, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()
