"""From links to pairs, and from pairs to clusters."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from askalike.calibration.curves import estimate_prevalence, shift_prior
from askalike.core.records import Link, Question
from askalike.moderation.pairs import (
    ProbableLinker,
    SimilarLinker,
    cluster_pairs,
    cohesion,
    estimate_duplicate_rate,
    mean_link_probability,
)
from askalike.store import Archive


def linker(base_rate=0.5):
    return ProbableLinker(SimpleNamespace(base_rate=base_rate))


def test_pair_has_the_mean_of_both_directions():
    """Found in one direction: as it is. Found in both: the odds are multiplied by 20 over the larger rank."""
    one_way = [("c", "a", 0.75)]
    assert linker().combine_at(0.5, one_way) == pytest.approx({("a", "c"): 0.75})
    assert linker().combine_at(0.2, one_way) == pytest.approx({("a", "c"): 3 / 7})
    both_first = [("b", "a", 0.9), ("a", "b", 0.6), ("c", "a", 0.75)]
    assert linker().combine_at(0.2, both_first) == pytest.approx({("a", "b"): 15 / 16, ("a", "c"): 3 / 7})
    second = [("b", "x", 0.9), ("b", "a", 0.9), ("a", "b", 0.6)]
    assert linker().combine_at(0.2, second)["a", "b"] == pytest.approx(7.5 / 8.5)
    assert linker().combine_at(0.2, []) == {}


def test_the_similarity_of_a_pair_by_hand():
    links = [("b", "a", 0.9), ("a", "b", 0.6), ("c", "a", 1.2)]
    pairs = SimilarLinker(0.4).combine(None, links)
    assert pairs == pytest.approx({("a", "b"): 0.5 + 1 / 3, ("a", "c"): 2 / 3 + 1 / 60})


def test_a_chain_does_not_become_one_cluster():
    names = [f"{n:02}" for n in range(20)]
    chain = dict.fromkeys(pairwise(names), 0.9)
    assert max(map(len, cluster_pairs(chain, 0.5))) <= 3
    clique = {(a, b): 0.9 for a in names for b in names if a < b}
    assert cluster_pairs(clique, 0.5) == [frozenset(names)]
    assert cluster_pairs(clique, 0.95) == []
    two_cliques = {**{("x" + a, "x" + b): 0.9 for a, b in clique}, **clique, ("00", "x00"): 0.8}
    assert max(map(len, cluster_pairs(two_cliques, 0.5))) <= 20


def test_clusters_ignore_the_order_of_pairs():
    rng = np.random.default_rng(0)
    pairs = {tuple(sorted(map(str, rng.choice(30, 2, replace=False)))): float(rng.random()) for _ in range(120)}
    shuffled = [list(pairs.items())[i] for i in rng.permutation(len(pairs))]
    assert cluster_pairs(pairs, 0.3) == cluster_pairs(dict(shuffled), 0.3)


def test_cohesion_and_mean_by_hand():
    assert cohesion({("a", "b"): 1.0}, "a", "bc") == 0.5
    assert mean_link_probability({("a", "b"): 0.9, ("b", "c"): 0.5, ("c", "d"): 0.1}, "cab") == pytest.approx(0.7)


def test_duplicate_share_is_at_least_what_is_labelled(tmp_path):
    """Not what a calibration finds of easier queries, such as rephrasings."""
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert([*(Question(id, id) for id in "abcd"), Link("b", "a", "duplicate")])
        first_links = [("a", "c", 0.01), ("b", "a", 0.01), ("c", "d", 0.01), ("d", "c", 0.01)]
        rate = estimate_duplicate_rate(archive, SimpleNamespace(base_rate=0.9), first_links)
    assert rate == pytest.approx(1 / 4)


def test_the_prevalence_is_recovered():
    rng = np.random.default_rng(0)
    relevant = rng.random(20_000) < 0.05
    x = rng.normal(size=20_000) + 2 * relevant
    probabilities = 1 / (1 + np.exp(2 - 2 * x))  # exact where half are right
    prevalence = estimate_prevalence(probabilities, 0.5)
    assert prevalence == pytest.approx(0.05, abs=0.01)
    assert shift_prior(probabilities, 0.5, prevalence).mean() == pytest.approx(relevant.mean(), abs=0.01)
    assert shift_prior(probabilities, 0.5, 0.5) == pytest.approx(probabilities)
    assert estimate_prevalence(np.empty(0), 0.3) == 0.3
