"""The stored answers of the questions that are most like the one asked."""

from collections.abc import Iterable, Sequence

from askalike.answering.reply import AnswerSource, Reply
from askalike.errors import ArchiveError
from askalike.store import View
from askalike.types import Answer, Hit, SearchHit


def has_answers(view: View) -> bool:
    """Whether the archive has an answer with a text."""
    return view.has_answers


def require_answers(view: View) -> None:
    """Raises ArchiveError where the archive has no answer with a text."""
    if not has_answers(view):
        raise ArchiveError(f"{view.path}: holds no answer; import questions with their answers")


def sources_from_questions(view: View, matches: Sequence[SearchHit], k: int) -> tuple[AnswerSource, ...]:
    """The best answer of each of the first k of these questions that have one; one that was given already is not again.

    Best is the accepted one, then the one with most votes; empty answers, and those that a data set calls bad, are
    none.
    """
    answers = view.get_answers_to(match.question.id for match in matches)
    found: dict[str, AnswerSource] = {}
    for match in matches:
        best = next(filter(_is_usable, answers[match.question.id]), None)
        if best and len(found) < k:
            found.setdefault(best.body, AnswerSource(best, match.question, match.score, match.probability))
    return tuple(found.values())


def sources_from_answers(view: View, hits: Iterable[Hit], k: int) -> tuple[AnswerSource, ...]:
    """The first k of these answers, with their questions."""
    listed = list(hits)
    answers = view.get_answers(hit.id for hit in listed)
    questions = view.get_questions({answer.question_id for answer in answers.values()})
    known = [(answers[hit.id], hit) for hit in listed if hit.id in answers and _is_usable(answers[hit.id])]
    return tuple(
        AnswerSource(answer, questions[answer.question_id], hit.score)
        for answer, hit in known
        if answer.question_id in questions
    )[:k]


def nearest_reply(view: View, matches: Sequence[SearchHit], k: int) -> Reply:
    """The reply that the first stored answer of these questions is; none where there is none."""
    sources = sources_from_questions(view, matches, k)
    return Reply(sources[0].text if sources else None, False, sources, matches=tuple(matches))


def _is_usable(answer: Answer) -> bool:
    return bool(answer.body.strip()) and answer.label in (None, "Good")
