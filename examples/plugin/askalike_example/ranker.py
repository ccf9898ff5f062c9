"""Ranks by the share of words that a query and a title have in common (Jaccard 1901)."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import askalike


class JaccardSettings(askalike.Settings):
    """Which words count."""

    min_letters: int = Field(3, ge=1, description="shorter words are left out")


class JaccardRanker(askalike.Ranker):
    """Settings alone: it learns nothing, and reads the archive instead of an index."""

    def __init__(self, settings: JaccardSettings, name: str = "jaccard") -> None:
        self.settings = settings
        self.name = name

    @classmethod
    def from_settings(cls, name: str, values: Mapping[str, Any], archive: Path | None = None) -> Self:
        """Return the ranker with these settings. Raises SettingsError."""
        return cls(askalike.validate_settings(JaccardSettings, values, name), name)

    @property
    def values(self) -> Mapping[str, Any]:
        """All settings, the defaults included."""
        return self.settings.model_dump()

    def index_paths(self, view: askalike.Snapshot) -> Sequence[Path]:
        """There is no index."""
        return ()

    def build(self, view: askalike.Snapshot, progress: askalike.Progress | None = None) -> None:
        """There is nothing to build."""

    def open(self, view: askalike.Snapshot) -> "JaccardSearcher":
        """Return a searcher of the view as it is now."""
        return JaccardSearcher(self, view)


class JaccardSearcher(askalike.Searcher):
    """Compares each query with every title."""

    def __init__(self, ranker: JaccardRanker, view: askalike.Snapshot) -> None:
        super().__init__(ranker.name, view)
        self._word = re.compile(rf"\w{{{ranker.settings.min_letters},}}")
        self._titles = {docid: self._words(question.title) for docid, question in view.questions()}
        self._docids = np.array(list(self._titles), np.int64)

    def retrieve(
        self, queries: Sequence[askalike.ResolvedQuery], k: int, allowed: askalike.AllowedDocs | None = None
    ) -> askalike.Retrieved:
        """Return the k documents with the highest positive scores for each query, ties by docid."""
        docids = self._docids if allowed is None else np.intersect1d(self._docids, allowed.docids)
        pools = [docids[docids != one.excluded.docid] if one.excluded else docids for one in queries]
        scored = self.score(queries, pools)
        return scored.select([np.flatnonzero(scores > 0) for scores in scored.scores]).best(k)

    def score(
        self, queries: Sequence[askalike.ResolvedQuery], docids: Sequence[NDArray[np.int64]],
        known: askalike.Retrieved | None = None,
    ) -> askalike.Retrieved:  # fmt: skip
        """Return each query's documents with their scores, which are the same scale for every query."""
        scores = [
            np.array([_share(self._query_words(one), self._titles.get(docid, set())) for docid in own.tolist()])
            for one, own in zip(queries, docids, strict=True)
        ]
        return askalike.Retrieved(queries, docids, scores, absolute=scores)

    def explain(
        self, retrieved: askalike.Retrieved, docids: Sequence[NDArray[np.int64]],
        texts: Mapping[int, askalike.Question], *, exact: bool = False,
    ) -> list[dict[int, askalike.Explanation]]:  # fmt: skip
        """Return each document's score, to which every word in common contributes the same."""
        pairs = zip(retrieved.queries, docids, strict=True)
        return [
            {docid: _explain(self._query_words(one), self._titles[docid]) for docid in own.tolist()}
            for one, own in pairs
        ]

    def _query_words(self, one: askalike.ResolvedQuery) -> set[str]:
        return self._words(f"{one.text} {one.query.body}")

    def _words(self, text: str) -> set[str]:
        return set(self._word.findall(text.lower()))


def _share(left: set[str], right: set[str]) -> float:
    return len(left & right) / len(left | right) if left & right else 0.0


def _explain(query: set[str], title: set[str]) -> askalike.Explanation:
    score, common = _share(query, title), sorted(query & title)
    return askalike.Explanation(
        score, tuple(askalike.Contribution(word, ("title",), score / len(common)) for word in common)
    )
