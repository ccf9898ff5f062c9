"""Ranks by a model that sees query and document together: candidates, or what another ranker proposes (cascade)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from askalike.archive.view import View
from askalike.errors import NotFittedError, SettingsError
from askalike.index.search import Found
from askalike.rankers._numbered import Asked, Numbered, Numbers, Scores
from askalike.rankers._occlusion import occluded
from askalike.rankers._ranker import Progress
from askalike.types import Answer, Explanation, Question


class Scorer(Protocol):
    """A model of pairs that no vectors can express."""

    @property
    def values(self) -> Mapping[str, Any]:
        """The settings that may be chosen when it is used, the defaults too."""

    def score(self, query: Question, documents: Sequence[Question | Answer]) -> NDArray[np.float32]:
        """How well each document goes with the query, (n,)."""


class Pairwise(Numbered):
    """Ranking by a scorer. It has no index: texts are read from the archive."""

    def __init__(self, scorer: Scorer, name: str = "pairwise") -> None:
        self.name = name
        self.scorer = scorer

    @property
    def values(self) -> Mapping[str, Any]:
        """See Ranker.values."""
        return self.scorer.values

    @property
    def fingerprint(self) -> str:
        """What the scorer says of itself."""
        return str(getattr(self.scorer, "fingerprint", ""))

    @property
    def knows_until(self) -> str | None:
        """See Dated: what the scorer says of itself."""
        return getattr(self.scorer, "knows_until", None)

    def index(self, view: View, progress: Progress | None = None) -> Self:
        """Takes the view; nothing is built."""
        self._view = view
        return self

    def paths(self, view: View) -> Sequence[Path]:
        """None."""
        return ()

    def prepare(self, view: View, asked: Sequence[Asked], prefix: bool) -> list[Asked]:
        """The queries as they are."""
        return list(asked)

    def find(self, prepared: list[Asked], k: int, allowed: Numbers | None) -> list[Found]:
        """Refuses: every pair would have to be seen. Raises SettingsError."""
        raise SettingsError(
            f"{self.name} compares pairs and ranks candidates only; name some, or let another ranker propose them: "
            f"--ranker cascade --set parts=lm_jelinek_mercer,{self.name}"
        )

    def score(self, prepared: list[Asked], candidates: Sequence[Numbers]) -> list[Scores]:
        """See Numbered.score."""
        if self._view is None:
            raise NotFittedError(f"{self.name}: nothing is indexed yet; call index(view) first")
        return [self._scores(self._view, one.query, n) for one, n in zip(prepared, candidates, strict=True)]

    def explain_asked(
        self, view: View, asked: Asked, ids: Sequence[str], prefix: bool = False
    ) -> Mapping[str, Explanation]:
        """What each score loses without each word of the query."""
        documents = view.get(ids) if view.of == "questions" else {}
        if not documents:
            return {}
        scores = self.scorer.score(asked.query, list(documents.values()))
        told = dict(zip(documents, scores.tolist(), strict=True))

        def table(queries: Sequence[Question], texts: Sequence[Question]) -> NDArray[np.float64]:
            return np.array([self.scorer.score(query, texts) for query in queries], np.float64)

        return occluded(table, self.name, asked.query, documents, told)

    def _scores(self, view: View, query: Question, numbers: Numbers) -> Scores:
        """NaN for a document that is no longer there."""
        found = np.full(len(numbers), np.nan)
        ids = view.ids(numbers)
        texts = view.get(ids.values())
        there = [place for place, n in enumerate(numbers.tolist()) if ids.get(n) in texts]
        if there:
            found[there] = self.scorer.score(query, [texts[ids[n]] for n in numbers[there].tolist()])
        return found
