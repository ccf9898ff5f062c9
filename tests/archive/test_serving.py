"""Which ranker an archive serves: chosen, replaced, withdrawn."""

from pathlib import Path

import pytest

from askalike import rankers
from askalike.archive import Archive
from askalike.archive.serving import back, history, serve, served
from askalike.errors import ArchiveError
from askalike.experiment.training import remove


@pytest.fixture
def archive(tmp_path: Path):
    with Archive.create(tmp_path / "archive") as archive:
        yield archive


def test_nothing_is_in_service_until_something_is_chosen(archive):
    assert served(archive) is None
    assert back(archive) is None
    assert rankers.in_service(archive.path) == (rankers.default(), {})


def test_the_newest_serves_and_what_was_before_it_serves_again(archive):
    serve(archive, "bm25", {"k1": 0.9}, "first")
    serve(archive, "tfidf", {}, "second")
    assert served(archive).reason == "second"
    assert (back(archive).ranker, back(archive)) == ("bm25", None)
    serve(archive, "dfr", {}, "third")
    assert [each.ranker for each in history(archive)] == ["dfr"]


def test_a_ranker_in_service_is_built_where_none_is_named(archive):
    serve(archive, "bm25", {"k1": 0.9}, "chosen")
    assert rankers.build(None, {"b": 0.3}, archive.path).values.items() >= {"k1": 0.9, "b": 0.3}.items()
    assert "k1" not in rankers.build("tfidf", {}, archive.path).values


@pytest.mark.parametrize("settings", [("mine", {}), ("hybrid", {"parts": ["tfidf", "mine"]})])
def test_a_model_in_service_is_not_removed(archive, settings):
    (archive.path / "models" / "mine").mkdir(parents=True)
    serve(archive, *settings, "chosen")
    with pytest.raises(ArchiveError, match="in service"):
        remove(archive, "mine")
    back(archive)
    remove(archive, "mine")
