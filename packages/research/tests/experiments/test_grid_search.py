"""Grid search tries settings in a declared order, chooses the best, and leaves no index behind."""

import pytest

from askalike import rankers
from askalike.core.errors import SettingsError
from askalike.core.records import Question, Split
from askalike.measuring import RankingTask
from askalike.tuning.trials import Trial, TrialEvaluator
from askalike_research.experiments import grid_search
from askalike_research.experiments.grid_search import search_grid, tune_ranker

LABELS = Split({"q": Question("q", "egg")}, {"q": {"long": 1}})
"""BM25 with b = 0.75 prefers the short text (.64 to .62 by hand), with b = 0 the one that message egg three times."""


@pytest.fixture
def archive(archive):
    archive.upsert([Question("short", "egg"), Question("long", "egg egg egg boil boil boil")])
    return archive


def test_the_settings_with_the_highest_mean_are_chosen(archive):
    tuned = tune_ranker(
        archive, "bm25", {"k1": [1.2], "b": [0.75, 0.0, 0.5]}, LABELS, "Success@1", fixed={"fields": "title"}
    )
    assert tuned.settings == {"fields": "title", "k1": 1.2, "b": 0.0}
    assert (tuned.value, tuned.n, tuned.ranker, tuned.measure) == (1.0, 1, "bm25", "Success@1")
    assert [(s["b"], v) for s, v in tuned.trials] == [(0.75, 0.0), (0.0, 1.0), (0.5, 1.0)]


def test_earliest_of_equally_good_settings_is_taken(archive):
    tuned = tune_ranker(archive, "bm25", {"k1": [1.2, 0.9], "b": [0.75, 0.5]}, LABELS, "Success@2")
    assert [list(s.values()) for s, _ in tuned.trials] == [[1.2, 0.75], [1.2, 0.5], [0.9, 0.75], [0.9, 0.5]]
    assert tuned.settings == {"k1": 1.2, "b": 0.75}


def test_settings_of_any_ranker_are_tuned_with_progress(archive):
    calls = []
    space = [{"lambda": [0.7, 0.2]}, {"stop_words": [True], "lambda": [0.7]}]
    tuned = tune_ranker(
        archive, "lm_jelinek_mercer", space, LABELS, "RR", progress=lambda done, total: calls.append((done, total))
    )
    assert calls == [(1, 3), (2, 3), (3, 3)]
    assert len(tuned.trials) == 3


def test_large_grid_is_searched_by_one_setting(archive, monkeypatch):
    monkeypatch.setattr(grid_search, "MAX_COMBINATIONS", 5)
    space = {"k1": [1.2, 0.5, 2.0], "b": [0.75, 0.5, 0.0]}
    tuned = tune_ranker(archive, "bm25", space, LABELS, "Success@1", fixed={"fields": "text"})
    assert tuned.value == 1.0
    assert len(tuned.trials) < 9


def test_indexes_of_trials_alone_are_removed(archive):
    bm25 = rankers.create("bm25")
    bm25.build(archive.view())
    [old] = bm25.index_paths(archive.view())
    with TrialEvaluator(RankingTask(archive), {"dev": LABELS}, ["Success@1"]) as evaluator:
        search_grid(evaluator, "bm25", {"fields": ["title,text", "title", "body"]}, {})
        assert len(list((archive.path / "index").iterdir())) == 3
        evaluator.keep_index(evaluator.create_ranker(Trial("bm25", {"fields": "title"})))
    [chosen] = rankers.create("bm25", {"fields": "title"}).index_paths(archive.view())
    assert set((archive.path / "index").iterdir()) == {old, chosen}


@pytest.mark.parametrize(
    ("space", "fixed", "message"),
    [
        ([], {}, "no grid is given"),
        ({"k1": []}, {}, "k1: expected a list of at least one value"),
        ({"k1": "12"}, {}, "k1: expected a list"),
        ({"k1": [1.0]}, {"k1": 2.0}, "k1 is both fixed and tuned"),
        ({"k9": [1.0]}, {}, "k9 is not a setting"),
        ({"b": [0.5, 7]}, {}, "b=7: "),
    ],
)
def test_what_cannot_be_tuned_is_a_clear_error(archive, space, fixed, message):
    with pytest.raises(SettingsError, match=message):
        tune_ranker(archive, "bm25", space, LABELS, "Success@1", fixed=fixed)
