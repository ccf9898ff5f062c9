"""The quality of a network during training: a measure on dev queries, by exact ranking."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askalike import Run, VectorPart, Vectors, evaluate
from askalike.plugin.features import Ints
from askalike.plugin.training import Qrels
from askalike_learning.features import FeatureRows
from askalike_learning.networks import Network
from askalike_learning.trained_network import encode_rows, score_pairs

DEPTH = 100
QUERIES_PER_BLOCK = 256


@dataclass(frozen=True, slots=True)
class DevSet:
    """Dev queries, documents and judgements. A query's own document counts only if judged relevant (a title's body)."""

    rows: FeatureRows
    """The features of the queries, then those of the documents."""
    query_ids: Sequence[str]
    own_ids: Sequence[str]
    """The id of each query's own document, or an id that no document has."""
    document_ids: Sequence[str]
    documents_are_answers: bool
    qrels: Qrels
    candidates: Mapping[str, Sequence[str]] | None = None

    def evaluate(self, network: Network, measure: str) -> float:
        """Return the measure's mean over the dev queries, from 0 to 1."""
        n = len(self.query_ids)
        is_answer = (np.arange(n + len(self.document_ids)) >= n) & self.documents_are_answers
        vectors = encode_rows(network, self.rows, is_answer)
        run = self._rank_by_vectors(vectors) if network.indexable else self._rank_pairwise(network, vectors)
        return evaluate(run, self.qrels, [measure]).means[measure]

    def _rank_pairwise(self, network: Network, vectors: Vectors) -> Run:
        """Rank candidates only; without any, the relevant documents and the first other ones."""
        index_by_id = {id: n for n, id in enumerate(self.document_ids)}
        columns = {}
        for number, (query, own) in enumerate(zip(self.query_ids, self.own_ids, strict=True)):
            pool = self._select_candidates(query, index_by_id)
            if pool is None:
                ids = dict.fromkeys([*self.qrels.get(query, ()), *self.document_ids[:DEPTH]])
                pool = np.array([index_by_id[id] for id in ids if id in index_by_id and id != own], np.int64)
            row = np.full(len(self.document_ids), -np.inf, np.float32)
            row[pool] = score_pairs(network, vectors, np.array([number]), pool + len(self.query_ids))[0]
            columns[query] = self._take_best(row, pool)
        return Run(columns)

    def _rank_by_vectors(self, vectors: Vectors) -> Run:
        n = len(self.query_ids)
        index_by_id = {id: n for n, id in enumerate(self.document_ids)}
        columns = {}
        queries, documents = slice_vectors(vectors, 0, n), slice_vectors(vectors, n, len(vectors))
        for start in range(0, n, QUERIES_PER_BLOCK):
            block = compute_scores(slice_vectors(queries, start, start + QUERIES_PER_BLOCK), documents)
            numbers = range(start, start + len(block))
            for query, own, row in ((self.query_ids[i], self.own_ids[i], block[i - start]) for i in numbers):
                if not self.documents_are_answers and own in index_by_id and not self.qrels.get(query, {}).get(own):
                    row[index_by_id[own]] = -np.inf
                columns[query] = self._take_best(row, self._select_candidates(query, index_by_id))
        return Run(columns)

    def _select_candidates(self, query: str, index_by_id: Mapping[str, int]) -> Ints | None:
        if self.candidates is None:
            return None
        return np.array([index_by_id[id] for id in self.candidates.get(query, ()) if id in index_by_id], np.int64)

    def _take_best(self, row: NDArray[np.float32], pool: Ints | None) -> tuple[list[str], NDArray[np.float64]]:
        if pool is None:
            depth = min(DEPTH, len(row))
            pool = np.sort(np.argpartition(-row, depth - 1)[:depth])
        order = pool[np.argsort(-row[pool], kind="stable")]
        order = order[np.isfinite(row[order])]
        return [self.document_ids[n] for n in order], row[order].astype(np.float64)


def slice_vectors(vectors: Vectors, start: int, end: int) -> Vectors:
    """Return the vectors of the texts `start:end`."""
    return Vectors(tuple(VectorPart(part.values[start:end], part.metric, part.weight) for part in vectors.parts))


def compute_scores(left: Vectors, right: Vectors) -> NDArray[np.float32]:
    """Return the scores of all pairs of texts, (n, m): the weighted sum over the parts."""
    parts = zip(left.parts, right.parts, strict=True)
    total: NDArray[np.float32] = sum(np.float32(x.weight) * _score_part(x, y) for x, y in parts)  # type: ignore[assignment]
    return total


def _score_part(left: VectorPart, right: VectorPart) -> NDArray[np.float32]:
    products = left.values @ right.values.T
    products = products.toarray() if hasattr(products, "toarray") else products
    if left.metric == "dot":
        return products  # type: ignore[no-any-return]
    x = _squared_norms(left)[:, None]
    y = _squared_norms(right)
    if left.metric == "cosine":
        return products / np.sqrt(np.maximum(x, 1e-16)) / np.sqrt(np.maximum(y, 1e-16))  # type: ignore[no-any-return]
    return -np.sqrt(np.maximum(x + y - 2 * products, 0))  # type: ignore[no-any-return]


def _squared_norms(part: VectorPart) -> NDArray[np.float32]:
    squares = part.values * part.values if isinstance(part.values, np.ndarray) else part.values.multiply(part.values)
    return np.asarray(squares.sum(1), np.float32).ravel()
