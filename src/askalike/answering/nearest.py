"""The stored answers of the questions that are most like the one asked."""

from collections.abc import Iterable, Sequence

from askalike.answering.reply import Reply, Source
from askalike.archive.view import View
from askalike.errors import ArchiveError
from askalike.types import Answer, Hit, Match


def has_answers(view: View) -> bool:
    """Whether the archive has an answer with a text."""
    return view.connection.execute("SELECT 1 FROM answers WHERE TRIM(body) != '' LIMIT 1").fetchone() is not None


def refuse_without_answers(view: View) -> None:
    """Raises ArchiveError where the archive has no answer with a text."""
    if not has_answers(view):
        raise ArchiveError(f"{view.archive}: holds no answer; import questions with their answers")


def of_matches(view: View, matches: Sequence[Match], k: int) -> tuple[Source, ...]:
    """The best answer of each of the first k of these questions that have one; one that was given already is not again.

    Best is the accepted one, then the one with most votes; empty answers, and those that a data set calls bad, are
    none.
    """
    answers = view.answers_to(match.question.id for match in matches)
    found: dict[str, Source] = {}
    for match in matches:
        best = next(filter(_usable, answers[match.question.id]), None)
        if best and len(found) < k:
            found.setdefault(best.body, Source(best, match.question, match.score, match.probability))
    return tuple(found.values())


def of_hits(view: View, hits: Iterable[Hit], k: int) -> tuple[Source, ...]:
    """The first k of these answers, with their questions."""
    listed = list(hits)
    answers = view.get_answers(hit.id for hit in listed)
    questions = view.get({answer.question_id for answer in answers.values()})
    known = [(answers[hit.id], hit) for hit in listed if hit.id in answers and _usable(answers[hit.id])]
    return tuple(
        Source(answer, questions[answer.question_id], hit.score)
        for answer, hit in known
        if answer.question_id in questions
    )[:k]


def nearest(view: View, matches: Sequence[Match], k: int) -> Reply:
    """The reply that the first stored answer of these questions is; none where there is none."""
    sources = of_matches(view, matches, k)
    return Reply(sources[0].text if sources else None, False, sources, matches=tuple(matches))


def _usable(answer: Answer) -> bool:
    return bool(answer.body.strip()) and answer.label in (None, "Good")
