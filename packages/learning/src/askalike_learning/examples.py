"""Training pairs as arrays: distinct texts, pairs by the numbers of their texts, their negatives, and their batches."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askalike import Answer, Run
from askalike.plugin.features import Ints, Text
from askalike.plugin.training import TrainingPair, format_count
from askalike_learning.features import FeatureRows
from askalike_learning.recipes import NegativesSettings

ANSWER = 0
"""The kind of a text that is an answer."""
BATCHES_PER_POOL = 50
"""Number of batches sorted by length together, which saves padding but still mixes pairs in every epoch."""


class TrainingTexts(NamedTuple):
    """The distinct texts of pairs, and others to draw negatives from."""

    texts: Sequence[Text]
    index_by_id: dict[str, int]
    """Id → the number of the first text with it."""
    clusters: Ints
    """(texts,), the cluster of each text; a text in no pair and no known cluster has one of its own."""
    query: Ints
    positive: Ints
    """(pairs,) like `query`, the numbers of each pair's texts."""

    @property
    def kinds(self) -> Ints:
        """(texts,), ANSWER, 1 for a body alone, 2 for a question."""
        return np.array([ANSWER if isinstance(text, Answer) else 1 if not text.title else 2 for text in self.texts])


@dataclass(frozen=True, slots=True)
class Examples:
    """The training data of a network: features, kinds, clusters, ids of texts, (texts,), and pairs of their numbers.

    query, positive: (pairs,). negatives: (pairs, m), −1 for none, without random ones. relevant: (pairs,), False for a
    pair judged irrelevant; None: all are.
    """

    rows: FeatureRows
    kinds: Ints
    query: Ints
    positive: Ints
    clusters: Ints
    negatives: Ints
    ids: Sequence[str]
    relevant: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.query)


def get_pair_clusters(texts: TrainingTexts | Examples, pairs: Ints | slice = slice(None)) -> Ints:
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


def make_batches(examples: Examples, size: int, seed: int, epoch: int, *, separate: bool = False) -> list[Ints]:
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


def _cut_into_batches(pairs: Ints, size: int, clusters: Ints | None) -> list[Ints]:
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


MAX_REDRAWS = 10
"""Number of redraws if a negative is of the pair's own cluster; after these the pair gets none."""


def add_random_negatives(examples: Examples, settings: NegativesSettings, seed: int, epoch: int) -> Examples:
    """Return the examples of an epoch, with its random negatives; those of all epochs are the same without redraw."""
    if not settings.random:
        return examples
    drawn = draw_negatives(examples, settings.random, seed, epoch if settings.redraw else 0)
    return replace(examples, negatives=np.concatenate((examples.negatives, drawn), 1))


def draw_negatives(texts: TrainingTexts | Examples, count: int, seed: int, epoch: int = 0) -> Ints:
    """Return, for each pair, random texts of other clusters and the positive's kind: (pairs, count), −1 for none."""
    random = np.random.default_rng((seed, count, epoch))
    kinds = texts.kinds
    pair_clusters = get_pair_clusters(texts)
    negatives = np.full((len(texts.query), count), -1, np.int64)
    for kind in np.unique(kinds[texts.positive]):
        pairs = np.flatnonzero(kinds[texts.positive] == kind)
        pool = np.flatnonzero(kinds == kind)
        clusters = pair_clusters[pairs]
        drawn = random.choice(pool, (len(pairs), count))
        for _ in range(MAX_REDRAWS):
            in_cluster = _is_own(texts.clusters[drawn], clusters)
            drawn[in_cluster] = random.choice(pool, int(in_cluster.sum()))
        drawn[_is_own(texts.clusters[drawn], clusters)] = -1
        negatives[pairs] = drawn
    return negatives


def _is_own(drawn: Ints, clusters: Ints) -> NDArray[np.bool_]:
    """Return whether each drawn cluster, (pairs, m), is one of its pair's, (pairs, 2)."""
    return np.asarray((drawn[:, :, None] == clusters[:, None]).any(2))


def select_negatives(texts: TrainingTexts, ids_by_query: Mapping[str, Sequence[str]], count: int) -> Ints:
    """Return the first texts of other clusters listed for each pair's query: (pairs, count), −1 for none."""
    negatives = np.full((len(texts.query), count), -1, np.int64)
    for pair, (query, own) in enumerate(zip(texts.query.tolist(), get_pair_clusters(texts), strict=True)):
        ids = ids_by_query.get(texts.texts[query].id, ())
        numbers = [texts.index_by_id[id] for id in ids if id in texts.index_by_id]
        selected = [n for n in numbers if texts.clusters[n] not in own][:count]
        negatives[pair, : len(selected)] = selected
    return negatives


class MiningReport(NamedTuple):
    """The number of a ranker's candidates used as negatives, and of those excluded by each guard."""

    pairs: int
    mined: int
    by_rank: int
    same_cluster: int
    too_similar: int
    """Candidates whose score is too close to the positive's."""
    unknown: int
    """Candidates that are not among the training texts."""
    pairs_without: int
    """Pairs without a mined negative."""

    def __str__(self) -> str:
        return (
            f"mined negatives: {self.mined} for {format_count(self.pairs, 'pair')} ({self.pairs_without} of them "
            f"without); left out: {self.by_rank} by rank, {self.same_cluster} of the same cluster, {self.too_similar} "
            f"too similar to the positive, {self.unknown} not among the training texts"
        )


def mine_negatives(texts: TrainingTexts, run: Run, settings: NegativesSettings) -> tuple[Ints, MiningReport]:
    """Return the top documents of a run for the pairs' queries that pass all guards: (pairs, mined), −1 for none.

    The guards: the rank is from `from_rank` (counted from 0) to before `to_rank`, the cluster is none of the pair's,
    and the score is less than `max_score` times the positive's score, if the run has the positive.
    """
    negatives = np.full((len(texts.query), settings.mined), -1, np.int64)
    counts = dict.fromkeys(("by_rank", "same_cluster", "too_similar", "unknown"), 0)
    for pair, query in enumerate(texts.query.tolist()):
        if texts.texts[query].id in run:
            numbers = _apply_guards(texts, run, pair, settings, counts)
            negatives[pair, : len(numbers)] = numbers
    total, pairs_without = int((negatives >= 0).sum()), int((negatives < 0).all(1).sum())
    return negatives, MiningReport(len(negatives), total, pairs_without=pairs_without, **counts)


def _apply_guards(
    texts: TrainingTexts, run: Run, pair: int, settings: NegativesSettings, counts: dict[str, int]
) -> list[int]:
    ids, column = run.columns(texts.texts[texts.query[pair]].id)
    own = texts.clusters[[texts.query[pair], texts.positive[pair]]]
    scores = column.tolist()
    positive = texts.texts[texts.positive[pair]].id
    limit = settings.max_score * scores[ids.index(positive)] if positive in ids else math.inf
    negatives: list[int] = []
    for rank, (id, score) in enumerate(zip(ids, scores, strict=True)):
        if len(negatives) == settings.mined:
            break
        number = texts.index_by_id.get(id)
        if not settings.from_rank <= rank < settings.to_rank:
            counts["by_rank"] += 1
        elif number is None:
            counts["unknown"] += 1
        elif texts.clusters[number] in own:
            counts["same_cluster"] += 1
        elif score >= limit:
            counts["too_similar"] += 1
        else:
            negatives.append(number)
    return negatives
