"""What a hit's probability is told from: its score, the scores around it, the words of both texts, how alike they are.

Nothing here knows how a ranker works, and nothing depends on how many hits were asked for.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from askalike.calibration.curves import Floats
from askalike.text.analyzer import Analyzer
from askalike.types import Question

FEATURES = ("score", "length", "lead", "field", "shared", "overlap")
"""score; length: log of the query's words; lead: the score less that of the best other hit; field: the score less the
mean of the others among the first DEPTH; shared: the share of the words of the query's title that are in the hit's;
overlap: the shared words among those of both titles."""
SIMILARITY_COLUMN = len(FEATURES)
"""The column after these: how alike the ranker says both are, whatever else was found; NaN where it does not say."""
CALIBRATION_DEPTH = 10
CACHED_TITLES = 10_000  # titles whose words are remembered


class HitFeatureExtractor:
    """Reads features off queries and their hits. `language` is the archive's, where it has one."""

    def __init__(self, language: str | None) -> None:
        self._language = language
        self._analyzer = Analyzer()
        self._cached_title_words = lru_cache(CACHED_TITLES)(self._title_words)

    def extract(
        self, query: Question, scores: Floats, hits: Sequence[Question], similarities: Floats | None = None
    ) -> Floats:
        """Those of the first hits of a query: (hits, FEATURES and LIKENESS).

        scores: of all hits, best first, DEPTH of them at the least where there are so many; hits: the first questions;
        likeness: theirs, (at least hits,), as Ranker.likenesses tells it.
        """
        n, length = len(hits), math.log1p(self._query_length(query))
        features = np.empty((n, SIMILARITY_COLUMN + 1))
        features[:, 0], features[:, 1] = scores[:n], length
        features[:, 2], features[:, 3] = _score_gaps(scores, n)
        features[:, 4:SIMILARITY_COLUMN] = np.array([self._title_overlap(query, hit) for hit in hits]).reshape(n, 2)
        features[:, SIMILARITY_COLUMN] = np.nan if similarities is None else similarities[:n]
        return features

    def _query_length(self, query: Question) -> int:
        text = f"{query.title} {self._analyzer.plain_text(query.body, query.markup)}"
        return len(self._analyzer.analyze(text, query.language or self._language))

    def _title_overlap(self, query: Question, hit: Question) -> tuple[float, float]:
        """Both titles are stemmed in the hit's language."""
        language = hit.language or self._language
        asked, found = self._cached_title_words(query.title, language), self._cached_title_words(hit.title, language)
        shared = len(asked & found)
        return shared / max(len(asked), 1), shared / max(len(asked | found), 1)

    def _title_words(self, text: str, language: str | None) -> frozenset[str]:
        return frozenset(self._analyzer.analyze(self._analyzer.plain_text(text, "text"), language))


def _score_gaps(scores: Floats, n: int) -> tuple[Floats, Floats]:
    """Of the first n scores: less the best of the others, less the mean of the others among the first, (n,) each.

    A score that is alone is itself both.
    """
    own, first = scores[:n], scores[:CALIBRATION_DEPTH]
    if len(scores) < 2:
        return own, own
    best = np.full(n, first[0])
    best[:1] = first[1]
    among = np.arange(n) < len(first)
    mean = (math.fsum(first.tolist()) - np.where(among, own, 0.0)) / (len(first) - among)
    return own - best, own - mean
