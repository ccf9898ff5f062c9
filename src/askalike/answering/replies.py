"""Replies to a question from what an engine finds: stored answers, or what a model of the archive writes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from askalike import rankers
from askalike.answering.nearest import nearest_reply, require_answers, sources_from_answers
from askalike.answering.reply import AnswerMode, Reply
from askalike.answering.writers import find_writer, require_same_archive
from askalike.calibration.calibration import Calibration
from askalike.errors import SettingsError
from askalike.store import Archive
from askalike.types import Question, SearchHit

QUESTIONS_PER_ANSWER = 5
"""So many questions are looked through for each answer that is wanted: not all have one."""
DEFAULT_SURE = 0.5
"""From this probability on the nearest question's answer is the reply."""


class SearchEngine(Protocol):
    """What an answer needs of an engine."""

    archive: Archive

    @property
    def calibration(self) -> Calibration | None:
        """The calibration that holds; None where there is none."""

    def search(
        self, title: str, k: int = 5, *, body: str = "", min_probability: float | None = None
    ) -> Sequence[SearchHit]:
        """The k most similar questions."""


def answer_question(
    engine: SearchEngine,
    question: Question,
    mode: AnswerMode,
    k: int,
    *,
    min_probability: float | None,
    sure: float,
    model: str | None,
) -> Reply:
    """An answer to a question that somebody types; see LocalEngine.answer."""
    view = engine.archive.view()
    require_answers(view)
    if mode == "generate":
        return _write_reply(engine.archive, question, k, model)
    if mode not in ("nearest", "auto"):
        raise SettingsError(f"mode {mode!r}: expected nearest, generate or auto")
    if not 0 <= sure <= 1:
        raise SettingsError(f"sure={sure}: expected a probability from 0 to 1")
    if mode == "auto" and min_probability is None and engine.calibration is None:
        min_probability = 0.0  # the search refuses it, and says that there are no probabilities
    hits = engine.search(question.title, QUESTIONS_PER_ANSWER * k, body=question.body, min_probability=min_probability)
    stored = nearest_reply(view, hits, k)
    if mode == "auto" and hits and (stored.abstained or (stored.sources[0].probability or 0) < sure):
        return replace(_write_reply(engine.archive, question, k, model), matches=stored.matches)
    return stored


def _write_reply(archive: Archive, question: Question, k: int, model: str | None) -> Reply:
    """What a model writes, with the stored answers that share its words."""
    folder = find_writer(archive.path, model)
    require_same_archive(archive.view(), folder)
    from askalike.answering.generate import open_generator  # torch, which takes seconds to load

    text = open_generator(folder).write(question)
    if not text:
        return Reply(None, False, ())
    answers = archive.view(kind="answers")
    words = rankers.open_committed(rankers.create("lm_jelinek_mercer", {"fields": "title"}), answers)
    hits = words.rank({question.id: Question(question.id, text)}, QUESTIONS_PER_ANSWER * k)[question.id]
    return Reply(text, True, sources_from_answers(archive.view(), hits, k), folder.name)
