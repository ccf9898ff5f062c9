"""Stored, written or no answer, as the calibrated probability says; and the same over HTTP, always labelled."""

import shutil
from pathlib import Path

import pytest

from askalike.core.errors import SettingsError
from askalike.search.archive_retriever import ArchiveRetriever

RANKER = "lm_jelinek_mercer"


@pytest.fixture(scope="module")
def desk(calibrated_riverside, tmp_path_factory):
    return Path(shutil.copytree(calibrated_riverside, tmp_path_factory.mktemp("auto") / "riverside"))


def test_the_nearest_answer_where_it_is_sure(desk):
    with ArchiveRetriever.open(desk, RANKER) as engine:
        reply = engine.answer("I have lost my library card. What should I do?", "auto")
        assert (reply.generated, reply.sources[0].question.id) == (False, "r013")
        assert reply.sources[0].probability >= 0.5


def test_no_answer_below_the_line(desk):
    with ArchiveRetriever.open(desk, RANKER) as engine:
        reply = engine.answer("best pizza in Rome", "auto", min_probability=0.3)
    assert (reply.abstained, reply.generated, reply.sources) == (True, False, ())


def test_between_without_a_writing_model_is_refused(desk):
    with (
        ArchiveRetriever.open(desk, RANKER) as engine,
        pytest.raises(SettingsError, match="no model of this archive can write"),
    ):
        engine.answer("where do I keep a card", "auto", min_probability=0.0, sure=1)
