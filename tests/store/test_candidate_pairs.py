"""Proposed duplicate_links: what is put up, in which order, and what deciding and taking back do."""

import pytest

from askalike.core.records import Link, Question
from askalike.store import candidate_pairs
from askalike.store.candidate_pairs import (
    AlreadyDecidedError,
    CandidatePair,
    add_proposals,
    decide_proposal,
    list_proposals,
    pending_proposals,
    undo_decision,
)
from askalike.store.editing import MissingRecordError
from database import run_sql


@pytest.fixture
def archive(archive):
    archive.upsert([Question(id, id) for id in "abcdefgh"])
    return archive


def pair(one, other, probability=0.5, score=1.0):
    return CandidatePair(one, other, probability, score, "bm25")


def pending(archive, most=20):
    return ["".join((p.duplicate_id, p.original_id)) for p in pending_proposals(archive, most)]


def duplicate_links(archive):
    return [(link.source, link.target) for link in archive.view().links()]


def test_most_certain_then_most_similar_come_first(archive):
    found = [pair("a", "b", 0.5), pair("c", "d", 0.9), pair("e", "f", 0.2, 3), pair("g", "h", 0.2, 7)]
    assert add_proposals(archive, found) == 4
    assert pending(archive) == ["cd", "ab", "gh", "ef"]
    first = pending_proposals(archive)[0]
    assert (first.probability, first.state, first.decided_at, first.decided_by) == (0.9, "open", None, None)
    pages, after = [], None
    while page := list_proposals(archive, "open", 1, after):
        pages.append(page[0].duplicate_id + page[0].original_id)
        after = page[0].id
    assert pages == ["cd", "ab", "gh", "ef"]


def test_linked_deleted_and_decided_pairs_are_not_proposed(archive):
    archive.upsert([Link("a", "b"), Link("c", "b"), Link("d", "e", "related")])
    found = [pair("a", "b"), pair("b", "a"), pair("c", "a"), pair("a", "a"), pair("a", "nobody"), pair("d", "e")]
    assert add_proposals(archive, found) == 1
    assert pending(archive) == ["de"]
    decide_proposal(archive, pending_proposals(archive)[0].id, "reject", "kim")
    assert add_proposals(archive, [pair("e", "d", 0.99)]) == 0
    assert pending(archive) == []


def test_a_pair_found_again_takes_the_newest_probability(archive):
    add_proposals(archive, [pair("a", "b", 0.3)])
    assert add_proposals(archive, [pair("b", "a", 0.8)]) == 0
    (only,) = pending_proposals(archive, 5)
    assert (only.duplicate_id, only.original_id, only.probability) == ("b", "a", 0.8)


def test_accepting_adds_a_link_and_undoing_deletes_it(archive):
    add_proposals(archive, [pair("a", "b", 0.9)])
    before, (only,) = archive.view().change, pending_proposals(archive)
    accepted = decide_proposal(archive, only.id, "accept", "kim")
    assert (accepted.state, accepted.decided_by, duplicate_links(archive)) == ("accepted", "kim", [("a", "b")])
    assert archive.view().change > before
    assert pending(archive) == []
    with pytest.raises(AlreadyDecidedError, match="accepted"):
        decide_proposal(archive, only.id, "reject")
    assert candidate_pairs.latest_decision(archive, "kim") == accepted
    again = undo_decision(archive, only.id)
    assert (again.state, again.decided_by, duplicate_links(archive)) == ("open", None, [])
    assert pending(archive) == ["ab"]
    with pytest.raises(AlreadyDecidedError, match="nothing to undo"):
        undo_decision(archive, only.id)


def test_undo_leaves_an_earlier_link(archive):
    add_proposals(archive, [pair("a", "b")])
    archive.upsert([Link("a", "b")])
    assert pending(archive) == []
    id = first_proposal_id(archive)
    decide_proposal(archive, id, "accept")
    undo_decision(archive, id)
    assert duplicate_links(archive) == [("a", "b")]


def first_proposal_id(archive):
    return run_sql(archive, "SELECT number FROM proposals")[0][0]


