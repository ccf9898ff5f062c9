"""Training pairs as arrays: distinct texts, pairs and negatives by the numbers of their texts, and their batches."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askalike.core.types import Answer, TrainingPair
from askalike.text.features import FeatureRows, Text

Indices = NDArray[np.int64]
ANSWER = 0
"""The kind of a text that is an answer."""
BATCHES_PER_POOL = 50
"""Number of batches sorted by length together, which saves padding but still mixes pairs in every epoch."""


class TrainingTexts(NamedTuple):
    """The distinct texts of pairs, and others to draw negatives from."""

    texts: Sequence[Text]
    index_by_id: dict[str, int]
    """Id → the number of the first text with it."""
    clusters: Indices
    """(texts,), the cluster of each text; a text in no pair and no known cluster has one of its own."""
    query: Indices
    positive: Indices
    """(pairs,) like `query`, the numbers of each pair's texts."""

    @property
    def kinds(self) -> Indices:
        """(texts,), ANSWER, 1 for a body alone, 2 for a question."""
        return np.array([ANSWER if isinstance(text, Answer) else 1 if not text.title else 2 for text in self.texts])


@dataclass(frozen=True, slots=True)
class Examples:
    """The training data of a network: features, kinds, clusters, ids of texts, (texts,), and pairs of their numbers.

    query, positive: (pairs,). negatives: (pairs, m), −1 for none, without random ones. relevant: (pairs,), False for a
    pair judged irrelevant; None: all are.
    """

    rows: FeatureRows
    kinds: Indices
    query: Indices
    positive: Indices
    clusters: Indices
    negatives: Indices
    ids: Sequence[str]
    relevant: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.query)


def get_pair_clusters(texts: TrainingTexts | Examples, pairs: Indices | slice = slice(None)) -> Indices:
    """Return the clusters of each pair's query and positive, (pairs, 2): no negative of the pair is of these."""
    return texts.clusters[np.stack((texts.query[pairs], texts.positive[pairs]), 1)]


def collect_texts(
    pairs: Sequence[TrainingPair], others: Iterable[Text] = (), known_clusters: Mapping[str, str] | None = None
) -> TrainingTexts:
    """Return the texts of pairs, then `others`, each once; texts with one id are in one cluster even if they differ.

    A query that is the positive of no pair may be of several clusters, those of what answers it; the last one counts.
    known_clusters: the id of a question → its cluster, also of those in no pair.
    """
    texts: dict[tuple[str, str, str], Text] = {}
    for text in (*(text for pair in pairs for text in (pair.query, pair.positive)), *others):
        texts.setdefault(_text_key(text), text)
    numbers = {key: n for n, key in enumerate(texts)}
    cluster_by_id = {_text_key(pair.query)[:2]: pair.query_cluster or pair.cluster for pair in pairs}
    cluster_by_id |= {_text_key(pair.positive)[:2]: pair.cluster for pair in pairs}
    known = known_clusters or {}
    clusters = [cluster_by_id.get((kind, id), known.get(id) if kind == "Question" else None) for kind, id, _ in texts]
    names = {name: n for n, name in enumerate(dict.fromkeys(filter(None, clusters)))}
    return TrainingTexts(
        list(texts.values()),
        {id: n for (_, id, _), n in reversed(numbers.items())},
        np.array([names.get(cluster or "", len(names) + n) for n, cluster in enumerate(clusters)], np.int64),
        np.array([numbers[_text_key(pair.query)] for pair in pairs], np.int64),
        np.array([numbers[_text_key(pair.positive)] for pair in pairs], np.int64),
    )


def _text_key(text: Text) -> tuple[str, str, str]:
    """Return a text's key: texts with the same id may differ (a title, and the body of the same question)."""
    content = text.body if isinstance(text, Answer) else f"{text.title}\n{text.body}"
    return type(text).__name__, text.id, content


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
