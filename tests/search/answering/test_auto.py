"""Stored, written or no answer, as the calibrated probability says; and the same over HTTP, always labelled."""

import shutil
from pathlib import Path

import pytest

from askalike.core.errors import SettingsError
from askalike.search.engine import LocalEngine
from askalike.store.archive import Archive

RANKER = "lm_jelinek_mercer"


@pytest.fixture(scope="module")
def desk(calibrated_riverside, tmp_path_factory):
    return Path(shutil.copytree(calibrated_riverside, tmp_path_factory.mktemp("auto") / "riverside"))


@pytest.fixture(scope="module")
def writing(desk, tmp_path_factory):
    pytest.importorskip("torch", reason="needs the extra neural")
    from askalike.experiments import models
    from askalike.learning.recipes import Recipe

    path = Path(shutil.copytree(desk, tmp_path_factory.mktemp("writing") / "riverside"))
    tiny = {
        "dim": 16, "hidden": 16, "latent": 16, "writer": 32, "cutoffs": (100,), "training.epochs": 2, "init_epochs": 1,
        "accelerator": "cpu", "longest": 30,
    }  # fmt: skip
    with Archive.open(path) as archive:
        models.train(archive, Recipe.read("dssm_writer", tiny), "writer")
    return path


def test_the_nearest_answer_where_it_is_sure(desk):
    with LocalEngine.open(desk, RANKER) as engine:
        reply = engine.answer("I have lost my library card. What should I do?", "auto")
        assert (reply.generated, reply.sources[0].question.id) == (False, "r013")
        assert reply.sources[0].probability >= 0.5


def test_no_answer_below_the_line(desk):
    with LocalEngine.open(desk, RANKER) as engine:
        reply = engine.answer("best pizza in Rome", "auto", min_probability=0.3)
    assert (reply.abstained, reply.generated, reply.sources) == (True, False, ())


def test_a_written_one_between(writing):
    with LocalEngine.open(writing, RANKER) as engine:
        stored = engine.answer("where do I keep a card", "nearest", min_probability=0.0)
        probability = stored.sources[0].probability
        reply = engine.answer("where do I keep a card", "auto", min_probability=0.0, sure=min(probability + 0.01, 1))
        assert reply.generated
        assert reply.text
        assert reply.model == "writer"
        sure = engine.answer("where do I keep a card", "auto", min_probability=0.0, sure=probability)
        assert not sure.generated


def test_between_without_a_model_that_writes_is_a_line(desk):
    with (
        LocalEngine.open(desk, RANKER) as engine,
        pytest.raises(SettingsError, match="no model of this archive can write"),
    ):
        engine.answer("where do I keep a card", "auto", min_probability=0.0, sure=1)
