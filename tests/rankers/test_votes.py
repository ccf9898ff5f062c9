"""Votes as a part of a hybrid: they put the popular first among what is alike, and find nothing by themselves."""

import numpy as np
import pytest

from askalike import rankers
from askalike.core.errors import SettingsError
from askalike.core.records import Link, Question

VOTES = {"a": 40, "b": 3, "c": None, "d": -2}
QUERY = {"q": Question("q", "how to boil an egg")}


@pytest.fixture
def archive(archive):
    archive.upsert(Question(id, "how to boil an egg", votes=votes) for id, votes in VOTES.items())
    archive.upsert([Question("e", "sticky rice", votes=1_000), Question("f", "boil rice")])
    return archive


def hybrid_ranker(*weights, **settings):
    return rankers.create("hybrid", {"parts": "lm_jelinek_mercer,votes", "weights": list(weights), **settings})


def hybrid(archive, *weights, **settings):
    return rankers.open_current(hybrid_ranker(*weights, **settings), archive.view())


def test_the_popular_come_first_among_what_is_alike(archive):
    assert [hit.id for hit in rankers.rank(hybrid(archive, 4, 1), QUERY, 4)["q"]] == ["a", "b", "c", "d"]


def test_known_duplicates_change_no_ranking(archive):
    """A query's own links are hidden: votes rank the same with them and without."""
    query = archive.view().get_questions(["a"])
    before = list(rankers.rank(hybrid(archive, 1, 2), query, 5)["a"])
    archive.upsert([Link("a", "c", "duplicate"), Link("b", "a", "duplicate")])
    assert [hit.id for hit in before] == ["b", "c", "d", "f"]
    assert list(rankers.rank(hybrid(archive, 1, 2), query, 5)["a"]) == before


def test_few_or_negative_votes_count_nothing(archive):
    scores = {hit.id: hit.score * np.log1p(100) for hit in rankers.rank(hybrid(archive, 0, 1), QUERY, 9)["q"]}
    assert scores == pytest.approx({"a": np.log(41), "b": np.log(4), "c": 0, "d": 0, "f": 0})


def test_what_has_only_votes_is_not_found(archive):
    assert "e" not in {hit.id for hit in rankers.rank(hybrid(archive, 1, 9), QUERY, 9)["q"]}


def test_they_are_a_reason_and_reasons_add_up(archive):
    ranker = hybrid(archive, 4, 1)
    hits = rankers.rank(ranker, QUERY, 9)["q"]
    reasons = rankers.explain_ids(ranker, QUERY["q"], [hit.id for hit in hits])
    for hit in hits:
        assert sum(c.score for c in reasons[hit.id].contributions) == pytest.approx(hit.score)
    assert {c.word for c in reasons["a"].contributions} > {"40 votes", "boil", "egg"}
    assert reasons["a"].parts["votes"] > reasons["b"].parts["votes"] > reasons["c"].parts["votes"] == 0
    values = hybrid_ranker(4, 1).values
    assert rankers.create("hybrid", values).values == values


def test_a_changed_vote_counts_at_once(archive):
    ranker = hybrid_ranker(4, 1)
    rankers.open_current(ranker, archive.view())
    archive.upsert([Question("d", "how to boil an egg", votes=99)])
    assert rankers.rank(rankers.open_current(ranker, archive.view()), QUERY, 1)["q"][0].id == "d"


def test_parts_cannot_set_what_all_search(archive):
    assert rankers.rank(hybrid(archive, 4, 1, fields="title", rephrasings=False), QUERY, 1)["q"][0].id == "a"
    with pytest.raises(SettingsError, match="fields"):
        rankers.create("votes", {"fields": "title"})


def test_alone_they_say_what_to_do(archive):
    with pytest.raises(SettingsError, match="cannot rank by itself; use it as a part of a hybrid"):
        rankers.rank(rankers.open_current(rankers.create("votes"), archive.view()), QUERY, 3)
