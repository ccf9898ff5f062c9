"""Finds answers to the same question that contradict each other, for review by a person."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from askalike.core.types import Answer, Question
from askalike.moderation.pairs import find_groups
from askalike.store import Archive
from askalike.text.claims import ClaimDifference, Claims
from askalike.text.clean import readable_text

MAX_ANSWERS = 3
"""Maximum number of answers compared per question: the accepted one, then those with most votes."""
MAX_GROUP = 20
"""Maximum number of questions per group whose answers are compared."""


@dataclass(frozen=True, slots=True)
class AnswerConflict:
    """Two answers to one question, or to two that ask the same, with the sentences in which they differ."""

    question_ids: tuple[str, str]
    titles: tuple[str, str]
    answer_ids: tuple[str, str]
    differences: Sequence[ClaimDifference]


def find_conflicts(archive: Archive) -> Iterator[AnswerConflict]:
    """Yield pairs of answers that differ in a number, a date or a negation, those of different questions first.

    They are found by rules, so some are false and others are missed: a person decides.
    """
    grouped: set[str] = set()
    for ids in find_groups(archive):
        grouped.update(ids)
        yield from _compare_answers(archive, ids[:MAX_GROUP])
    for _, question in archive.view().questions():
        if question.id not in grouped:
            yield from _compare_answers(archive, [question.id])


def _compare_answers(archive: Archive, ids: Sequence[str]) -> Iterator[AnswerConflict]:
    view = archive.view()
    answers = view.get_answers_to(ids)
    if sum(len(answers[id][:MAX_ANSWERS]) for id in ids) < 2:
        return
    questions = view.get_questions(ids)
    claims = [
        (questions[id], answer, Claims(readable_text(answer.body, answer.markup), questions[id].language))
        for id in ids
        if id in questions
        for answer in answers[id][:MAX_ANSWERS]
    ]
    for one, other in combinations(claims, 2):
        if differences := one[2].differences(other[2]):
            yield _build_conflict(one, other, differences)


def _build_conflict(
    one: tuple[Question, Answer, Claims], other: tuple[Question, Answer, Claims], differences: Sequence[ClaimDifference]
) -> AnswerConflict:
    pair = (one, other)
    question_ids, titles, answer_ids = zip(*((q.id, q.title, a.id) for q, a, _ in pair), strict=True)
    return AnswerConflict(question_ids, titles, answer_ids, differences)
