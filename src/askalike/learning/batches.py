"""Batches of pairs: texts of similar lengths, and optionally at most one positive per cluster."""

from collections import defaultdict

import numpy as np

from askalike.learning.examples import Examples, Indices

BATCHES_PER_POOL = 50
"""Number of batches sorted by length together, which saves padding but still mixes pairs in every epoch."""


def make_batches(examples: Examples, size: int, seed: int, epoch: int, *, separate: bool = False) -> list[Indices]:
    """Return the batches of one epoch as arrays of pair numbers, in an order determined by the seed and the epoch.

    separate: no batch has two positives of one cluster; if a cluster has more pairs than there are batches, some are
    left out of the epoch.
    """
    random = np.random.default_rng((seed, epoch))
    order = random.permutation(len(examples))
    lengths = examples.rows.lengths
    longer = np.maximum(lengths[examples.query], lengths[examples.positive])
    pool_size = size * BATCHES_PER_POOL
    pools = [order[start : start + pool_size] for start in range(0, len(order), pool_size)]
    by_length = [pool[np.argsort(longer[pool], kind="stable")] for pool in pools]
    clusters = examples.clusters[examples.positive] if separate else None
    batches = [batch for pool in by_length for batch in _cut_into_batches(pool, size, clusters)]
    return [batches[n] for n in random.permutation(len(batches))]


def _cut_into_batches(pairs: Indices, size: int, clusters: Indices | None) -> list[Indices]:
    if clusters is None:
        return [pairs[start : start + size] for start in range(0, len(pairs), size)]
    count = -(-len(pairs) // size)
    batches: list[list[int]] = [[] for _ in range(count)]
    first = 0  # the first batch with room
    next_batch: dict[int, int] = defaultdict(int)  # cluster → the batch after the last one with a pair of the cluster
    for pair, cluster in zip(pairs.tolist(), clusters[pairs].tolist(), strict=True):
        while first < count and len(batches[first]) >= size:
            first += 1
        n = max(first, next_batch[cluster])
        while n < count and len(batches[n]) >= size:
            n += 1
        if n < count:
            batches[n].append(pair)
            next_batch[cluster] = n + 1
    return [np.array(batch, np.int64) for batch in batches if batch]
