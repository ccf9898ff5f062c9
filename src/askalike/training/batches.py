"""Which pairs go together in a step: texts of like lengths, and never two pairs of one cluster where that matters."""

from collections import defaultdict

import numpy as np

from askalike.training.examples import Examples, Indices

BATCHES_PER_POOL = 50
"""Batches whose pairs are sorted by length together: less padding, and still a different mix every epoch."""


def make_batches(
    examples: Examples, size: int, seed: int, epoch: int, *, separate_clusters: bool = False
) -> list[Indices]:
    """The batches of one epoch, as numbers of pairs, in an order that the seed and the epoch decide.

    apart: no batch has two pairs of one cluster. Pairs of a cluster larger than there are batches then wait: an
    epoch leaves them out, and draws others the next time.
    """
    random = np.random.default_rng((seed, epoch))
    order = random.permutation(len(examples))
    lengths = examples.rows.lengths
    longer = np.maximum(lengths[examples.query], lengths[examples.positive])
    pool = size * BATCHES_PER_POOL
    chunks = [order[start : start + pool] for start in range(0, len(order), pool)]
    ordered = [chunk[np.argsort(longer[chunk], kind="stable")] for chunk in chunks]
    made = [
        batch
        for chunk in ordered
        for batch in _cut_into_batches(chunk, size, examples.clusters if separate_clusters else None)
    ]
    return [made[n] for n in random.permutation(len(made))]


def _cut_into_batches(pairs: Indices, size: int, clusters: Indices | None) -> list[Indices]:
    if clusters is None:
        return [pairs[start : start + size] for start in range(0, len(pairs), size)]
    limit = -(-len(pairs) // size)
    filled: list[list[int]] = [[] for _ in range(limit)]
    first = 0  # the first batch with room
    following: dict[int, int] = defaultdict(int)  # cluster → the batch after the last that has it
    for pair, cluster in zip(pairs.tolist(), clusters[pairs].tolist(), strict=True):
        while first < limit and len(filled[first]) >= size:
            first += 1
        place = max(first, following[cluster])
        while place < limit and len(filled[place]) >= size:
            place += 1
        if place < limit:
            filled[place].append(pair)
            following[cluster] = place + 1
    return [np.array(batch, np.int64) for batch in filled if batch]
