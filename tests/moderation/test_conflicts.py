"""Answers to the same question that say different things, and groups of questions that ask the same."""

import json

import pytest

from askalike import Answer, Archive, Link, Question
from askalike.moderation.conflicts import find_conflicts
from askalike.moderation.drafts import find_drafts
from askalike.moderation.pairs import find_groups
from askalike.store.candidate_pairs import CandidatePair, add_proposals, decide_proposal
from askalike.store.drafts import list_drafts
from commands import run_command


@pytest.fixture
def archive(tmp_path):
    with Archive.create(tmp_path / "desk") as archive:
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
        yield archive


def test_answers_of_one_question_and_of_questions_that_ask_the_same(archive) -> None:
    conflicts = list(find_conflicts(archive))
    assert [(c.question_ids, c.answer_ids, [d.kind for d in c.differences]) for c in conflicts] == [
        (("1", "2"), ("1a", "2a"), ["number"]), (("3", "4"), ("3a", "4a"), ["negation"]),
        (("7", "7"), ("7a", "7b"), ["date"]),
    ]  # fmt: skip
    assert conflicts[0].differences[0].one == "A new card costs 5 euros."


def test_probable_proposals_join_questions_until_somebody_says_no(archive) -> None:
    assert find_groups(archive) == [["1", "2"], ["3", "4"]]
    add_proposals(archive, [
        CandidatePair("5", "6", 0.95, 1.0, "bm25"), CandidatePair("7", "1", 0.8, 1.0, "bm25"),
        CandidatePair("7", "3", None, 9.0, "bm25"),
    ])  # fmt: skip
    assert find_groups(archive) == [["1", "2"], ["3", "4"], ["5", "6"]]
    assert [c.question_ids for c in find_conflicts(archive)][-2] == ("5", "6")
    assert find_drafts(archive) == 2
    assert {draft.sources for draft in list_drafts(archive)} == {("1", "2"), ("6", "5")}
    decide_proposal(archive, 1, "reject")
    assert find_groups(archive) == [["1", "2"], ["3", "4"]]


def test_the_command(archive) -> None:
    _, out, _ = run_command("conflicts", archive.path)
    assert "1 · 2  How much is a new card? / Fee for a lost card\n" in out
    assert "    number: answer 1a: A new card costs 5 euros.\n            answer 2a: A new card costs 8 eu" in out
    assert out.endswith("3 pairs of answers differing: 1 by a date, 1 by a negation, 1 by a number\n")
    [first] = json.loads(run_command("conflicts", archive.path, "--json", "-n", "1")[1])
    assert first["question_ids"] == ["1", "2"]
    assert first["differences"] == [
        {"kind": "number", "one": "A new card costs 5 euros.", "other": "A new card costs 8 euros."}
    ]
