"""The clusters of qrels, and the assignment of whole clusters to parts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from askalike.core.types import Qrels
from askalike.store import connected_components


def clusters_from_qrels(qrels: Qrels) -> dict[str, str]:
    """Map each query and each relevant document to its cluster, which contains all documents relevant to a query."""
    pairs = ((query, document) for query, grades in qrels.items() for document, grade in grades.items() if grade > 0)
    loops = ((query, query) for query in qrels)
    return connected_components((*pairs, *loops))


def assign_folds(queries: Iterable[str], cluster_of: Mapping[str, str], n_folds: int, seed: int = 0) -> list[list[str]]:
    """Divide queries into folds of about equal size, by whole clusters; the seed orders clusters of equal size."""
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
    """Yield the part of each cluster, given their sizes in queries: the part that is farthest below its share."""
    filled = [0] * len(shares)
    for size in sizes:
        part = min(range(len(shares)), key=lambda n: filled[n] / shares[n])
        filled[part] += size
        yield part
