"""Pairs of questions with the probability that both ask the same: from hits to pairs, and from pairs to clusters."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from askalike.calibration.calibration import Calibration
from askalike.calibration.curves import Floats, shift_prior

MIN_PROBABILITY = 0.05
"""The probability below which a pair is dropped."""
MIN_COHESION = 0.5
"""The share of the pairs between two clusters that must be linked for the clusters to be joined."""
PairProbabilities = dict[tuple[str, str], float]
"""(an id, a greater id) → the probability that both ask the same."""


class NeighbourLink(NamedTuple):
    """A hit of a question, with its score and probability in an archive like the calibration's queries."""

    question_id: str
    hit_id: str
    probability: float
    score: float


def pair_key(one: str, other: str) -> tuple[str, str]:
    """Return the key of two questions in PairProbabilities."""
    return min(one, other), max(one, other)


def link_hits(calibration: Calibration, id: str, hit_ids: Sequence[str], features: Floats) -> list[NeighbourLink]:
    """Return a question's links to its hits, best first. features: (hits, columns)."""
    probabilities, scores = calibration.curve_probabilities(features).tolist(), features[:, 0].tolist()
    return [NeighbourLink(id, *hit) for hit in zip(hit_ids, probabilities, scores, strict=True)]


def combine_links(links: Iterable[tuple[str, str, float]], calibration: Calibration, rate: float) -> PairProbabilities:
    """Return the probability of each linked pair in the archive.

    links: (question id, hit id, probability), each direction at most once. The probability of a pair is the mean over
    the directions in which one finds the other. It is then shifted from the calibration's queries, which have a
    duplicate, to an archive in which `rate` of the questions have one.
    """
    directions: dict[tuple[str, str], list[float]] = {}
    for question_id, hit_id, probability in links:
        directions.setdefault(pair_key(question_id, hit_id), []).append(probability)
    means = np.array([sum(both) / len(both) for both in directions.values()], np.float64)
    return dict(zip(directions, shift_prior(means, calibration.base_rate, rate).tolist(), strict=True))


def cluster_pairs(pairs: PairProbabilities, min_probability: float) -> list[frozenset[str]]:
    """Return the clusters of two and more questions that pairs of at least a probability link, by their least id.

    Pairs are taken by falling probability, ties by ids, so their order does not matter. A pair whose clusters are too
    loosely linked is left out, so that a chain of single links does not join a whole archive.
    """
    linked = {pair: p for pair, p in pairs.items() if p >= min_probability}
    cluster_of: dict[str, set[str]] = {id: {id} for pair in linked for id in pair}
    for one, other in sorted(linked, key=lambda pair: (-linked[pair], pair)):
        first, second = cluster_of[one], cluster_of[other]
        if first is not second and cohesion(linked, first, second) >= MIN_COHESION:
            first |= second
            for id in second:
                cluster_of[id] = first
    clusters = {min(members): frozenset(members) for members in cluster_of.values() if len(members) > 1}
    return [clusters[least_id] for least_id in sorted(clusters)]


def cohesion(linked: Mapping[tuple[str, str], float], first: Iterable[str], second: Iterable[str]) -> float:
    """Return the share of the pairs between two clusters that is linked."""
    is_linked = [pair_key(a, b) in linked for a in first for b in second]
    return sum(is_linked) / len(is_linked)


def mean_link_probability(pairs: PairProbabilities, members: Iterable[str]) -> float:
    """Return the mean probability of the pairs within a cluster that have one."""
    probabilities = [pairs[pair] for pair in combinations(sorted(members), 2) if pair in pairs]
    return sum(probabilities) / len(probabilities)
