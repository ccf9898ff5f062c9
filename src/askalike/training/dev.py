"""How good a network is while it learns: a measure on dev queries, by exact ranking."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askalike.evaluation.measures import evaluate
from askalike.nn._network import Network
from askalike.text.features._features import Rows
from askalike.training.encoding import encoded, scored
from askalike.types import Part, Qrels, Run, Vectors

DEPTH = 100
CHUNK = 256


@dataclass(frozen=True, slots=True)
class Dev:
    """Queries, the documents they rank, and what is relevant. A query does not find
    the document of its own id, unless that is relevant to it (a title, and its body).

    `rows` holds the queries' texts, then the documents'.
    """

    rows: Rows
    queries: Sequence[str]
    documents: Sequence[str]
    answers: bool
    qrels: Qrels
    candidates: Mapping[str, Sequence[str]] | None = None

    def measure(self, network: Network, measure: str) -> float:
        """The measure's mean over the dev queries."""
        n = len(self.queries)
        vectors = encoded(network, self.rows, (np.arange(n + len(self.documents)) >= n) & self.answers)
        run = self._run(vectors) if network.indexable else self._run_of_pairs(network, vectors)
        return evaluate(run, self.qrels, [measure]).means[measure]

    def _run_of_pairs(self, network: Network, vectors: Vectors) -> Run:
        """The candidates alone; where there are none, what is relevant and the first of the others."""
        places = {id: place for place, id in enumerate(self.documents)}
        columns = {}
        for number, query in enumerate(self.queries):
            pool = self._pool(query, places)
            if pool is None:
                near = dict.fromkeys([*self.qrels.get(query, ()), *self.documents[:DEPTH]])
                pool = np.array([places[id] for id in near if id in places and id != query], np.int64)
            row = np.full(len(self.documents), -np.inf, np.float32)
            row[pool] = scored(network, vectors, np.array([number]), pool + len(self.queries))[0]
            columns[query] = self._best(row, pool)
        return Run(columns)

    def _run(self, vectors: Vectors) -> Run:
        n = len(self.queries)
        places = {id: place for place, id in enumerate(self.documents)}
        columns = {}
        queries, documents = cut(vectors, 0, n), cut(vectors, n, len(vectors))
        for start in range(0, n, CHUNK):
            block = scores(cut(queries, start, start + CHUNK), documents)
            for query, row in zip(self.queries[start : start + CHUNK], block, strict=True):
                if not self.answers and query in places and not self.qrels.get(query, {}).get(query):
                    row[places[query]] = -np.inf
                columns[query] = self._best(row, self._pool(query, places))
        return Run(columns)

    def _pool(self, query: str, places: Mapping[str, int]) -> NDArray[np.int64] | None:
        if self.candidates is None:
            return None
        return np.array([places[id] for id in self.candidates.get(query, ()) if id in places], np.int64)

    def _best(self, row: NDArray[np.float32], pool: NDArray[np.int64] | None) -> tuple[list[str], NDArray[np.float64]]:
        if pool is None:
            depth = min(DEPTH, len(row))
            pool = np.sort(np.argpartition(-row, depth - 1)[:depth])
        order = pool[np.argsort(-row[pool], kind="stable")]
        order = order[np.isfinite(row[order])]
        return [self.documents[place] for place in order], row[order].astype(np.float64)


def cut(vectors: Vectors, start: int, end: int) -> Vectors:
    """Some of the texts' vectors."""
    return Vectors(tuple(Part(part.values[start:end], part.metric, part.weight) for part in vectors.parts))


def scores(left: Vectors, right: Vectors) -> NDArray[np.float32]:
    """The score of each text with each, (n, m): the weighted sum over the parts."""
    parts = zip(left.parts, right.parts, strict=True)
    total: NDArray[np.float32] = sum(np.float32(x.weight) * _part_scores(x, y) for x, y in parts)  # type: ignore[assignment]
    return total


def _part_scores(left: Part, right: Part) -> NDArray[np.float32]:
    products = left.values @ right.values.T
    products = products.toarray() if hasattr(products, "toarray") else products
    if left.metric == "dot":
        return products  # type: ignore[no-any-return]
    x, y = _squares(left)[:, None], _squares(right)
    if left.metric == "cosine":
        return products / np.sqrt(np.maximum(x, 1e-16)) / np.sqrt(np.maximum(y, 1e-16))  # type: ignore[no-any-return]
    return -np.sqrt(np.maximum(x + y - 2 * products, 0))  # type: ignore[no-any-return]


def _squares(part: Part) -> NDArray[np.float32]:
    squares = part.values * part.values if isinstance(part.values, np.ndarray) else part.values.multiply(part.values)
    return np.asarray(squares.sum(1), np.float32).ravel()
