"""How similar two runs rank, whatever is relevant: rank-biased overlap, and Kendall's τ."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum
from statistics import fmean

from scipy.stats import kendalltau

from askalike import Run

PERSISTENCE = 0.9
"""RBO's p: the probability that a reader continues to the next rank. With .9, the first ten have 86 % of the weight."""


@dataclass(frozen=True, slots=True)
class RankingAgreement:
    """How similar two systems rank, as means over the queries that both have.

    rbo: rank-biased overlap, from 0 (no document in common) to 1 (equal). tau: Kendall's τ-b over the documents that
    both list, from −1 to 1; None if no query has two of them. queries: their number.
    """

    first: str
    second: str
    rbo: float
    tau: float | None
    queries: int


def compare_rankings(runs: Mapping[str, Run]) -> list[RankingAgreement]:
    """Return the agreement of every pair of runs that have a query in common. runs: by the name of the system."""
    return [
        _compare_pair((first, runs[first]), (second, runs[second]), common)
        for first, second in combinations(runs, 2)
        if (common := [query for query in runs[first] if query in runs[second]])
    ]


def _compare_pair(first: tuple[str, Run], second: tuple[str, Run], queries: Sequence[str]) -> RankingAgreement:
    lists = [(first[1].columns(query)[0], second[1].columns(query)[0]) for query in queries]
    taus = [tau for one, two in lists if (tau := rank_correlation(one, two)) is not None]
    mean = fmean(rank_biased_overlap(one, two) for one, two in lists)
    return RankingAgreement(first[0], second[0], mean, fmean(taus) if taus else None, len(queries))


def rank_biased_overlap(first: Sequence[Hashable], second: Sequence[Hashable], p: float = PERSISTENCE) -> float:
    """Return the rank-biased overlap of two lists without repetitions, extrapolated (Webber et al. 2010, eq. 32).

    The overlap of the shorter list's end is taken to continue; two lists of equal length n: eq. 23.
    """
    short, long = sorted((first, second), key=len)
    if not short:
        return float(not long)
    s, n = len(short), len(long)
    overlaps = [len(set(long[:d]) & set(short[:d])) for d in range(1, n + 1)]
    x_s, x_n = overlaps[s - 1], overlaps[-1]
    agreed = fsum(x / d * p**d for d, x in enumerate(overlaps, 1))
    beyond = fsum(x_s * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    return (1 - p) / p * (agreed + beyond) + ((x_n - x_s) / n + x_s / s) * p**n


def rank_correlation(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return Kendall's τ-b of the ranks of the documents that both lists have; None for fewer than two."""
    rank = {document: i for i, document in enumerate(second)}
    ranks = [rank[document] for document in first if document in rank]
    return float(kendalltau(range(len(ranks)), ranks).statistic) if len(ranks) > 1 else None
