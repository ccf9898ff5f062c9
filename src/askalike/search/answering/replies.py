"""Replies to a question from an engine's hits: stored answers, or text written by a model of the archive."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol, get_args

from askalike import rankers
from askalike.calibration.calibration import Calibration
from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.types import Answer, Hit, Question, SearchHit
from askalike.search.answering.reply import AnswerMode, AnswerSource, Reply
from askalike.search.answering.writers import find_writer, require_same_archive
from askalike.store import Archive, View

QUESTIONS_PER_ANSWER = 5
"""Number of retrieved questions per requested answer, since not all questions have answers."""
DEFAULT_SURE = 0.5
"""Minimum probability at which the nearest question's answer is the reply."""


class SearchEngine(Protocol):
    """The part of an engine that answers need."""

    archive: Archive

    @property
    def calibration(self) -> Calibration | None:
        """The valid calibration; None if there is none."""

    def search(
        self, title: str, k: int = 5, *, body: str = "", min_probability: float | None = None
    ) -> Sequence[SearchHit]:
        """Return the k most similar questions."""


def answer_question(
    engine: SearchEngine,
    question: Question,
    mode: AnswerMode,
    k: int,
    *,
    min_probability: float | None,
    sure: float | None,
    model: str | None,
) -> Reply:
    """Return an answer to a typed question; see LocalEngine.answer."""
    view = engine.archive.view()
    _require_used_options(mode, min_probability, sure, model)
    require_answers(view)
    if mode == "generate":
        return _write_reply(engine.archive, question, k, model)
    hits = engine.search(question.title, QUESTIONS_PER_ANSWER * k, body=question.body, min_probability=min_probability)
    stored = nearest_reply(view, hits, k)
    known = [source.probability for source in stored.sources[:1] if source.probability is not None]
    threshold = DEFAULT_SURE if sure is None else sure
    if mode == "auto" and engine.calibration and hits and (stored.abstained or known[0] < threshold):
        return replace(_write_reply(engine.archive, question, k, model), matches=stored.matches)
    return stored


def _require_used_options(
    mode: AnswerMode, min_probability: float | None, sure: float | None, model: str | None
) -> None:
    """Raise SettingsError for an unknown mode, an option that it does not use, or a value that is not a probability."""
    if mode not in get_args(AnswerMode):
        raise SettingsError(f"mode {mode!r}: expected nearest, generate or auto")
    if sure is not None and mode != "auto":
        raise SettingsError(f"sure={sure} needs mode auto, got {mode}")
    if model is not None and mode == "nearest":
        raise SettingsError(f"model={model!r} needs mode generate or auto, got {mode}")
    if min_probability is not None and mode == "generate":
        raise SettingsError(f"min_probability={min_probability} needs mode nearest or auto, got {mode}")
    if sure is not None and not 0 <= sure <= 1:
        raise SettingsError(f"sure={sure}: expected a probability from 0 to 1")


def _write_reply(archive: Archive, question: Question, k: int, model: str | None) -> Reply:
    """Return a generated text with the stored answers that share its words."""
    folder = find_writer(archive.path, model)
    require_same_archive(archive.view(), folder)
    from askalike.search.answering.generate import open_generator  # torch, which takes seconds to load

    text = open_generator(folder).write(question)
    if not text:
        return Reply(None, False, ())
    answers = archive.view(kind="answers")
    words = rankers.open_committed(rankers.create("lm_jelinek_mercer", {"fields": "title"}), answers)
    hits = rankers.rank(words, {question.id: Question(question.id, text)}, QUESTIONS_PER_ANSWER * k)[question.id]
    return Reply(text, True, sources_from_answers(archive.view(), hits, k), folder.name)


def require_answers(view: View) -> None:
    """Raise ArchiveError if the archive has no answer with a text."""
    if not view.has_answers:
        raise ArchiveError(f"{view.path}: the archive has no answers; import questions with their answers")


def sources_from_questions(view: View, matches: Sequence[SearchHit], k: int) -> tuple[AnswerSource, ...]:
    """Return the accepted, else most voted, usable answers of the first k questions that have one; no text twice."""
    answers = view.get_answers_to(match.question.id for match in matches)
    found: dict[str, AnswerSource] = {}
    for match in matches:
        best = next(filter(_is_usable, answers[match.question.id]), None)
        if best and len(found) < k:
            found.setdefault(best.body, AnswerSource(best, match.question, match.score, match.probability))
    return tuple(found.values())


def sources_from_answers(view: View, hits: Iterable[Hit], k: int) -> tuple[AnswerSource, ...]:
    """Return the first k of these answers, with their questions."""
    listed = list(hits)
    answers = view.get_answers(hit.id for hit in listed)
    questions = view.get_questions({answer.question_id for answer in answers.values()})
    known = [(answers[hit.id], hit.score) for hit in listed if hit.id in answers and _is_usable(answers[hit.id])]
    found = ((a, questions[a.question_id], score) for a, score in known if a.question_id in questions)
    return tuple(AnswerSource(*source) for source in found)[:k]


def nearest_reply(view: View, matches: Sequence[SearchHit], k: int) -> Reply:
    """Return the reply with the first stored answer of these questions; an empty one if there is none."""
    sources = sources_from_questions(view, matches, k)
    return Reply(sources[0].text if sources else None, False, sources, matches=tuple(matches))


def _is_usable(answer: Answer) -> bool:
    return bool(answer.body.strip()) and answer.label in (None, "Good")
