"""The term statistics that a cluster's scores are based on, for documents that are scored here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askalike.core.types import Floats
from askalike.index.lexical.builder import round_lengths
from askalike.index.lexical.term_scores import (
    MAX_REPHRASING_GAIN,
    FieldStatistics,
    TermScorer,
    integer_scale,
    score_bounds,
    score_fields,
    term_information,
)
from askalike.index.lexical.terms import field_of, mark_terms, word_of
from askalike.index.rows import find_distinct
from askalike.opensearch.connection import OpenSearchConnection
from askalike.opensearch.similarities import BASE, MAX_FREQUENCY
from askalike.opensearch.state import IndexState

LONGEST = "longest"
"""Key of a state's facts for the lengths of the longest own text and of the longest rephrasing."""


@dataclass(slots=True)
class TermCounts:
    """A term's df and ttf in a field of own texts, and its maximum frequency in that field of a rephrasing."""

    df: int = 0
    ttf: int = 0
    max_frequency: int = 1
    is_present: bool = False

    def add(self, df: int, ttf: int) -> None:
        """Add a shard's counts of own texts."""
        self.df, self.ttf, self.is_present = self.df + df, self.ttf + ttf, self.is_present or df > 0

    def add_rephrasings(self, df: int, ttf: int) -> None:
        """Add a shard's counts of rephrasings."""
        self.max_frequency, self.is_present = max(self.max_frequency, ttf - df + 1), self.is_present or df > 0


