"""Tuning tries votes where people vote, and distinct hits where it is known what asks the same."""

import pytest

from askalike import rankers
from askalike.core.records import EvaluationQuery, Judgement, Link, Question
from askalike.store.archive import Archive
from askalike.store.deployments import get_served_ranker
from askalike.tuning import candidate_search, run
from database import run_sql

THINGS = 60
CROWD = 11
"""More than are looked at: whoever asks for the lonely question sees only the crowd."""


@pytest.fixture(autouse=True)
def only_lexical(monkeypatch):
    monkeypatch.setattr(candidate_search, "list_families", lambda: ())
    monkeypatch.setattr(rankers, "DEFAULT_NAME", "lm_jelinek_mercer")


def voted(path, votes):
    """Each thing's question is there four times, and asked again; `votes` says how many the last one has."""
    with Archive.create(path) as archive:
        for thing in range(THINGS):
            archive.upsert(
                Question(f"{thing}-{n}", f"how do I mend thing{thing}", votes=votes if n == 3 else 1) for n in range(4)
            )
            archive.upsert(
                [Question(f"again{thing}", f"mend thing{thing}"), Link(f"again{thing}", f"{thing}-3", "duplicate")]
            )
    return path


def crowded(path):
    """Of each thing a crowd that is known to ask the same, and two questions that nothing else is like.

    The crowd is in train. The two are in train, or in dev for every other thing.
    """
    with Archive.create(path) as archive:
        for thing in range(2 * THINGS):
            crowd = [f"{thing}-{n:02}" for n in range(CROWD)]
            archive.upsert(Question(id, f"mend broken thing{thing}") for id in crowd)
            lonely = Question(f"{thing}-lonely", f"thing{thing} is worth it")
            query = Question(f"{thing}-asked", f"broken thing{thing}")
            split = ("train", "dev")[thing % 2]
            archive.upsert([lonely, query, EvaluationQuery(split, query), Judgement(split, query.id, lonely.id, 1)])
            archive.upsert([EvaluationQuery("train", Question(crowd[0], f"mend broken thing{thing}"))])
            archive.upsert(Judgement("train", crowd[0], id, 1) for id in crowd[1:])
    return path


def test_votes_serve_where_they_help(tmp_path, lexical_settings):
    with Archive.open(voted(tmp_path / "a", 50)) as archive:
        outcome = run.tune_archive(archive)
        assert outcome.verdict.chosen.candidate.name == "hybrid (lm_jelinek_mercer + votes)"
        assert get_served_ranker(archive).ranker == "hybrid"
        assert outcome.verdict.difference_to_lexical.p < 0.001
        assert get_served_ranker(archive).selection_query_ids == outcome.verdict.task.dev.qrels.keys()
        ranker = rankers.open_current(rankers.create(None, {}, archive), archive.view())
        assert rankers.rank(ranker, {"q": Question("q", "how do I mend thing7")}, 1)["q"][0].id == "7-3"


@pytest.mark.long
def test_votes_that_do_not_help_do_not_serve(tmp_path):
    with Archive.open(voted(tmp_path / "a", 1)) as archive:
        outcome = run.tune_archive(archive)
        assert "hybrid (lm_jelinek_mercer + votes)" in [result.candidate.name for result in outcome.candidate_results]
        assert outcome.verdict.served_trial.candidate.is_lexical


@pytest.mark.long
def test_without_votes_they_are_not_tried(tmp_path):
    with Archive.open(voted(tmp_path / "a", None)) as archive:
        run_sql(archive, "UPDATE questions SET votes = NULL")
        assert not [t for t in run.tune_archive(archive).candidate_results if "votes" in t.candidate.name]


def test_distinct_hits_serve_where_crowds_are_known(tmp_path, lexical_settings):
    with Archive.open(crowded(tmp_path / "a")) as archive:
        outcome = run.tune_archive(archive)
        assert outcome.verdict.chosen.candidate.name.startswith("distinct (")
        assert get_served_ranker(archive).ranker == "distinct"
        assert outcome.verdict.difference_to_lexical.mean > 0.3


def test_duplicates_of_the_measured_queries_stay_hidden(tmp_path, lexical_settings):
    """All that is known is hidden while it is measured: there is nothing to be distinct by."""
    with Archive.open(voted(tmp_path / "a", None)) as archive:
        assert not [t for t in run.tune_archive(archive).candidate_results if "distinct" in t.candidate.name]
