"""Tuning of an archive of several groups, each ranked within itself: groups count the same, whatever their size."""

import pytest
from tests.tuning.small import REPHRASED, TEMPLATES, THINGS

from askalike import rankers
from askalike.core.records import Question
from askalike.labels.splits import load_split
from askalike.measuring import LEADING_MEASURE, RankingTask, evaluate_ranker
from askalike.store.deployments import get_served_ranker
from askalike.tuning import candidate_search, run
from askalike.tuning.candidates import DEFAULT_RANKER


@pytest.fixture
def archive(archive):
    """48 questions in x, 16 in y; y's rephrasings are its titles, so that they are found and most of x's are not."""
    for i, thing in enumerate(THINGS):
        for j, (template, rephrased) in enumerate(zip(TEMPLATES, REPHRASED, strict=True)):
            group, text = ("y", template) if i % 4 == 0 else ("x", rephrased)
            title = template.format(thing)
            archive.upsert([Question(f"{group}/{i}-{j}", title, rephrasings=(text.format(thing).upper(),))])
    archive.set_meta(groups=["x", "y"])
    return archive


@pytest.mark.parametrize("budget_s", [0, pytest.param(600, marks=pytest.mark.long)])
def test_tune_ranks_and_counts_within_groups(archive, monkeypatch, budget_s):
    monkeypatch.setattr(candidate_search, "list_families", lambda: ())
    monkeypatch.setattr(rankers, "DEFAULT_NAME", DEFAULT_RANKER)
    verdict = run.tune_archive(archive, budget_s=budget_s).verdict
    served = get_served_ranker(archive)
    assert served.ranker == verdict.served_trial.trial.ranker
    ranker = rankers.create(served.ranker, served.settings, archive.path)
    expected = evaluate_ranker(archive, ranker, "rephrasings", [LEADING_MEASURE])
    means = {name: group.means[LEADING_MEASURE] for name, group in expected.groups.items()}
    assert {name: group.n for name, group in expected.groups.items()} == {"x": 48, "y": 16}
    assert means["y"] == 1 > means["x"]
    assert verdict.served_trial.reported_mean == pytest.approx((means["x"] + means["y"]) / 2)
    hits = RankingTask(archive).fit_and_rank(ranker, load_split(archive, "rephrasings"), 10)
    assert all(hit.id[0] == query_id[0] for query_id in hits for hit in hits[query_id])
