"""What tuning tries: trials share what they can, and leave no index behind; grids begin with the defaults."""

from itertools import product

import pytest

from askalike import rankers
from askalike.core import registry
from askalike.core.records import Question, Split
from askalike.measuring import RankingTask
from askalike.tuning.candidates import tuning_grids
from askalike.tuning.trials import Trial, TrialEvaluator

LABELS = Split({"q": Question("q", "egg")}, {"q": {"long": 1}})


@pytest.fixture
def archive(archive):
    archive.upsert([Question("short", "egg"), Question("long", "egg egg egg boil boil boil")])
    return archive


def test_weighted_hybrids_rank_as_each_alone(archive):
    hybrids = [Trial("hybrid", {"parts": ["bm25", "tfidf"], "weights": [w, 1.0]}) for w in (0.0, 1.0, 3.0)]
    task, parts = RankingTask(archive), {"dev": LABELS}
    together = list(TrialEvaluator(task, parts, ["RR"]).evaluate_trials([*hybrids, Trial("bm25")]))
    alone = [next(TrialEvaluator(task, parts, ["RR"]).evaluate_trials([trial])) for trial in hybrids]
    assert together[:3] == alone


def test_foreign_index_is_not_removed(archive):
    evaluator = TrialEvaluator(RankingTask(archive), {"dev": LABELS}, ["Success@1"])
    list(evaluator.evaluate_trials([Trial("bm25", {"fields": "title"})]))
    [index] = rankers.create("bm25", {"fields": "title"}).indexes(archive.view())
    with index.lock_files():
        evaluator.remove_indexes()
        assert (index.path / "manifest.json").exists()
    evaluator.remove_indexes()
    assert not index.path.exists()


@pytest.mark.parametrize("name", registry.names("similarity"))
def test_similarities_declare_grids_that_begin_with_defaults(name, archive):
    grids = tuning_grids(archive, name, {})
    trials = [dict(zip(grid, values, strict=True)) for grid in grids for values in product(*grid.values())]
    assert rankers.create(name, trials[0]).similarity == rankers.create(name).similarity
    built = {rankers.create(name, settings).similarity for settings in trials}
    assert len(built) == len(trials) > 1


def test_one_grid_may_be_declared_alone(archive, monkeypatch):
    grid = {"k1": (1.2, 0.9), "b": (0.75, 0.4)}
    monkeypatch.setattr(registry.load("similarity", "bm25"), "GRIDS", grid)
    assert tuning_grids(archive, "bm25", {"fields": "title"}) == [grid]
    assert tuning_grids(archive, "bm25", {"fields": "title", "b": 0.4}) == [{"k1": (1.2, 0.9)}]


def test_fields_have_weights_with_titles_and_bodies(archive):
    assert "field_weights" not in tuning_grids(archive, "bm25", {"fields": "title,text"})[0]
    archive.upsert([Question("more", "egg", "how long")])
    assert tuning_grids(archive, "bm25", {"fields": "title,text"})[0]["field_weights"][0] == (1.0, 1.5)
    assert "field_weights" not in tuning_grids(archive, "bm25", {"fields": "title"})[0]
