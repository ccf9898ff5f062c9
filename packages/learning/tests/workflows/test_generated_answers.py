"""Answers that a model of the archive writes, between those that are stored, and over HTTP: always labelled."""

import shutil
import time
from pathlib import Path

import pytest

from askalike import rankers
from askalike.calibration.calibrate import calibrate
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.store.archive import Archive
from askalike.tuning import models
from askalike_learning.trainable import load_recipe
from calibration.riverside import riverside
from service.serving import Service, index

RANKER = "lm_jelinek_mercer"
V1 = "/v1/riverside"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    path = riverside(tmp_path_factory.mktemp("auto") / "riverside")
    with Archive.open(path) as archive:
        calibrate(archive, rankers.create(RANKER)).calibration.save(path)
    return path


@pytest.fixture(scope="module")
def writing(desk, tmp_path_factory):
    path = Path(shutil.copytree(desk, tmp_path_factory.mktemp("writing") / "riverside"))
    tiny = {
        "dim": 16, "hidden": 16, "latent": 16, "writer": 32, "cutoffs": (100,), "training.epochs": 2, "init_epochs": 1,
        "accelerator": "cpu", "longest": 30,
    }  # fmt: skip
    with Archive.open(path) as archive:
        models.train(archive, load_recipe("dssm_writer", tiny), "writer")
    return path


def test_a_written_one_between(writing):
    with ArchiveRetriever.open(writing, RANKER) as engine:
        stored = engine.answer("where do I keep a card", "nearest", min_probability=0.0)
        probability = stored.sources[0].probability
        reply = engine.answer("where do I keep a card", "auto", min_probability=0.0, sure=min(probability + 0.01, 1))
        assert reply.generated
        assert reply.text
        assert reply.model == "writer"
        sure = engine.answer("where do I keep a card", "auto", min_probability=0.0, sure=probability)
        assert not sure.generated


@pytest.mark.long
def test_generated_text_is_labelled(tmp_path) -> None:
    tiny = {
        "dim": 16, "hidden": 16, "latent": 16, "writer": 32, "cutoffs": (100,), "training.epochs": 1, "init_epochs": 1,
        "accelerator": "cpu", "longest": 20,
    }  # fmt: skip
    path = index(riverside(tmp_path / "riverside"))
    with Archive.open(path) as opened:
        models.train(opened, load_recipe("dssm_writer", tiny), "writer")
    served = Service(path)
    try:
        query, deadline = {"title": "how do I renew a book", "mode": "generate"}, time.monotonic() + 120
        while (answered := served.send("POST", f"{V1}/answer", query)).status == 503:  # the first one loads the model
            assert time.monotonic() < deadline
        answer = answered.json
        assert answer["generated"] is True
        assert answer["model"] == "writer"
        assert answer["text"]
        assert answer["answer"] is answer["question"] is None
    finally:
        served.end()
