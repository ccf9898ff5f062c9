"""Texts that stand against a pair: drawn at random, judged irrelevant, or mined from a ranker's run with guards."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from askalike.training.examples import Numbers, Texts
from askalike.training.settings import NegativesSettings
from askalike.types import Run

ROUNDS = 10
"""How often a negative of the pair's own cluster is drawn anew before the pair goes without."""


def drawn(texts: Texts, count: int, seed: int) -> Numbers:
    """`count` random texts for each pair, of its positive's kind and of other clusters: (pairs, count), −1 for none."""
    random = np.random.default_rng((seed, count))
    kinds = texts.kinds
    found = np.full((len(texts.query), count), -1, np.int64)
    for kind in np.unique(kinds[texts.positive]):
        pairs = np.flatnonzero(kinds[texts.positive] == kind)
        pool = np.flatnonzero(kinds == kind)
        found[pairs] = _outside(texts, pairs, pool, count, random)
    return found


def _outside(texts: Texts, pairs: Numbers, pool: Numbers, count: int, random: np.random.Generator) -> Numbers:
    found = random.choice(pool, (len(pairs), count))
    own = texts.pair_clusters[pairs][:, None]
    for _ in range(ROUNDS):
        same = texts.clusters[found] == own
        found[same] = random.choice(pool, int(same.sum()))
    found[texts.clusters[found] == own] = -1
    return found


def named(texts: Texts, by_query: Mapping[str, Sequence[str]], count: int) -> Numbers:
    """The first `count` texts that are named for each pair's query, of other clusters: (pairs, count), −1 for none."""
    found = np.full((len(texts.query), count), -1, np.int64)
    for pair, query in enumerate(texts.query.tolist()):
        numbers = [texts.numbers[id] for id in by_query.get(texts.texts[query].id, ()) if id in texts.numbers]
        apart = [n for n in numbers if texts.clusters[n] != texts.pair_clusters[pair]][:count]
        found[pair, : len(apart)] = apart
    return found


@dataclass(frozen=True, slots=True)
class Audit:
    """What the guards did with a ranker's candidates, and what they cannot see."""

    pairs: int
    kept: int
    by_rank: int
    same_cluster: int
    too_alike: int
    not_there: int
    without: int

    def __str__(self) -> str:
        return (
            f"mined negatives: {self.kept} for {self.pairs} pairs ({self.without} pairs without); left out: "
            f"{self.by_rank} by rank, {self.same_cluster} of the same cluster, {self.too_alike} too much like the "
            f"positive, {self.not_there} not among the training texts"
        )


def mined(texts: Texts, run: Run, settings: NegativesSettings) -> tuple[Numbers, Audit]:
    """The best documents of a run over the pairs' queries that pass every guard: (pairs, mined), −1 for none.

    Guards: ranks from `from_rank` (counted from 0) to before `to_rank`; never of the pair's cluster; a score less
    than `below` times the positive's, where the run has found it.
    """
    found = np.full((len(texts.query), settings.mined), -1, np.int64)
    counts = dict.fromkeys(("by_rank", "same_cluster", "too_alike", "not_there"), 0)
    for pair, (query, positive) in enumerate(zip(texts.query.tolist(), texts.positive.tolist(), strict=True)):
        id = texts.texts[query].id
        if id in run:
            own = texts.pair_clusters[pair]
            numbers = _guarded(texts, run, id, texts.texts[positive].id, own, settings, counts)
            found[pair, : len(numbers)] = numbers
    kept = int((found >= 0).sum())
    return found, Audit(len(found), kept, without=int((found < 0).all(1).sum()), **counts)


def _guarded(
    texts: Texts,
    run: Run,
    query: str,
    positive: str,
    cluster: int,
    settings: NegativesSettings,
    counts: dict[str, int],
) -> list[int]:
    ids, scores = run.columns(query)
    limit = _limit(ids, scores.tolist(), positive, settings)
    kept: list[int] = []
    for rank, (id, score) in enumerate(zip(ids, scores.tolist(), strict=True)):
        if len(kept) == settings.mined:
            break
        number = texts.numbers.get(id)
        if not settings.from_rank <= rank < settings.to_rank:
            counts["by_rank"] += 1
        elif number is None:
            counts["not_there"] += 1
        elif texts.clusters[number] == cluster:
            counts["same_cluster"] += 1
        elif score >= limit:
            counts["too_alike"] += 1
        else:
            kept.append(number)
    return kept


def _limit(ids: Sequence[str], scores: Sequence[float], positive: str, settings: NegativesSettings) -> float:
    """Scores from here on are too much like the positive's; where the run has not found it, none is."""
    return settings.below * scores[ids.index(positive)] if positive in ids else math.inf
