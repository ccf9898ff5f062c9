"""Pairs of questions with the probability that both ask the same, or their similarity; and their clusters."""

from collections.abc import Iterable, Mapping
from itertools import combinations

MIN_PROBABILITY = 0.05
MIN_COHESION = 0.5
"""Minimum share of linked pairs between two clusters to join them."""
Link = tuple[str, str, float]
"""(question id, hit id, value); the links of a question are consecutive, best first."""
PairProbabilities = dict[tuple[str, str], float]
"""(an id, a greater id) → the probability that both ask the same, or their similarity without a calibration."""


def pair_key(one: str, other: str) -> tuple[str, str]:
    """Return the key of two questions in PairProbabilities."""
    return min(one, other), max(one, other)


def cluster_pairs(pairs: PairProbabilities, min_probability: float) -> list[frozenset[str]]:
    """Return clusters of two or more questions linked by pairs of at least `min_probability`, by their smallest id.

    Pairs are processed by descending probability, ties by ids, so their order does not matter. A pair is ignored if
    its clusters are too loosely linked, so that a chain of single links does not join a whole archive.
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
    """Return the share of linked pairs between two clusters."""
    is_linked = [pair_key(a, b) in linked for a in first for b in second]
    return sum(is_linked) / len(is_linked)


def mean_link_probability(pairs: PairProbabilities, members: Iterable[str]) -> float:
    """Return the mean probability of the pairs within a cluster that have one."""
    probabilities = [pairs[pair] for pair in combinations(sorted(members), 2) if pair in pairs]
    return sum(probabilities) / len(probabilities)
