"""The statistics that a cluster scores terms by, for what is scored here."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askalike.index.cluster.connection import ClusterConnection
from askalike.index.cluster.rephrasings import BASE, MAX_FREQUENCY
from askalike.index.lexical.builder import round_lengths
from askalike.index.lexical.term_scores import (
    MAX_REPHRASING_GAIN,
    OwnTextStatistics,
    TermScorer,
    integer_scale,
    score_bounds,
    term_information,
)
from askalike.types import Collection, Floats


class TermStatistics:
    """Document frequencies of terms and sums over the whole index, read from every shard and remembered.

    They are Lucene's, as `dfs_query_then_fetch` uses them.
    """

    def __init__(self, cluster: ClusterConnection, index: str, field: str, rephrasing_field: str) -> None:
        self._cluster, self._index, self._field, self._rephrasing_field = cluster, index, field, rephrasing_field
        self._known: dict[str, tuple[int, int]] = {}
        self._max_frequencies: dict[str, int] = {}
        self._tables: dict[tuple[TermScorer, str], Floats] = {}
        self._lengths: OwnTextStatistics | None = None
        self._rephrasing_lengths: Sequence[int] = ()
        self._routings: Sequence[str] | None = None

    def look_up(self, terms: Iterable[str]) -> None:
        """Read what is not yet known of these terms."""
        new = [term for term in terms if term not in self._known]
        if not new and self._lengths is not None:
            return
        totals = dict.fromkeys(new, (0, 0))
        documents = total = 0
        self._max_frequencies |= dict.fromkeys(new, 1)
        for document in self._read_term_vectors(new):
            rephrasings = document.get("term_vectors", {}).get(self._rephrasing_field, {"terms": {}})
            for term, counts in rephrasings["terms"].items():
                most = counts.get("ttf", 0) - counts.get("doc_freq", 0) + 1
                self._max_frequencies[term] = max(most, self._max_frequencies.get(term, 1))
            vectors = document.get("term_vectors", {}).get(self._field)
            if vectors is None:
                continue
            documents += max(vectors["field_statistics"]["doc_count"], 0)
            total += max(vectors["field_statistics"]["sum_ttf"], 0)
            for term, counts in vectors["terms"].items():
                if term in totals:
                    df, ttf = totals[term]
                    totals[term] = df + counts.get("doc_freq", 0), ttf + counts.get("ttf", 0)
        self._known |= totals
        if self._lengths is None:
            collection = Collection(max(documents, 1), float(total or max(documents, 1)))
            own, rephrasings = self._read_max_lengths()
            self._lengths = OwnTextStatistics(1, collection, own)
            self._rephrasing_lengths = np.unique(round_lengths(np.arange(1, min(rephrasings, BASE - 1) + 1))).tolist()

    def score(self, similarity: TermScorer, terms: Sequence[str], tf: Floats, lengths: NDArray[np.int64]) -> Floats:
        """Return the score of each term in a text of that length, as a local index computes it: float64 (n)."""
        assert self._lengths is not None
        names, places = np.unique(np.array(terms, np.object_), return_inverse=True)
        counts = np.array([self._known[term] for term in names], np.float64).reshape(-1, 2)
        bounds = score_bounds(similarity, counts[:, 0], counts[:, 1], self._lengths)
        rounded = round_lengths(np.maximum(lengths, 1)).astype(np.float64)
        df, ttf = counts[places, 0], counts[places, 1]
        scores = similarity.score(tf, rounded, df, ttf, self._lengths.collection)
        return np.minimum(scores, MAX_REPHRASING_GAIN * bounds[places])

    def scale(self, similarity: TermScorer, weights: Mapping[str, float]) -> Floats:
        """Return how many integers make a score of 1, as in a local index: (1,). weights: of the query's terms."""
        assert self._lengths is not None
        counts = np.array([self._known[term] for term in weights], np.float64).reshape(-1, 2)
        bounds = score_bounds(similarity, counts[:, 0], counts[:, 1], self._lengths)
        return integer_scale(np.array([np.sum(np.array(list(weights.values())) * bounds)]))

    def rephrasing_table(self, similarity: TermScorer, term: str) -> tuple[Sequence[int], Floats]:
        """Return rephrasings' lengths, and what a term scores in one of each: (frequencies from 1 on, lengths)."""
        lengths = self._rephrasing_lengths or (1,)
        if (similarity, term) not in self._tables:
            most = min(self._max_frequencies[term], MAX_FREQUENCY, max(lengths))
            tf, length = (grid.ravel() for grid in np.meshgrid(np.arange(1.0, most + 1), lengths, indexing="ij"))
            scores = self.score(similarity, [term] * len(tf), tf, length.astype(np.int64))
            self._tables[similarity, term] = scores.reshape(most, len(lengths))
        return lengths, self._tables[similarity, term]

    def information(self, terms: Sequence[str]) -> dict[str, float]:
        """Return the idf of each term, see `term_information`."""
        assert self._lengths is not None
        df = np.array([self._known[term][0] for term in terms], np.float64)
        return dict(zip(terms, term_information(df, self._lengths.collection.documents).tolist(), strict=True))

    def _read_term_vectors(self, terms: Sequence[str]) -> Sequence[dict[str, Any]]:
        """Return the statistics of every shard for a document of these terms that exists nowhere."""
        fields = [self._field, self._rephrasing_field]
        document = {"doc": dict.fromkeys(fields, " ".join(terms) or "x"), "fields": fields}
        options = {"term_statistics": True, "field_statistics": True, "positions": False, "offsets": False}
        if self._routings is None:
            self._routings = self._find_routings()
        documents = [{"_index": self._index, "routing": routing, **document, **options} for routing in self._routings]
        answer = self._cluster.request("POST", "/_mtermvectors", {"docs": documents}, preference="_local")
        return list(answer["docs"])

    def _find_routings(self) -> list[str]:
        """Return a routing value for each shard, as the node that is asked knows them, without asking the manager."""
        path = f"/{self._index}/_search_shards"
        shards = self._cluster.request("GET", path, local="true")["shards"]
        routings: dict[int, str] = {}
        number = 0
        while len(routings) < len(shards):
            found = self._cluster.request("GET", path, local="true", routing=str(number))
            routings.setdefault(found["shards"][0][0]["shard"], str(number))
            number += 1
        return list(routings.values())

    def _read_max_lengths(self) -> tuple[int, int]:
        """Return the lengths of the longest own text and of the longest rephrasing."""
        own = {"term": {"phrasing": 0}}
        filters = {"own": own, "rephrasings": {"bool": {"must_not": [own]}}}
        longest = {"longest": {"max": {"field": "length"}}}
        body = {"size": 0, "aggs": {"texts": {"filters": {"filters": filters}, "aggs": longest}}}
        found = self._cluster.search_later(self._index, body).result.get("aggregations")
        if found is None:  # the index is being made, and has no shard yet
            return 0, 0
        buckets = found["texts"]["buckets"]
        return int(buckets["own"]["longest"]["value"] or 0), int(buckets["rephrasings"]["longest"]["value"] or 0)
