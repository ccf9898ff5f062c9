"""Duplicate clusters, which are the transitive closure of all labels, and how whole clusters are dealt to parts."""

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
    """The duplicate clusters of an archive, and the names of those that held-out splits have labels of.

    Every duplicate link and every positive judgement joins two texts, also those of held-out splits and those through a
    question that was deleted. No label therefore joins two texts of different clusters.
    """

    name_by_text: Mapping[str, str]
    """Text id → its cluster's name, the smallest id in it. A text without an entry is a cluster of its own."""
    held_out: frozenset[str] = frozenset()
    """The names of the clusters with a text in a held-out split."""

    @classmethod
    def read(cls, connection: sqlite3.Connection, held_out_splits: Sequence[str] = ()) -> Self:
        """Read the clusters of an archive's database; 200,000 labels take about a second."""
        names = connected_components(_label_edges(connection))
        texts = (label.text_id for split in held_out_splits for label in read_labels(connection, split))
        return cls(names, frozenset(names.get(text, text) for text in texts))

    @property
    def visible_names(self) -> Mapping[str, str]:
        """Text id → cluster name, for the clusters of at least two texts that are not held out."""
        sizes = Counter(self.name_by_text.values())
        return {text: name for text, name in self.name_by_text.items() if sizes[name] > 1 and name not in self.held_out}

    def cluster_of(self, text_id: str) -> str:
        """Return the name of a text's cluster."""
        return self.name_by_text.get(text_id, text_id)

    def is_held_out(self, *text_ids: str) -> bool:
        """Return whether the cluster of any of these texts is held out."""
        return any(self.cluster_of(text) in self.held_out for text in text_ids)


def connected_components(edges: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Map every node of an undirected graph to the smallest node of its connected component.

    The result does not depend on the order of the edges.
    """
    parent: dict[str, str] = {}

    def root(node: str) -> str:
        while parent.setdefault(node, node) != node:
            parent[node] = node = parent[parent[node]]
        return node

    for left, right in edges:
        low, high = sorted((root(left), root(right)))
        parent[high] = low
    return {node: root(node) for node in parent}


def clusters_from_qrels(qrels: Qrels) -> dict[str, str]:
    """Map each query and each relevant document to its cluster: a query joins everything that is relevant to it."""
    pairs = ((query, document) for query, grades in qrels.items() for document, grade in grades.items() if grade > 0)
    loops = ((query, query) for query in qrels)
    return connected_components((*pairs, *loops))


def assign_folds(queries: Iterable[str], cluster_of: Mapping[str, str], n_folds: int, seed: int = 0) -> list[list[str]]:
    """Divide queries into folds of about equal size, each cluster whole in one fold.

    The largest clusters are dealt first; the seed orders clusters of one size. With fewer clusters than folds some
    folds are empty.
    """
    members: dict[str, list[str]] = {}
    for query in queries:
        members.setdefault(cluster_of.get(query, query), []).append(query)
    clusters = list(members.values())
    order = np.random.default_rng(seed).permutation(len(clusters))
    largest_first = sorted((clusters[i] for i in order), key=len, reverse=True)
    folds: list[list[str]] = [[] for _ in range(n_folds)]
    for cluster, fold in zip(largest_first, deal_clusters(map(len, largest_first), [1.0] * n_folds), strict=True):
        folds[fold].extend(cluster)
    return folds


def deal_clusters(sizes: Iterable[int], shares: Sequence[float]) -> Iterator[int]:
    """Yield the number of the part that each cluster goes to: the one that is farthest below its share so far.

    sizes: the number of queries in each cluster, in the order in which the clusters are dealt.
    """
    filled = [0] * len(shares)
    for size in sizes:
        part = min(range(len(shares)), key=lambda n: filled[n] / shares[n])
        filled[part] += size
        yield part


def _label_edges(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    yield from connection.execute("SELECT source, target FROM links WHERE kind = 'duplicate'")
    for split in imported_splits(connection):
        yield from (
            (label.text_id, label.relevant_id)
            for label in read_labels(connection, split)
            if label.relevant_id is not None
        )