def test_linked_or_deleted_proposals_need_no_decision(archive):
    add_proposals(archive, [pair("a", "c", 0.9), pair("d", "e", 0.8), pair("f", "g", 0.7)])
    archive.upsert([Link("a", "b"), Link("c", "b")])
    archive.delete(["e"])
    assert pending(archive) == ["fg"]
    assert candidate_pairs.count_by_state(archive) == {"open": 1, "accepted": 0, "rejected": 0, "skipped": 0}
    decide_proposal(archive, pending_proposals(archive)[0].id, "reject")
    archive.delete(["f"])
    assert candidate_pairs.count_by_state(archive) == {"open": 0, "accepted": 0, "rejected": 1, "skipped": 0}


def test_what_follows_from_decisions_is_not_asked(archive):
    """If a asks the same as b and as c, but not as d, then c does not ask the same as d."""
    add_proposals(archive, [pair(*ids, 0.9 - n / 10) for n, ids in enumerate(("ab", "da", "ac", "cd", "de", "bd"))])
    proposals = {p.duplicate_id + p.original_id: p.id for p in pending_proposals(archive, 9)}
    decide_proposal(archive, proposals["ab"], "accept")
    decide_proposal(archive, proposals["da"], "reject")
    assert pending(archive) == ["ac", "cd", "de"]
    decide_proposal(archive, proposals["ac"], "accept")
    assert pending(archive) == ["de"]
    assert candidate_pairs.count_by_state(archive)["open"] == 1
    undo_decision(archive, proposals["da"])
    assert pending(archive) == ["da", "cd", "de", "bd"]


def test_decisions_can_make_a_pair_probable_enough(archive):
    add_proposals(archive, [pair("a", "b", 0.05), pair("c", "d", 0.3)])
    assert pending(archive) == ["cd"]
    candidate_pairs.revise_proposals(archive, "bm25", lambda similarity: 0.2)
    assert pending(archive) == ["ab", "cd"]


def test_skipped_pairs_come_last_the_oldest_first(archive):
    add_proposals(archive, [pair("a", "b", 0.9), pair("c", "d", 0.8), pair("e", "f", 0.7)])
    for _ in range(2):
        decide_proposal(archive, pending_proposals(archive)[0].id, "skip", "kim")
    assert pending(archive) == ["ef", "ab", "cd"]
    undo_decision(archive, candidate_pairs.latest_decision(archive, "kim").id)
    assert pending(archive) == ["cd", "ef", "ab"]
    assert candidate_pairs.count_by_state(archive) == {"open": 2, "accepted": 0, "rejected": 0, "skipped": 1}


def test_decided_pairs_are_listed_the_latest_first(archive):
    add_proposals(archive, [pair("a", "b", 0.9), pair("c", "d", 0.8)])
    for _ in range(2):
        decide_proposal(archive, pending_proposals(archive)[0].id, "reject")
    page = list_proposals(archive, "rejected", 1)
    assert [p.duplicate_id for p in page] == ["c"]
    assert [p.duplicate_id for p in list_proposals(archive, "rejected", 5, page[0].id)] == ["a"]
    with pytest.raises(MissingRecordError, match="no proposal 99"):
        candidate_pairs.get_proposal(archive, 99)
    with pytest.raises(MissingRecordError, match="no proposal 99"):
        decide_proposal(archive, 99, "accept")


def test_a_decision_that_fails_leaves_nothing_behind(archive):
    add_proposals(archive, [pair("a", "b", 0.9)])
    archive.delete(["b"])
    change = archive.view().change
    with pytest.raises(AlreadyDecidedError, match="was deleted"):
        decide_proposal(archive, first_proposal_id(archive), "accept")
    assert archive.view().change == change


@pytest.mark.parametrize("decision", ["reject", "skip"])
def test_pages_restart_after_an_undone_decision(archive, decision):
    add_proposals(archive, [pair("a", "b", 0.9), pair("c", "d", 0.8), pair("e", "f", 0.7)])
    state = candidate_pairs.STATE_AFTER[decision]
    for proposal in pending_proposals(archive, 3):
        decide_proposal(archive, proposal.id, decision)
    [seen] = list_proposals(archive, state, 1)
    undo_decision(archive, seen.id)
    assert len(list_proposals(archive, state, 5, seen.id)) == 2
