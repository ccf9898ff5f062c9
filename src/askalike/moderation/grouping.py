"""Groups of questions that ask the same: grown from the surest pairs, and held together by more than a chain."""

from collections.abc import Iterable, Mapping
from itertools import combinations

from askalike.moderation.neighbours import PairProbabilities

MIN_COHESION = 0.5
"""Two groups become one only where this share of the pairs between them is linked."""


def cluster_pairs(pairs: PairProbabilities, threshold: float) -> list[frozenset[str]]:
    """Groups of two and more, by their least member; pairs below the line do not link.

    The surest pair comes first, ties by ids, so that the order in which pairs come does not matter. A pair whose groups
    are too loosely linked is left out: a chain of single links does not swallow an archive.
    """
    linked = {pair: p for pair, p in pairs.items() if p >= threshold}
    group: dict[str, set[str]] = {id: {id} for pair in linked for id in pair}
    for one, other in sorted(linked, key=lambda pair: (-linked[pair], pair)):
        first, second = group[one], group[other]
        if first is not second and cohesion(linked, first, second) >= MIN_COHESION:
            first |= second
            for id in second:
                group[id] = first
    whole = {min(members): frozenset(members) for members in group.values() if len(members) > 1}
    return [whole[least] for least in sorted(whole)]


def cohesion(linked: Mapping[tuple[str, str], float], first: Iterable[str], second: Iterable[str]) -> float:
    """The share of the pairs between two groups that is linked."""
    between = [(min(a, b), max(a, b)) in linked for a in first for b in second]
    return sum(between) / len(between)


def mean_link_probability(pairs: PairProbabilities, members: Iterable[str]) -> float:
    """The mean probability of the pairs in a group that are known."""
    known = [pairs[pair] for pair in combinations(sorted(members), 2) if pair in pairs]
    return sum(known) / len(known)
