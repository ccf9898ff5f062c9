"""What a hit's probability is told from: its score, the scores around it, the words of both texts, how alike they are.

Nothing here knows how a ranker works, and nothing depends on how many hits were asked for.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from askalike.evaluation.curves import Floats
from askalike.text.analyzer import Analyzer
from askalike.types import Question

FEATURES = ("score", "length", "lead", "field", "shared", "overlap")
"""score; length: log of the query's words; lead: the score less that of the best other hit; field: the score less the
mean of the others among the first DEPTH; shared: the share of the words of the query's title that are in the hit's;
overlap: the shared words among those of both titles."""
LIKENESS = len(FEATURES)
"""The column after these: how alike the ranker says both are, whatever else was found; NaN where it does not say."""
DEPTH = 10
KEPT = 10_000  # titles whose words are remembered


class Features:
    """Reads features off queries and their hits. `language` is the archive's, where it has one."""

    def __init__(self, language: str | None) -> None:
        self._language = language
        self._analyzer = Analyzer()
        self._words = lru_cache(KEPT)(self._distinct)

    def of(self, query: Question, scores: Floats, hits: Sequence[Question], likeness: Floats | None = None) -> Floats:
        """Those of the first hits of a query: (hits, FEATURES and LIKENESS).

        scores: of all hits, best first, DEPTH of them at the least where there are so many; hits: the first questions;
        likeness: theirs, (at least hits,), as Ranker.likenesses tells it.
        """
        n, length = len(hits), np.log1p(self._length(query))
        rows = [
            (scores[i], length, *_distances(scores, i), *self._alike(query, hit), np.nan)
            for i, hit in enumerate(hits)
        ]  # fmt: skip
        features = np.array(rows, np.float64).reshape(n, LIKENESS + 1)
        if likeness is not None:
            features[:, LIKENESS] = likeness[:n]
        return features

    def _length(self, query: Question) -> int:
        text = f"{query.title} {self._analyzer.text(query.body, query.markup)}"
        return len(self._analyzer.tokens(text, query.language or self._language))

    def _alike(self, query: Question, hit: Question) -> tuple[float, float]:
        """Both titles are stemmed in the hit's language."""
        language = hit.language or self._language
        asked, found = self._words(query.title, language), self._words(hit.title, language)
        shared = len(asked & found)
        return shared / max(len(asked), 1), shared / max(len(asked | found), 1)

    def _distinct(self, text: str, language: str | None) -> frozenset[str]:
        return frozenset(self._analyzer.tokens(self._analyzer.text(text, "text"), language))


def _distances(scores: NDArray[np.float64], place: int) -> tuple[float, float]:
    """A score less the best of the others, and less the mean of the others among the first; itself where none is."""
    others = np.delete(scores[:DEPTH], place) if place < DEPTH else scores[:DEPTH]
    if not len(others):
        return float(scores[place]), float(scores[place])
    return float(scores[place] - others[0]), float(scores[place] - others.mean())
