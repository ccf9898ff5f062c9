"""The term statistics that a cluster's scores are based on, for documents that are scored here."""

from collections.abc import Iterable, Mapping, Sequence
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
    term_information,
)
from askalike.index.rows import find_distinct
from askalike.opensearch.connection import OpenSearchConnection
from askalike.opensearch.rephrasings import BASE, MAX_FREQUENCY
from askalike.opensearch.state import IndexState

LONGEST = "longest"
"""Key of a state's facts for the lengths of the longest own text and of the longest rephrasing."""


@dataclass(slots=True)
class TermCounts:
    """A term's df and ttf in own texts, and its maximum frequency in a rephrasing."""

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
        self, cluster: OpenSearchConnection, index: str, state: IndexState, field: str, rephrasing_field: str
    ) -> None:
        self._cluster, self._index, self._routings = cluster, index, state.routings
        self._field, self._rephrasing_field = field, rephrasing_field
        self._known: dict[str, TermCounts] = {}
        self._tables: dict[tuple[TermScorer, str], Floats] = {}
        self._own: FieldStatistics | None = None
        self._longest, longest_rephrasing = (state.facts or {}).get(LONGEST, (0, 0))
        lengths = np.arange(1, min(longest_rephrasing, BASE - 1) + 1)
        self._rephrasing_lengths: Sequence[int] = find_distinct(round_lengths(lengths)).tolist()

    def look_up(self, terms: Iterable[str]) -> None:
        """Read the statistics of those terms that are not cached yet."""
        new = [term for term in dict.fromkeys(terms) if term not in self._known]
        if not new and self._own is not None:
            return
        counts = {term: TermCounts() for term in new}
        documents = total = 0
        for document in self._read_term_vectors(new):
            vectors = document.get("term_vectors", {})
            for term, found in vectors.get(self._rephrasing_field, {"terms": {}})["terms"].items():
                if term in counts:
                    counts[term].add_rephrasings(found.get("doc_freq", 0), found.get("ttf", 0))
            if self._field not in vectors:
                continue
            sums = vectors[self._field]["field_statistics"]
            documents += max(sums["doc_count"], 0)
            total += max(sums["sum_ttf"], 0)
            for term, found in vectors[self._field]["terms"].items():
                if term in counts:
                    counts[term].add(found.get("doc_freq", 0), found.get("ttf", 0))
        self._known |= counts
        if self._own is None:
            self._own = FieldStatistics.of_counts(documents, total, self._longest)

    def is_known(self, term: str) -> bool:
        """Return whether any text has a term that was looked up; replaced texts may still count."""
        return self._known[term].is_present

    def score(self, similarity: TermScorer, terms: Sequence[str], tf: Floats, lengths: NDArray[np.int64]) -> Floats:
        """Return the score of each term in a text of that length, as in a local index: float64 (n)."""
        assert self._own is not None
        names, places = np.unique(np.array(terms, np.object_), return_inverse=True)
        counts = self._counts(names)
        bounds = score_bounds(similarity, counts[:, 0], counts[:, 1], self._own)
        rounded = round_lengths(np.maximum(lengths, 1)).astype(np.float64)
        df, ttf = counts[places, 0], counts[places, 1]
        scores = similarity.score(tf, rounded, df, ttf, self._own.collection)
        return np.minimum(scores, MAX_REPHRASING_GAIN * bounds[places])

    def scale(self, similarity: TermScorer, weights: Mapping[str, float]) -> Floats:
        """Return the integer that a score of 1 becomes, as in a local index: (1,). weights: of the query's terms."""
        assert self._own is not None
        counts = self._counts(weights)
        bounds = score_bounds(similarity, counts[:, 0], counts[:, 1], self._own)
        return integer_scale(np.array([np.sum(np.array(list(weights.values())) * bounds)]))

    def rephrasing_table(self, similarity: TermScorer, term: str) -> tuple[Sequence[int], Floats]:
        """Return the lengths of rephrasings, and a term's scores in them: (frequencies from 1, lengths)."""
        lengths = self._rephrasing_lengths or (1,)
        if (similarity, term) not in self._tables:
            most = min(self._known[term].max_frequency, MAX_FREQUENCY, max(lengths))
            tf, length = (grid.ravel() for grid in np.meshgrid(np.arange(1.0, most + 1), lengths, indexing="ij"))
            scores = self.score(similarity, [term] * len(tf), tf, length.astype(np.int64))
            self._tables[similarity, term] = scores.reshape(most, len(lengths))
        return lengths, self._tables[similarity, term]

    def information(self, terms: Sequence[str]) -> dict[str, float]:
        """Return the idf of each term, see `term_information`."""
        assert self._own is not None
        df = self._counts(terms)[:, 0]
        return dict(zip(terms, term_information(df, self._own.collection.documents).tolist(), strict=True))

    def _counts(self, terms: Iterable[str]) -> Floats:
        """Return (terms, 2): each term's df and ttf in questions' own texts."""
        known = (self._known[term] for term in terms)
        return np.array([(one.df, one.ttf) for one in known], np.float64).reshape(-1, 2)

    def _read_term_vectors(self, terms: Sequence[str]) -> Sequence[Mapping[str, Any]]:
        """Return every shard's statistics of these terms, requested as term vectors of an artificial document."""
        if not self._routings:  # nothing is indexed yet
            return []
        fields = [self._field, self._rephrasing_field]
        document = {"doc": dict.fromkeys(fields, " ".join(terms) or "x"), "fields": fields}
        options = {"term_statistics": True, "field_statistics": True, "positions": False, "offsets": False}
        documents = [{"_index": self._index, "routing": routing, **document, **options} for routing in self._routings]
        return self._cluster.term_vectors(documents)
