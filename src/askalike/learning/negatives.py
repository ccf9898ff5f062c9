"""Negatives of pairs: drawn at random, judged irrelevant, or mined from a ranker's run with guards."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askalike.core.types import Run
from askalike.core.values import format_count
from askalike.learning.examples import Examples, Indices, TrainingTexts, get_pair_clusters
from askalike.learning.settings import NegativesSettings

MAX_REDRAWS = 10
"""Number of redraws if a negative is of the pair's own cluster; after these the pair gets none."""


def add_random_negatives(examples: Examples, settings: NegativesSettings, seed: int, epoch: int) -> Examples:
    """Return the examples of an epoch, with its random negatives; those of all epochs are the same without redraw."""
    if not settings.random:
        return examples
    drawn = draw_negatives(examples, settings.random, seed, epoch if settings.redraw else 0)
    return replace(examples, negatives=np.concatenate((examples.negatives, drawn), 1))


def draw_negatives(texts: TrainingTexts | Examples, count: int, seed: int, epoch: int = 0) -> Indices:
    """Return, for each pair, random texts of other clusters and the positive's kind: (pairs, count), −1 for none."""
    random = np.random.default_rng((seed, count, epoch))
    kinds, pair_clusters = texts.kinds, get_pair_clusters(texts)
    negatives = np.full((len(texts.query), count), -1, np.int64)
    for kind in np.unique(kinds[texts.positive]):
        pairs = np.flatnonzero(kinds[texts.positive] == kind)
        pool, clusters = np.flatnonzero(kinds == kind), pair_clusters[pairs]
        drawn = random.choice(pool, (len(pairs), count))
        for _ in range(MAX_REDRAWS):
            in_cluster = _is_own(texts.clusters[drawn], clusters)
            drawn[in_cluster] = random.choice(pool, int(in_cluster.sum()))
        drawn[_is_own(texts.clusters[drawn], clusters)] = -1
        negatives[pairs] = drawn
    return negatives


def _is_own(drawn: Indices, clusters: Indices) -> NDArray[np.bool_]:
    """Return whether each drawn cluster, (pairs, m), is one of its pair's, (pairs, 2)."""
    return np.asarray((drawn[:, :, None] == clusters[:, None]).any(2))


def select_negatives(texts: TrainingTexts, ids_by_query: Mapping[str, Sequence[str]], count: int) -> Indices:
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


def mine_negatives(texts: TrainingTexts, run: Run, settings: NegativesSettings) -> tuple[Indices, MiningReport]:
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
    scores, positive = column.tolist(), texts.texts[texts.positive[pair]].id
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
