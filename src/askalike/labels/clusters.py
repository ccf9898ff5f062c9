"""Which texts of an archive ask the same, as far as anybody has said so: the transitive closure of all labels."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from askalike.store.labels import imported_splits, read_labels
from askalike.types import Qrels


@dataclass(frozen=True, slots=True)
class Clusters:
    """The duplicate clusters of an archive, and those among them that hidden splits know of.

    Duplicate links and positive judgements join texts, all of them, hidden or not, also through a question that is no
    longer there: two texts of different clusters are nowhere said to be the same.
    """

    name_by_text: Mapping[str, str]
    """Text → its cluster's name, the least id in it. A text that is not in here is a cluster by itself."""
    held_out: frozenset[str] = frozenset()

    @classmethod
    def read(cls, connection: sqlite3.Connection, held_out_splits: Sequence[str] = ()) -> Self:
        """Those of an archive's database; `hidden` names splits. About a second for 200,000 labels."""
        names = connected_components(_label_edges(connection))
        texts = (label.text_id for split in held_out_splits for label in read_labels(connection, split))
        return cls(names, frozenset(names.get(text, text) for text in texts))

    @property
    def visible_names(self) -> Mapping[str, str]:
        """Text → its cluster's name, of the clusters of at least two texts that no hidden split knows of."""
        sizes = Counter(self.name_by_text.values())
        return {text: name for text, name in self.name_by_text.items() if sizes[name] > 1 and name not in self.held_out}

    def cluster_of(self, text_id: str) -> str:
        """The name of the cluster that a text, by its id, is in."""
        return self.name_by_text.get(text_id, text_id)

    def is_held_out(self, *text_ids: str) -> bool:
        """Whether a hidden split knows of the cluster of one of these texts."""
        return any(self.cluster_of(text) in self.held_out for text in text_ids)


def connected_components(edges: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Node → the least node that chains of edges lead to, for the nodes of all edges, in whatever order they come."""
    parent: dict[str, str] = {}

    def root(node: str) -> str:
        while parent.setdefault(node, node) != node:
            parent[node] = node = parent[parent[node]]
        return node

    for one, other in edges:
        low, high = sorted((root(one), root(other)))
        parent[high] = low
    return {node: root(node) for node in parent}


def clusters_from_qrels(qrels: Qrels) -> dict[str, str]:
    """The cluster of each query and relevant document: a query belongs with all that is relevant to it."""
    pairs = ((query, document) for query, grades in qrels.items() for document, grade in grades.items() if grade > 0)
    alone = ((query, query) for query in qrels)
    return connected_components((*pairs, *alone))


def assign_folds(queries: Iterable[str], cluster_of: Mapping[str, str], n_folds: int, seed: int = 0) -> list[list[str]]:
    """The queries in k folds of about one size, no cluster in two of them: the largest first, where there is room.

    A fold may be empty where there are fewer clusters than folds.
    """
    members: dict[str, list[str]] = {}
    for query in queries:
        members.setdefault(cluster_of.get(query, query), []).append(query)
    order = np.random.default_rng(seed).permutation(len(members))
    clusters = list(members.values())
    parts: list[list[str]] = [[] for _ in range(n_folds)]
    for cluster in sorted((clusters[i] for i in order), key=len, reverse=True):
        _smallest_fold(parts).extend(cluster)
    return parts


def _smallest_fold(folds: Sequence[list[str]]) -> list[str]:
    return min(folds, key=len)


def _label_edges(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    yield from connection.execute("SELECT source, target FROM links WHERE kind = 'duplicate'")
    for split in imported_splits(connection):
        yield from (
            (label.text_id, label.relevant_id)
            for label in read_labels(connection, split)
            if label.relevant_id is not None
        )
