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
from askalike.store.archive import Archive
from askalike.types import Question, SearchHit

TYPED_QUERY_ID = " typed "  # the id of a question that is being asked: no question of an archive is called so
QUESTIONS_PER_ANSWER = 5
"""So many questions are looked through for each answer that is wanted: not all have one."""
DEFAULT_SURE = 0.5
"""From this probability on the nearest question's answer is the reply."""


class SearchEngine(Protocol):
    """What of an engine is needed."""

    archive: Archive

    @property
    def calibration(self) -> Calibration | None:
        """What its scores mean."""

    def search(
        self, title: str, k: int = 5, *, body: str = "", min_probability: float | None = None
    ) -> Sequence[SearchHit]:
        """The k most similar questions."""


def answer_question(
    engine: SearchEngine,
    title: str,
    mode: AnswerMode,
    k: int,
    *,
    body: str,
    min_probability: float | None,
    sure: float,
    model: str | None,
) -> Reply:
    """See Local.answer."""
    view = engine.archive.view()
    require_answers(view)
    if mode == "generate":
        return _write_reply(engine.archive, Question(TYPED_QUERY_ID, title, body), k, model)
    if mode not in ("nearest", "auto"):
        raise SettingsError(f"mode {mode!r}: expected nearest, generate or auto")
    if not 0 <= sure <= 1:
        raise SettingsError(f"sure={sure}: expected a probability from 0 to 1")
    if mode == "auto" and min_probability is None and engine.calibration is None:
        min_probability = 0.0  # refused, as it is no probability
    matches = engine.search(title, QUESTIONS_PER_ANSWER * k, body=body, min_probability=min_probability)
    found = nearest_reply(view, matches, k)
    if mode == "auto" and matches and (found.abstained or (found.sources[0].probability or 0) < sure):
        written = _write_reply(engine.archive, Question(TYPED_QUERY_ID, title, body), k, model)
        return replace(written, matches=found.matches)
    return found


def _write_reply(archive: Archive, question: Question, k: int, model: str | None) -> Reply:
    """What a model writes, with the stored answers that share its words."""
    folder = find_writer(archive.path, model)
    require_same_archive(archive.view(), folder)
    from askalike.answering.generate import open_generator  # torch, which takes seconds to load

    text = open_generator(folder).write(question)
    if not text:
        return Reply(None, False, ())
    answers = archive.view(kind="answers")
    words = rankers.build_or_reuse(rankers.create("lm_jelinek_mercer", {"fields": "title"}), answers)
    hits = words.rank({question.id: Question(question.id, text)}, QUESTIONS_PER_ANSWER * k)[question.id]
    return Reply(text, True, sources_from_answers(archive.view(), hits, k), folder.name)
