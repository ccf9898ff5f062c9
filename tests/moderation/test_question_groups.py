"""Groups of questions that ask the same, by links and by proposals."""

import pytest

from askalike import Answer, Link, Question
from askalike.moderation.drafts import find_drafts
from askalike.moderation.pairs import find_groups
from askalike.store.candidate_pairs import CandidatePair, add_proposals, decide_proposal
from askalike.store.drafts import list_drafts


@pytest.fixture
def archive(archive):
    archive.upsert([
        Question("1", "How much is a new card?", accepted_answer_id="1a"), Question("2", "Fee for a lost card"),
        Question("3", "May dogs come in?"), Question("4", "may dogs come in? "), Question("5", "When do you open?"),
        Question("6", "Opening hours", accepted_answer_id="6a"), Question("7", "Is there tea?"),
        Answer("1a", "1", "<p>A new card costs <b>5</b> euros.</p>", "html"),
        Answer("2a", "2", "A new card costs 8 euros."),
        Answer("3a", "3", "Dogs may come in."), Answer("4a", "4", "Dogs may not come in."),
        Answer("5a", "5", "The library opens at nine."), Answer("6a", "6", "The library opens at 10."),
        Answer("7a", "7", "We serve tea on Mondays."), Answer("7b", "7", "We serve tea on Fridays."),
    ])  # fmt: skip
    archive.upsert([Link("2", "1")])
    return archive


def test_find_groups_with_proposals_until_rejected(archive) -> None:
    assert find_groups(archive) == [["1", "2"], ["3", "4"]]
    add_proposals(archive, [
        CandidatePair("5", "6", 0.95, 1.0, "bm25"), CandidatePair("7", "1", 0.8, 1.0, "bm25"),
        CandidatePair("7", "3", None, 9.0, "bm25"),
    ])  # fmt: skip
    assert find_groups(archive) == [["1", "2"], ["3", "4"], ["5", "6"]]
    assert find_drafts(archive) == 2
    assert {draft.source_ids for draft in list_drafts(archive)} == {("1", "2"), ("6", "5")}
    decide_proposal(archive, 1, "reject")
    assert find_groups(archive) == [["1", "2"], ["3", "4"]]
