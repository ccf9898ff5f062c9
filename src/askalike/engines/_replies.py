"""Replies to a question from what an engine finds: stored answers, or what a model of the archive writes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from askalike import rankers
from askalike.answering.nearest import nearest, of_hits, refuse_without_answers
from askalike.answering.reply import Mode, Reply
from askalike.answering.writers import refuse_foreign, writer
from askalike.archive.store import Archive
from askalike.engines._calibration import Calibration
from askalike.errors import SettingsError
from askalike.types import Match, Question

TYPED = " typed "  # the id of a question that is being asked: no question of an archive is called so
LOOKED_AT = 5
"""So many questions are looked through for each answer that is wanted: not all have one."""
SURE = 0.5
"""From this probability on the nearest question's answer is the reply."""


class Searching(Protocol):
    """What of an engine is needed."""

    archive: Archive

    @property
    def calibration(self) -> Calibration | None:
        """What its scores mean."""

    def search(
        self, title: str, k: int = 5, *, body: str = "", min_probability: float | None = None
    ) -> Sequence[Match]:
        """The k most similar questions."""


def replied(
    engine: Searching,
    title: str,
    mode: Mode,
    k: int,
    *,
    body: str,
    min_probability: float | None,
    sure: float,
    model: str | None,
) -> Reply:
    """See Local.answer."""
    view = engine.archive.view()
    refuse_without_answers(view)
    if mode == "generate":
        return _written(engine.archive, Question(TYPED, title, body), k, model)
    if mode not in ("nearest", "auto"):
        raise SettingsError(f"mode {mode!r}: expected nearest, generate or auto")
    if not 0 <= sure <= 1:
        raise SettingsError(f"sure={sure}: expected a probability from 0 to 1")
    if mode == "auto" and min_probability is None and engine.calibration is None:
        min_probability = 0.0  # refused, as it is no probability
    matches = engine.search(title, LOOKED_AT * k, body=body, min_probability=min_probability)
    found = nearest(view, matches, k)
    if mode == "auto" and matches and (found.abstained or (found.sources[0].probability or 0) < sure):
        written = _written(engine.archive, Question(TYPED, title, body), k, model)
        return replace(written, matches=found.matches)
    return found


def _written(archive: Archive, question: Question, k: int, model: str | None) -> Reply:
    """What a model writes, with the stored answers that share its words."""
    folder = writer(archive.path, model)
    refuse_foreign(archive.view(), folder)
    from askalike.answering.generate import opened  # torch, which takes seconds to load

    text = opened(folder).write(question)
    if not text:
        return Reply(None, False, ())
    answers = archive.view(of="answers")
    words = rankers.refreshed(rankers.build("lm_jelinek_mercer", {"fields": "title"}), answers)
    hits = words.rank({question.id: Question(question.id, text)}, LOOKED_AT * k)[question.id]
    return Reply(text, True, of_hits(archive.view(), hits, k), folder.name)
