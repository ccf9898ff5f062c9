"""What belongs together: the clusters that pairs of ids make, and folds that keep each cluster whole."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from askalike.types import Qrels


def components(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Each id's cluster, named by the smallest of its ids: two ids share one if a chain of pairs joins them."""
    parent: dict[str, str] = {}

    def root(id: str) -> str:
        while (up := parent.setdefault(id, id)) != id:
            parent[id] = id = parent.setdefault(up, up)
        return id

    for a, b in pairs:
        low, high = sorted((root(a), root(b)))
        parent[high] = low
    return {id: root(id) for id in parent}


def clusters_of(qrels: Qrels) -> dict[str, str]:
    """The cluster of each query and relevant document: a query belongs with all that is relevant to it."""
    pairs = ((query, document) for query, grades in qrels.items() for document, grade in grades.items() if grade > 0)
    alone = ((query, query) for query in qrels)
    return components((*pairs, *alone))


def folds(queries: Iterable[str], cluster_of: Mapping[str, str], k: int, seed: int = 0) -> list[list[str]]:
    """The queries in k folds of about one size, no cluster in two of them: the largest first, where there is room.

    A fold may be empty where there are fewer clusters than folds.
    """
    members: dict[str, list[str]] = {}
    for query in queries:
        members.setdefault(cluster_of.get(query, query), []).append(query)
    order = np.random.default_rng(seed).permutation(len(members))
    clusters = list(members.values())
    parts: list[list[str]] = [[] for _ in range(k)]
    for cluster in sorted((clusters[i] for i in order), key=len, reverse=True):
        _emptiest(parts).extend(cluster)
    return parts


def _emptiest(parts: Sequence[list[str]]) -> list[str]:
    return min(parts, key=len)