class TermStatistics:
    """Document frequencies of terms and totals over the whole index, read from every shard and cached.

    They are Lucene's, as used by `dfs_query_then_fetch`.
    """

    def __init__(
        self, cluster: OpenSearchConnection, index: str, state: IndexState, fields: Sequence[tuple[str, str]]
    ) -> None:
        """fields: the names of each field in own texts and in rephrasings."""
        self._cluster, self._index, self._routings = cluster, index, state.routings
        self._fields = fields
        self._known: dict[str, TermCounts] = {}
        self._tables: dict[tuple[TermScorer, str], Floats] = {}
        self._own: Sequence[FieldStatistics] = ()
        self._longest: Sequence[Sequence[int]] = (state.facts or {}).get(LONGEST, [(0, 0)] * len(fields))
        lengths = [np.arange(1, min(of_rephrasing, BASE - 1) + 1) for _, of_rephrasing in self._longest]
        self._rephrasing_lengths = [find_distinct(round_lengths(own)).tolist() for own in lengths]

    @property
    def field_count(self) -> int:
        """The number of fields."""
        return len(self._fields)

    def look_up(self, terms: Iterable[str]) -> None:
        """Read the statistics of those terms that are not cached yet."""
        new = [term for term in dict.fromkeys(terms) if term not in self._known]
        if not new and self._own:
            return
        counts = {term: TermCounts() for term in new}
        totals = np.zeros((len(self._fields), 2), np.int64)
        for document in self._read_term_vectors(new):
            vectors = document.get("term_vectors", {})
            for number, (own, rephrasing) in enumerate(self._fields):
                totals[number] += _read_field(vectors.get(own), number, counts, TermCounts.add)
                _read_field(vectors.get(rephrasing), number, counts, TermCounts.add_rephrasings)
        self._known |= counts
        if not self._own:
            sums = zip(totals.tolist(), self._longest, strict=True)
            self._own = [FieldStatistics.of_counts(n, words, longest) for (n, words), (longest, _) in sums]

    def is_known(self, term: str) -> bool:
        """Return whether any text has a term that was looked up; replaced texts may still count."""
        return self._known[term].is_present

    def score(self, similarity: TermScorer, terms: Sequence[str], tf: Floats, lengths: NDArray[np.int64]) -> Floats:
        """Return the score of each term in a text of that length, as in a local index: float64 (n)."""
        names, places = np.unique(np.array(terms, np.object_), return_inverse=True)
        bounds = self._bounds(similarity, names.tolist())
        rounded = round_lengths(np.maximum(lengths, 1)).astype(np.float64)
        df, ttf = self._counts(names)[places].T

        def score(at: Any, own: FieldStatistics) -> Floats:
            return similarity.score(tf[at], rounded[at], df[at], ttf[at], own.collection)

        scores = score_fields(np.array(list(map(field_of, terms)), np.uint8), self._own, score)
        return np.minimum(scores, MAX_REPHRASING_GAIN * bounds[places])

    def scale(self, similarity: TermScorer, weights: Mapping[str, float]) -> Floats:
        """Return the integer that a score of 1 becomes, as in a local index: (1,). weights: of the query's terms."""
        bounds = self._bounds(similarity, list(weights))
        return integer_scale(np.array([np.sum(np.array(list(weights.values())) * bounds)]))

    def rephrasing_table(self, similarity: TermScorer, term: str) -> tuple[Sequence[int], Floats]:
        """Return the lengths of rephrasings, and a term's scores in them: (frequencies from 1, lengths)."""
        lengths = self._rephrasing_lengths[field_of(term)] or (1,)
        if (similarity, term) not in self._tables:
            most = min(self._known[term].max_frequency, MAX_FREQUENCY, max(lengths))
            tf, length = (grid.ravel() for grid in np.meshgrid(np.arange(1.0, most + 1), lengths, indexing="ij"))
            scores = self.score(similarity, [term] * len(tf), tf, length.astype(np.int64))
            self._tables[similarity, term] = scores.reshape(most, len(lengths))
        return lengths, self._tables[similarity, term]

    def information(self, terms: Sequence[str]) -> dict[str, float]:
        """Return the idf of each term, see `term_information`."""
        df = self._counts(terms)[:, 0]

        def inform(at: Any, own: FieldStatistics) -> Floats:
            return term_information(df[at], own.collection.documents)

        idf = score_fields(np.array(list(map(field_of, terms)), np.uint8), self._own, inform)
        return dict(zip(terms, idf.tolist(), strict=True))

    def _bounds(self, similarity: TermScorer, terms: Sequence[str]) -> Floats:
        df, ttf = self._counts(terms).T

        def bound(at: Any, own: FieldStatistics) -> Floats:
            return score_bounds(similarity, df[at], ttf[at], own)

        return score_fields(np.array(list(map(field_of, terms)), np.uint8), self._own, bound)

    def _counts(self, terms: Iterable[str]) -> Floats:
        """Return (terms, 2): each term's df and ttf in questions' own texts."""
        known = (self._known[term] for term in terms)
        return np.array([(one.df, one.ttf) for one in known], np.float64).reshape(-1, 2)

    def _read_term_vectors(self, terms: Sequence[str]) -> Sequence[Mapping[str, Any]]:
        """Return every shard's statistics of these terms, requested as term vectors of an artificial document."""
        if not self._routings:  # nothing is indexed yet
            return []
        texts = {
            name: " ".join(word_of(term) for term in terms if field_of(term) == number) or "x"
            for number, names in enumerate(self._fields)
            for name in names
        }
        document = {"doc": texts, "fields": list(texts)}
        options = {"term_statistics": True, "field_statistics": True, "positions": False, "offsets": False}
        documents = [{"_index": self._index, "routing": routing, **document, **options} for routing in self._routings]
        return self._cluster.term_vectors(documents)


def _read_field(
    vectors: Mapping[str, Any] | None, field: int, counts: Mapping[str, TermCounts],
    add: Callable[[TermCounts, int, int], None],
) -> tuple[int, int]:  # fmt: skip
    """Add a shard's counts of a field's terms; return its number of documents with the field, and of their words."""
    if vectors is None:
        return 0, 0
    for word, found in vectors["terms"].items():
        [term] = mark_terms([word], field)
        if term in counts:
            add(counts[term], found.get("doc_freq", 0), found.get("ttf", 0))
    sums = vectors["field_statistics"]
    return max(sums["doc_count"], 0), max(sums["sum_ttf"], 0)
