"""Ranks by the share of words that a query and a title have in common (Jaccard 1901)."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import askalike

Prepared = tuple[list[askalike.ResolvedQuery], list[set[str]]]
"""Queries, and the words of each."""


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

    def index_paths(self, view: askalike.View) -> Sequence[Path]:
        """There is no index."""
        return ()

    def build(self, view: askalike.View, progress: askalike.Progress | None = None) -> None:
        """There is nothing to build."""

    def open(self, view: askalike.View) -> "JaccardSearcher":
        """Return a searcher of the view as it is now."""
        return JaccardSearcher(self, view)


class JaccardSearcher(askalike.Searcher):
    """Compares each query with every title."""

    def __init__(self, ranker: JaccardRanker, view: askalike.View) -> None:
        self.name = ranker.name
        self.view = view
        self._word = re.compile(rf"\w{{{ranker.settings.min_letters},}}")
        titles = {docid: self._words(question.title) for docid, question in view.questions()}
        self._docids = np.array(list(titles), np.int64)
        self._titles = titles

    def prepare(self, queries: Sequence[askalike.ResolvedQuery], prefix: bool) -> Prepared:
        """Return the queries with their words."""
        return list(queries), [self._words(f"{one.query.title} {one.query.body}") for one in queries]

    def retrieve(self, prepared: Prepared, k: int, allowed: NDArray[np.int64] | None) -> list[askalike.TopDocs]:
        """Return the k documents with the highest positive scores for each query, ties by docid."""
        docids = self._docids if allowed is None else np.intersect1d(self._docids, allowed)
        every_score = self.score(prepared, [docids] * len(prepared[0]))
        return [self._best(query, docids, scores, k) for query, scores in zip(prepared[0], every_score, strict=True)]

    def score(self, prepared: Prepared, candidates: Sequence[NDArray[np.int64]]) -> list[NDArray[np.float64]]:
        """Return the scores of each query's candidates."""
        return [
            np.array([_share(words, self._titles.get(docid, set())) for docid in docids.tolist()], np.float64)
            for words, docids in zip(prepared[1], candidates, strict=True)
        ]

    def explain(
        self, prepared: Prepared, row: int, docids: NDArray[np.int64], texts: Mapping[int, askalike.Question]
    ) -> dict[int, askalike.Explanation]:
        """Return each document's score, to which every word in common contributes the same."""
        return {docid: _explain(prepared[1][row], self._titles[docid]) for docid in texts}

    def _words(self, text: str) -> set[str]:
        return set(self._word.findall(text.lower()))

    def _best(
        self, query: askalike.ResolvedQuery, docids: NDArray[np.int64], scores: NDArray[np.float64], k: int
    ) -> askalike.TopDocs:
        keep = (scores > 0) & (docids != query.excluded_docid)
        docids, scores = docids[keep], scores[keep]
        order = np.lexsort((docids, -scores))[:k]
        return askalike.TopDocs(docids[order], scores[order])


def _share(left: set[str], right: set[str]) -> float:
    return len(left & right) / len(left | right) if left & right else 0.0


def _explain(query: set[str], title: set[str]) -> askalike.Explanation:
    score, common = _share(query, title), sorted(query & title)
    return askalike.Explanation(
        score, tuple(askalike.Contribution(word, ("title",), score / len(common)) for word in common)
    )
