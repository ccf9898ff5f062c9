"""Which ranker an archive serves: chosen, replaced, withdrawn."""

import pytest

from askalike import rankers
from askalike.core.errors import ArchiveError
from askalike.store.deployments import get_served_ranker, serve_ranker, serving_history, withdraw_ranker
from askalike.tuning.models import remove_model


def test_no_ranker_is_deployed_at_first(archive):
    assert get_served_ranker(archive) is None
    assert withdraw_ranker(archive) is None
    assert rankers.active_ranker(archive.path) == (rankers.DEFAULT_NAME, {})


def test_newest_serves_until_it_is_withdrawn(archive):
    serve_ranker(archive, "bm25", {"k1": 0.9}, "first")
    serve_ranker(archive, "tfidf", {}, "second")
    assert get_served_ranker(archive).reason == "second"
    assert (withdraw_ranker(archive).ranker, withdraw_ranker(archive)) == ("bm25", None)
    serve_ranker(archive, "dfr", {}, "third")
    assert [each.ranker for each in serving_history(archive)] == ["dfr"]


def test_deployed_ranker_is_the_default(archive):
    serve_ranker(archive, "bm25", {"k1": 0.9}, "chosen")
    assert rankers.create(None, {"b": 0.3}, archive.path).values.items() >= {"k1": 0.9, "b": 0.3}.items()
    assert "k1" not in rankers.create("tfidf", {}, archive.path).values


@pytest.mark.parametrize("settings", [("mine", {}), ("hybrid", {"parts": ["tfidf", "mine"]})])
def test_a_deployed_model_is_not_removed(archive, settings):
    (archive.path / "models" / "mine").mkdir(parents=True)
    serve_ranker(archive, *settings, "chosen")
    with pytest.raises(ArchiveError, match="is active"):
        remove_model(archive, "mine")
    withdraw_ranker(archive)
    remove_model(archive, "mine")
