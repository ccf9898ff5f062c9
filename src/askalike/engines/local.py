"""The embedded engine: one archive, one ranker, in this process."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from askalike import rankers
from askalike.answering.replies import DEFAULT_SURE, TYPED_QUERY_ID, answer_question
from askalike.answering.reply import AnswerMode, Reply
from askalike.calibration.calibration import Calibration, load_calibration
from askalike.calibration.features import CALIBRATION_DEPTH, HitFeatureExtractor
from askalike.engines.precedents import Precedent, find_precedents
from askalike.errors import SettingsError
from askalike.rankers import Ranker
from askalike.store.archive import Archive
from askalike.store.view import View
from askalike.text.snippet import extract_snippet
from askalike.types import Explanation, Filter, Hit, Question, Run, SearchHit

SNIPPET_LENGTH = 160


class LocalEngine:
    """Finds similar questions in an archive. Follows the archive: a change is found by the next search."""

    def __init__(self, archive: Archive, ranker: Ranker, view: View | None = None) -> None:
        """`view`: what is searched; all questions, as they are now, unless another is given."""
        self.archive = archive
        self.ranker = ranker
        self._current_view = archive.view()
        self._view = self._current_view if view is None else view
        self._features = HitFeatureExtractor(self._view.language)
        self._calibration = load_calibration(archive, ranker)
        self._checked_change: int | None = None
        self.stale_reason: str | None = None
        """Why there is no calibration, where one was made that no longer holds."""

    @classmethod
    def open(cls, path: str | Path, ranker: str | None = None, settings: Mapping[str, Any] | None = None) -> Self:
        """The archive in a directory with a ranker by its name. Raises ArchiveError, SettingsError."""
        archive = Archive.open(path)
        return cls(archive, rankers.create(ranker, settings, archive))

    def close(self) -> None:
        """Closes the archive."""
        self.archive.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def refresh(self) -> None:
        """Brings the index up to date; where another process is doing so, the last committed state serves."""
        rankers.build_or_reuse(self.ranker, self._view)

    @property
    def calibration(self) -> Calibration | None:
        """What the ranker's scores mean on the archive as it is; None where that is not known."""
        change = self._current_view.change
        if self._calibration and self._checked_change != change:
            self._checked_change, self.stale_reason = (
                change,
                self._calibration.stale_reason(self._current_view, self.ranker),
            )
        return None if self.stale_reason else self._calibration

    def search(
        self,
        title: str,
        k: int = 5,
        *,
        body: str = "",
        filter: Filter | None = None,
        prefix: bool = False,
        min_probability: float | None = None,
    ) -> Sequence[SearchHit]:
        """The k questions most similar to the one typed, best first; none where nothing is like it.

        Once `askalike calibrate` was run each match has its probability, and none is below the line that it picked, or
        below `min_probability`. prefix: the last word may be unfinished. Each match says why.
        Raises SettingsError for a `min_probability` outside [0, 1], or where there are no probabilities.
        """
        return self._search(Question(TYPED_QUERY_ID, title, body), k, filter, prefix, min_probability)

    def find_similar(self, question: Question, k: int = 5) -> Sequence[SearchHit]:
        """The k questions most similar to one of the archive, itself left out; otherwise as `search`."""
        return self._search(question, k)

    def explain(self, question: Question, ids: Sequence[str]) -> Mapping[str, Explanation]:
        """Why each of these questions would be found for that one, as far as it is there."""
        self.refresh()
        return self.ranker.explain(question, ids)

    def _search(
        self,
        query: Question,
        k: int,
        filter: Filter | None = None,
        prefix: bool = False,
        min_probability: float | None = None,
    ) -> Sequence[SearchHit]:
        self.refresh()
        calibration = self.calibration
        line, depth = (
            self._min_probability(calibration, min_probability),
            max(k, CALIBRATION_DEPTH) if calibration else k,
        )
        run = self.ranker.rank({query.id: query}, depth, filter=filter, prefix=prefix)
        questions = self._view.get_questions(run.columns(query.id)[0])
        best = [h for h in run[query.id] if h.id in questions][:k]
        told = self._estimate_probabilities(calibration, query, best, run, questions, prefix)
        shown = [(h, p) for h, p in zip(best, told, strict=True) if p is None or p >= line]
        reasons = self.ranker.explain(query, [h.id for h, _ in shown], prefix=prefix)
        return [_to_search_hit(questions[h.id], h, p, reasons.get(h.id)) for h, p in shown]

    def answer(
        self,
        title: str,
        mode: AnswerMode = "nearest",
        k: int = 3,
        *,
        body: str = "",
        min_probability: float | None = None,
        sure: float = DEFAULT_SURE,
        model: str | None = None,
    ) -> Reply:
        """An answer to the question typed, with at most k stored answers.

        nearest: the stored answers of the most similar questions. generate: text that a model of the archive writes
        (`model`: which one, where there are several), with the stored answers nearest to it. auto: nearest where the
        best has a probability of `sure`, generate where it is less, no answer where it is below the line of `search`.
        Raises ArchiveError where there are no answers; SettingsError for what is not known or, with auto, where there
        is no calibration.
        """
        return answer_question(
            self, title, mode, k, body=body, min_probability=min_probability, sure=sure, model=model
        )  # fmt: skip

    def find_precedents(self, title: str, hit: Question, k: int = 2, *, body: str = "") -> Sequence[Precedent]:
        """The archived duplicates most like the question typed and a hit of it: see `engines.precedents`."""
        self.refresh()
        return find_precedents(self._view, self.ranker, Question(TYPED_QUERY_ID, title, body), hit, k)

    def _min_probability(self, calibration: Calibration | None, requested: float | None) -> float:
        """The probability below which nothing is shown."""
        if requested is None:
            return calibration.threshold.probability if calibration and calibration.threshold else 0.0
        if not 0 <= requested <= 1:
            raise SettingsError(f"a least probability of {requested}: expected a number from 0 to 1")
        if calibration is None:
            why = f" ({self.stale_reason})" if self.stale_reason else ""
            raise SettingsError(
                f"{self.archive.path}: {self.ranker.name} with these settings is not calibrated{why}, so that there "
                "are no probabilities; run: askalike calibrate"
            )
        return requested

    def _estimate_probabilities(
        self,
        calibration: Calibration | None,
        query: Question,
        hits: Sequence[Hit],
        run: Run,
        questions: Mapping[str, Question],
        prefix: bool,
    ) -> Sequence[float | None]:
        """Those of the first hits, told from a run of at least DEPTH: they do not depend on k."""
        if calibration is None:
            return [None] * len(hits)
        ids, scores = run.columns(query.id)
        there = np.array([id in questions for id in ids], np.bool_)
        likenesses = self.ranker.similarities({query.id: query}, run, prefix=prefix)
        likeness = likenesses[query.id][there] if likenesses else None
        features = self._features.extract(query, scores[there], [questions[h.id] for h in hits], likeness)
        return calibration.estimate(features).tolist()  # type: ignore[no-any-return]


def _to_search_hit(
    question: Question, hit: Hit, probability: float | None, explanation: Explanation | None
) -> SearchHit:
    return SearchHit(question, hit.score, _snippet(question, explanation), probability, explanation)


def _snippet(question: Question, explanation: Explanation | None) -> str:
    """What of the question's body (or of the rephrasing that matched) is worth showing below its title."""
    if explanation is None:
        return ""
    field = next((f for f in ("rephrasing", "body") if f in explanation.text), None)
    if field is None:
        return ""
    return extract_snippet(
        explanation.text[field], [(s.start, s.end) for s in explanation.spans if s.field == field], SNIPPET_LENGTH
    )
