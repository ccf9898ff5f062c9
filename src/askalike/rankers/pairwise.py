"""Ranks by a model that sees query and document together: candidates, or what another ranker proposes (cascade)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from askalike.errors import NotFittedError, SettingsError
from askalike.rankers._numbered import DocidRanker, Docids, ResolvedQuery, Scores
from askalike.rankers._occlusion import explain_by_occlusion
from askalike.store.view import View
from askalike.types import Answer, Explanation, Progress, Question, TopDocs


class PairScorer(Protocol):
    """A model of pairs that no vectors can express."""

    @property
    def values(self) -> Mapping[str, Any]:
        """The settings that may be chosen when it is used, the defaults too."""

    def score(self, query: Question, documents: Sequence[Question | Answer]) -> NDArray[np.float32]:
        """How well each document goes with the query, (n,)."""


class PairwiseRanker(DocidRanker):
    """Ranking by a scorer. It has no index: texts are read from the archive."""

    def __init__(self, scorer: PairScorer, name: str = "pairwise") -> None:
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
    def trained_until(self) -> str | None:
        """See Dated: what the scorer says of itself."""
        return getattr(self.scorer, "trained_until", None)

    def build(self, view: View, progress: Progress | None = None) -> Self:
        """Takes the view; nothing is built."""
        self._view = view
        return self

    def index_paths(self, view: View) -> Sequence[Path]:
        """None."""
        return ()

    def prepare(self, view: View, queries: Sequence[ResolvedQuery], prefix: bool) -> list[ResolvedQuery]:
        """The queries as they are."""
        return list(queries)

    def retrieve(self, prepared: list[ResolvedQuery], k: int, allowed: Docids | None) -> list[TopDocs]:
        """Refuses: every pair would have to be seen. Raises SettingsError."""
        raise SettingsError(
            f"{self.name} compares pairs and ranks candidates only; name some, or let another ranker propose them: "
            f"--ranker cascade --set parts=lm_jelinek_mercer,{self.name}"
        )

    def score(self, prepared: list[ResolvedQuery], candidates: Sequence[Docids]) -> list[Scores]:
        """See Numbered.score."""
        if self._view is None:
            raise NotFittedError(f"{self.name}: nothing is indexed yet; call index(view) first")
        return [self._score_documents(self._view, one.query, n) for one, n in zip(prepared, candidates, strict=True)]

    def explain_resolved(
        self, view: View, resolved: ResolvedQuery, ids: Sequence[str], prefix: bool = False
    ) -> Mapping[str, Explanation]:
        """What each score loses without each word of the query."""
        documents = view.get_questions(ids) if view.kind == "questions" else {}
        if not documents:
            return {}
        scores = self.scorer.score(resolved.query, list(documents.values()))
        told = dict(zip(documents, scores.tolist(), strict=True))

        def table(queries: Sequence[Question], texts: Sequence[Question]) -> NDArray[np.float64]:
            return np.array([self.scorer.score(query, texts) for query in queries], np.float64)

        return explain_by_occlusion(table, self.name, resolved.query, documents, told)

    def _score_documents(self, view: View, query: Question, docids: Docids) -> Scores:
        """NaN for a document that is no longer there."""
        found = np.full(len(docids), np.nan)
        ids = view.ids(docids)
        texts = view.get_questions(ids.values())
        there = [place for place, n in enumerate(docids.tolist()) if ids.get(n) in texts]
        if there:
            found[there] = self.scorer.score(query, [texts[ids[n]] for n in docids[there].tolist()])
        return found
