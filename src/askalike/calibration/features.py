"""The features of a hit, for any ranker and number of hits: scores, and the words of both texts."""

import math
from collections.abc import Sequence

import numpy as np

from askalike.calibration.differences import COUNTED_TITLES, TitleDifferences, is_phrasing
from askalike.core.arrays import Floats
from askalike.core.records import Question
from askalike.store import View, sample_questions
from askalike.text.analyzer import Analyzer

FEATURES = ("score", "length", "margin", "mean_margin", "shared", "overlap")
"""The columns of the features of a hit.

score: the ranker's score. length: log(1 + number of words of the query). margin: the score minus that of the best other
hit. mean_margin: the score minus the mean of the others among the first CALIBRATION_DEPTH. shared: the share of the
words in the query's title that are in the hit's title. overlap: the Jaccard index of the words of both titles.
"""
SAMENESS_COLUMN = len(FEATURES)
"""The column of TitleDifferences.sameness."""
FAMILIAR_COLUMN = SAMENESS_COLUMN + 1
"""The column with 0 where the query asks more than the hit, see TitleDifferences.asks_more, else 1."""
COLUMN_COUNT = FAMILIAR_COLUMN + 1
CALIBRATION_DEPTH = 10


class HitFeatureExtractor:
    """Computes the features of hits.

    language: the archive's, for texts without one of their own. view: whose words tell which are rare; None if all are.
    """

    def __init__(self, language: str | None, view: View | None = None) -> None:
        self._language = language
        sample = (lambda: [question.title for question in sample_questions(view, COUNTED_TITLES)]) if view else tuple
        self.differences = TitleDifferences(sample)
        self._analyzer = Analyzer()

    def extract(self, query: Question, scores: Floats, hits: Sequence[Question]) -> Floats:
        """Return the features of the first hits of a query, (hits, COLUMN_COUNT).

        scores: (retrieved,), best first, of at least CALIBRATION_DEPTH retrieved documents if that many exist.
        hits: the questions of the first of these scores.
        """
        n = len(hits)
        features = np.empty((n, COLUMN_COUNT))
        features[:, 0], features[:, 1] = scores[:n], math.log1p(self._query_length(query))
        features[:, 2], features[:, 3] = _margins(scores, n)
        features[:, 4:SAMENESS_COLUMN] = np.array([self._title_overlap(query, hit) for hit in hits]).reshape(n, 2)
        features[:, SAMENESS_COLUMN:] = np.array([self._compare(query, hit) for hit in hits]).reshape(n, 2)
        return features

    def _query_length(self, query: Question) -> int:
        text = f"{query.title} {self._analyzer.plain_text(query.body, query.markup)}"
        return len(self._analyzer.analyze(text, query.language or self._language))

    def _title_overlap(self, query: Question, hit: Question) -> tuple[float, float]:
        """Return `shared` and `overlap`. Both titles are stemmed in the hit's language."""
        language = hit.language or self._language
        query_words, hit_words = (self.differences.read(each.title, language).terms for each in (query, hit))
        shared = len(query_words & hit_words)
        return shared / max(len(query_words), 1), shared / max(len(query_words | hit_words), 1)

    def _compare(self, query: Question, hit: Question) -> tuple[float, float]:
        """Return the columns of TitleDifferences; a query that is a phrasing of the hit is the same."""
        if is_phrasing(query.title, hit):
            return 1.0, 1.0
        language = hit.language or self._language
        sameness = self.differences.sameness(query.title, hit.title, language)
        return sameness, float(not self.differences.asks_more(query.title, hit, language))


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
