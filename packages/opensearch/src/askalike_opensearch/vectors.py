"""The index of vectors in a cluster, of the k-NN plugin: searched exactly, or with Lucene's graph if there are many.

The parts of a vector are concatenated in one field. Their weighted sum is then one dot product: the weights are in the
query. Numbers are rounded as in the local index, so that both give the same scores.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askalike import AllowedDocs, SettingsError, TopDocs, VectorPart, Vectors
from askalike.plugin.index import (
    Array,
    DensePart,
    DocAttributes,
    Excluded,
    Floats,
    PartSchema,
    Storage,
    VectorLayout,
    VectorQueries,
    nonzero_rows,
)
from askalike_opensearch.connection import OpenSearchConnection, PendingSearch
from askalike_opensearch.index import (
    MAX_WINDOW,
    OpenSearchIndex,
    OpenSearchWriter,
    exclusion_clauses,
    filter_clauses,
    search_titles,
    split_docids,
)
from askalike_opensearch.scoring import score_missing, sort_hits
from askalike_opensearch.state import IndexState

FIELD = "vector"
MAX_DIMENSION = 16_000
GRAPH_EXTRA = 100
BYTES_PER_NUMBER = 12
"""Bytes per component of a vector as JSON text."""


class OpenSearchVectorIndex(OpenSearchIndex["OpenSearchVectorSearcher", "OpenSearchVectorWriter"]):
    """An index of vectors."""

    def __init__(
        self,
        cluster: OpenSearchConnection,
        name: str,
        layout: VectorLayout,
        exact_up_to: int,
        count_documents: Callable[[], int],
    ) -> None:
        """exact_up_to: new generations with more documents have a graph. count_documents: returns their number."""
        super().__init__(cluster, name, layout.fingerprint)
        self.layout, self._exact_up_to, self._count_documents = layout, exact_up_to, count_documents

    def schema(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """See OpenSearchIndex.schema. The field of vectors is added with the first vectors, whose length defines it."""
        return {"index.knn": self._count_documents() > self._exact_up_to}, {}

    def make_searcher(self, state: IndexState) -> "OpenSearchVectorSearcher":
        facts = state.facts or {}
        schemas = tuple(PartSchema(**values) for values in facts.get("schemas", ()))
        return OpenSearchVectorSearcher(self.cluster, self.name, schemas, bool(facts.get("graph")), state.phrasings)

    def make_writer(self, generation: str, state: IndexState) -> "OpenSearchVectorWriter":
        return OpenSearchVectorWriter(self, generation, state)


class OpenSearchVectorWriter(OpenSearchWriter[OpenSearchVectorIndex]):
    """Adds documents as vectors."""

    def add(self, docids: Array, phrasings: Array, vectors: Vectors, attributes: Sequence[DocAttributes] = ()) -> None:
        """Add one row for each (docid, phrasing); rows that are zero in every part are left out. Docids must ascend.

        Raises SettingsError for vectors that a cluster cannot hold.
        """
        self._store_schemas(tuple(PartSchema.from_part(part) for part in vectors.parts))
        rows = join_documents(vectors.parts, self.index.layout.storage)
        kept = np.any([nonzero_rows(part) for part in vectors.parts], axis=0)
        self.replace([int(docid) for docid in docids])
        for place in np.flatnonzero(kept).tolist():
            fields = {FIELD: [float(x) for x in rows[place].astype(np.float32)]}
            size = BYTES_PER_NUMBER * rows.shape[1]
            self.put(int(docids[place]), int(phrasings[place]), attributes[place], fields, size)

    def _store_schemas(self, schemas: Sequence[PartSchema]) -> None:
        """Create the field of vectors when the first ones are added."""
        if self.state.facts:
            return
        check_schemas(schemas)
        settings = self.index.cluster.request("GET", f"/{self._generation}/_settings", flat_settings="true")
        graph = next(iter(settings.values()))["settings"].get("index.knn") == "true"
        field: dict[str, Any] = {"type": "knn_vector", "dimension": sum(schema.dim for schema in schemas)}
        if graph:
            field["method"] = {"name": "hnsw", "engine": "lucene", "space_type": space_of(schemas)}
        self.index.cluster.request("PUT", f"/{self._generation}/_mapping", {"properties": {FIELD: field}})
        facts = {"schemas": [asdict(schema) for schema in schemas], "graph": graph}
        self.state = replace(self.state, facts=facts)


class OpenSearchVectorSearcher:
    """Searches an index of vectors in a cluster. Its methods are those of index.vectors' VectorSearcher."""

    def __init__(
        self, cluster: OpenSearchConnection, index: str, schemas: Sequence[PartSchema], graph: bool, phrasings: int
    ) -> None:
        """graph: whether the index has one. phrasings: the maximum number of texts of a question."""
        self._cluster, self._index, self._schemas = cluster, index, schemas
        self._graph, self._phrasings = graph, phrasings

    def search(self, queries: VectorQueries, k: int, allowed: AllowedDocs | None = None) -> Sequence[TopDocs]:
        """Return the k best questions of each query, each by its best phrasing. A query of zeros finds nothing."""
        rows, nonzero = self._join_queries(queries)
        filters = filter_clauses(allowed)
        found = [dict[int, float]()] * len(rows)
        size = min(k, MAX_WINDOW)
        left = [q for q in range(len(rows)) if nonzero[q] and k > 0]
        while left:  # all queries together; again where several rows belong to one question and too few are left
            pending = {q: self._search(rows[q], queries.exclusions[q], filters, size) for q in left}
            hits = {q: search.hits for q, search in pending.items()}
            for q in left:
                found[q] = self._best_scores(hits[q])
            left = [q for q in left if len(found[q]) < k and len(hits[q]) == size < MAX_WINDOW]
            size = min(4 * size, MAX_WINDOW)
        return [sort_hits(best, k) for best in found]

    def find_titles(self, keys: Sequence[int], exclusions: Sequence[Excluded | None]) -> Mapping[int, Sequence[int]]:
        """See TitlesSearcher."""
        return search_titles(self._cluster, self._index, keys, exclusions)

    def score(
        self, queries: VectorQueries, candidates: Sequence[Array], known: Sequence[TopDocs] | None = None
    ) -> list[Floats]:
        """See VectorsSearcher.score."""
        return score_missing(known, candidates, partial(self._score, queries))

    def _score(self, queries: VectorQueries, candidates: Sequence[Array]) -> list[Floats]:
        rows, nonzero = self._join_queries(queries)
        pending = [
            [
                self._score_filtered(rows[q], queries.exclusions[q], some)
                for some in split_docids(docids, self._phrasings)
            ]
            if nonzero[q]
            else []
            for q, docids in enumerate(candidates)
        ]
        scores = []
        for docids, searches in zip(candidates, pending, strict=True):
            found: dict[int, float] = {}
            for search in searches:
                found |= self._best_scores(search.hits)
            scores.append(np.array([found.get(docid, np.nan) for docid in docids.tolist()]))
        return scores

    def best_phrasing(self, queries: VectorQueries, q: int, docid: int) -> int:
        """Return the phrasing of a question that scores best for a query; 0 if it has no vector."""
        rows, _ = self._join_queries(queries)
        hits = self._score_filtered(rows[q], queries.exclusions[q], np.array([docid])).hits
        return int(hits[0]["sort"][2]) if hits else 0

    def _search(
        self, row: Array, excluded: Excluded | None, filters: Sequence[Mapping[str, Any]], size: int
    ) -> PendingSearch:
        clauses = exclusion_clauses(excluded)
        if not self._graph or filters:
            return self._search_exactly(row, filters, clauses, size)
        nearest = {"vector": row.tolist(), "k": size + GRAPH_EXTRA}
        conditions = {"filter": {"bool": {"must_not": clauses}}} if clauses else {}
        return self._send({"knn": {FIELD: {**nearest, **conditions}}}, size)

    def _score_filtered(self, row: Array, excluded: Excluded | None, docids: Array) -> PendingSearch:
        filters = [{"terms": {"docid": docids.tolist()}}]
        return self._search_exactly(row, filters, exclusion_clauses(excluded), len(docids) * self._phrasings)

    def _search_exactly(
        self, row: Array, filters: Sequence[Mapping[str, Any]], excluded: Sequence[Mapping[str, Any]], size: int
    ) -> PendingSearch:
        parameters = {"field": FIELD, "query_value": row.tolist(), "space_type": space_of(self._schemas)}
        script = {"source": "knn_score", "lang": "knn", "params": parameters}
        conditions = {"filter": [{"exists": {"field": FIELD}}, *filters], "must_not": excluded}
        return self._send({"script_score": {"query": {"bool": conditions}, "script": script}}, size)

    def _send(self, query: Mapping[str, Any], size: int) -> PendingSearch:
        order = [{"_score": "desc"}, {"docid": "asc"}, {"phrasing": "asc"}]
        body = {"query": query, "size": size, "sort": order, "_source": False, "track_total_hits": False}
        return self._cluster.search_later(self._index, body)

    def _best_scores(self, hits: Sequence[Mapping[str, Any]]) -> dict[int, float]:
        """Return docid → the score of its best phrasing, from hits that are best first."""
        best: dict[int, float] = {}
        for hit in hits:
            score, docid, _ = hit["sort"]
            best.setdefault(docid, score)
        euclidean = space_of(self._schemas) == "l2"
        return {docid: _distance(score) if euclidean else _dot(score) for docid, score in best.items()}

    def _join_queries(self, queries: VectorQueries) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return the queries as rows (float32), and which of them are not zero."""
        count = len(queries.nonzero)
        if not self._schemas:  # an index without a vector
            return np.zeros((count, 1), np.float32), np.zeros(count, np.bool_)
        parts = zip(queries.vectors.parts, queries.rows, strict=True)
        return np.concatenate([np.float32(_weight(part)) * rows for part, rows in parts], axis=1), queries.nonzero


def check_schemas(schemas: Sequence[PartSchema]) -> None:
    """Raises SettingsError for vectors that a cluster cannot hold."""
    euclidean = [schema.metric == "euclidean" for schema in schemas]
    if any(schema.sparse for schema in schemas):
        problem = "sparse vectors"
    elif any(euclidean) and len(schemas) > 1:
        problem = "vectors with a Euclidean part and others"
    elif sum(schema.dim for schema in schemas) > MAX_DIMENSION:
        problem = f"vectors of more than {MAX_DIMENSION} numbers"
    else:
        return
    raise SettingsError(f"OpenSearch cannot hold {problem}; choose another encoder, or rank without --engine")


def space_of(schemas: Sequence[PartSchema]) -> str:
    """Return the k-NN plugin's name for the metric."""
    return "l2" if schemas[0].metric == "euclidean" else "innerproduct"


def join_documents(parts: Sequence[VectorPart], storage: Storage) -> NDArray[np.float32]:
    """Return each document's parts as one row of float32, rounded as the local index stores them."""
    stored = (DensePart.from_part(part, storage) for part in parts)
    return np.concatenate([part.decode_rows(np.arange(len(parts[0]))) for part in stored], axis=1)


def _weight(part: VectorPart) -> float:
    return 1.0 if part.metric == "euclidean" else float(part.weight)


def _dot(score: float) -> float:
    """Return the dot product behind the plugin's score, which is above 0 for every product."""
    return score - 1 if score >= 1 else 1 - 1 / score


def _distance(score: float) -> float:
    """Return minus the Euclidean distance behind the plugin's score 1 / (1 + squared distance)."""
    return -float(np.sqrt(max(1 / score - 1, 0.0)))
