"""Texts that stand against a pair: drawn at random, judged irrelevant, or mined from a ranker's run with guards."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from askalike.training.examples import Indices, TrainingTexts
from askalike.training.settings import NegativesSettings
from askalike.types import Run

MAX_REDRAWS = 10
"""How often a negative of the pair's own cluster is drawn anew before the pair goes without."""


def draw_negatives(texts: TrainingTexts, count: int, seed: int) -> Indices:
    """`count` random texts for each pair, of its positive's kind and of other clusters: (pairs, count), −1 for none."""
    random = np.random.default_rng((seed, count))
    kinds = texts.kinds
    found = np.full((len(texts.query), count), -1, np.int64)
    for kind in np.unique(kinds[texts.positive]):
        pairs = np.flatnonzero(kinds[texts.positive] == kind)
        pool = np.flatnonzero(kinds == kind)
        found[pairs] = _draw_from_other_clusters(texts, pairs, pool, count, random)
    return found


def _draw_from_other_clusters(
    texts: TrainingTexts, pairs: Indices, pool: Indices, count: int, random: np.random.Generator
) -> Indices:
    found = random.choice(pool, (len(pairs), count))
    own = texts.pair_clusters[pairs][:, None]
    for _ in range(MAX_REDRAWS):
        same = texts.clusters[found] == own
        found[same] = random.choice(pool, int(same.sum()))
    found[texts.clusters[found] == own] = -1
    return found


def select_negatives(texts: TrainingTexts, ids_by_query: Mapping[str, Sequence[str]], count: int) -> Indices:
    """The first `count` texts that are named for each pair's query, of other clusters: (pairs, count), −1 for none."""
    found = np.full((len(texts.query), count), -1, np.int64)
    for pair, query in enumerate(texts.query.tolist()):
        numbers = [
            texts.index_by_id[id] for id in ids_by_query.get(texts.texts[query].id, ()) if id in texts.index_by_id
        ]
        apart = [n for n in numbers if texts.clusters[n] != texts.pair_clusters[pair]][:count]
        found[pair, : len(apart)] = apart
    return found


@dataclass(frozen=True, slots=True)
class MiningReport:
    """What the guards did with a ranker's candidates, and what they cannot see."""

    pairs: int
    mined: int
    by_rank: int
    same_cluster: int
    too_alike: int
    not_there: int
    pairs_without: int

    def __str__(self) -> str:
        return (
            f"mined negatives: {self.mined} for {self.pairs} pairs ({self.pairs_without} pairs without); left out: "
            f"{self.by_rank} by rank, {self.same_cluster} of the same cluster, {self.too_alike} too much like the "
            f"positive, {self.not_there} not among the training texts"
        )


def mine_negatives(texts: TrainingTexts, run: Run, settings: NegativesSettings) -> tuple[Indices, MiningReport]:
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
            numbers = _apply_guards(texts, run, id, texts.texts[positive].id, own, settings, counts)
            found[pair, : len(numbers)] = numbers
    kept = int((found >= 0).sum())
    return found, MiningReport(len(found), kept, pairs_without=int((found < 0).all(1).sum()), **counts)


def _apply_guards(
    texts: TrainingTexts,
    run: Run,
    query: str,
    positive: str,
    cluster: int,
    settings: NegativesSettings,
    counts: dict[str, int],
) -> list[int]:
    ids, scores = run.columns(query)
    limit = _find_score_limit(ids, scores.tolist(), positive, settings)
    kept: list[int] = []
    for rank, (id, score) in enumerate(zip(ids, scores.tolist(), strict=True)):
        if len(kept) == settings.mined:
            break
        number = texts.index_by_id.get(id)
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


def _find_score_limit(ids: Sequence[str], scores: Sequence[float], positive: str, settings: NegativesSettings) -> float:
    """Scores from here on are too much like the positive's; where the run has not found it, none is."""
    return settings.below * scores[ids.index(positive)] if positive in ids else math.inf
