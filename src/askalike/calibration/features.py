"""The features of a hit, for any ranker and number of hits: scores, the words of both texts, similarity."""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from askalike.calibration.differences import TitleDifferences
from askalike.core.types import Floats, Question
from askalike.store import View
from askalike.text.analyzer import Analyzer

FEATURES = ("score", "length", "margin", "mean_margin", "shared", "overlap")
"""The columns of the features of a hit.

score: the ranker's score. length: log(1 + number of words of the query). margin: the score minus that of the best other
hit. mean_margin: the score minus the mean of the others among the first CALIBRATION_DEPTH. shared: the share of the
words in the query's title that are in the hit's title. overlap: the Jaccard index of the words of both titles.
"""
SIMILARITY_COLUMN = len(FEATURES)
"""The column after FEATURES: the similarity of query and hit (Searcher.similarities); NaN if there is none."""
SAMENESS_COLUMN = SIMILARITY_COLUMN + 1
"""The column of TitleDifferences.sameness."""
COLUMN_COUNT = SAMENESS_COLUMN + 1
CALIBRATION_DEPTH = 10
TITLE_CACHE_SIZE = 10_000
"""The number of titles whose words are cached."""


class HitFeatureExtractor:
    """Computes the features of hits.

    language: the archive's, for texts without one of their own. view: whose words tell which are rare; None if all are.
    """

    def __init__(self, language: str | None, view: View | None = None) -> None:
        self._language = language
        self._differences = TitleDifferences(lambda: [title for _, _, title in view.titles()] if view else ())
        self._analyzer = Analyzer()
        self._cached_title_words = lru_cache(TITLE_CACHE_SIZE)(self._title_words)

    def extract(
        self, query: Question, scores: Floats, hits: Sequence[Question], similarities: Floats | None = None
    ) -> Floats:
        """Return the features of the first hits of a query, (hits, COLUMN_COUNT).

        scores: (retrieved,), best first, of at least CALIBRATION_DEPTH retrieved documents if that many exist.
        hits: the questions of the first of these scores.
        similarities: (at least hits,), from Searcher.similarities.
        """
        n = len(hits)
        features = np.empty((n, COLUMN_COUNT))
        features[:, 0], features[:, 1] = scores[:n], math.log1p(self._query_length(query))
        features[:, 2], features[:, 3] = _margins(scores, n)
        features[:, 4:SIMILARITY_COLUMN] = np.array([self._title_overlap(query, hit) for hit in hits]).reshape(n, 2)
        features[:, SIMILARITY_COLUMN] = np.nan if similarities is None else similarities[:n]
        features[:, SAMENESS_COLUMN] = [
            self._differences.sameness(query.title, hit.title, hit.language or self._language) for hit in hits
        ]
        return features

    def _query_length(self, query: Question) -> int:
        text = f"{query.title} {self._analyzer.plain_text(query.body, query.markup)}"
        return len(self._analyzer.analyze(text, query.language or self._language))

    def _title_overlap(self, query: Question, hit: Question) -> tuple[float, float]:
        """Return `shared` and `overlap`. Both titles are stemmed in the hit's language."""
        language = hit.language or self._language
        query_words = self._cached_title_words(query.title, language)
        hit_words = self._cached_title_words(hit.title, language)
        shared = len(query_words & hit_words)
        return shared / max(len(query_words), 1), shared / max(len(query_words | hit_words), 1)

    def _title_words(self, text: str, language: str | None) -> frozenset[str]:
        return frozenset(self._analyzer.analyze(self._analyzer.plain_text(text, "text"), language))


def _margins(scores: Floats, n: int) -> tuple[Floats, Floats]:
    """Return `margin` and `mean_margin` of the first n scores, (n,) each; the score itself if there is only one."""
    hit_scores, first = scores[:n], scores[:CALIBRATION_DEPTH]
    if len(scores) < 2:
        return hit_scores, hit_scores
    best_other = np.full(n, first[0])
    best_other[:1] = first[1]
    counted = np.arange(n) < len(first)
    mean_of_others = (math.fsum(first.tolist()) - np.where(counted, hit_scores, 0.0)) / (len(first) - counted)
    return hit_scores - best_other, hit_scores - mean_of_others
