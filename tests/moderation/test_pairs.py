"""From links to pairs, and from pairs to clusters."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from askalike.calibration.curves import estimate_prevalence, shift_prior
from askalike.moderation.pairs import cluster_pairs, cohesion, combine_links, mean_link_probability


def test_a_pair_has_the_mean_of_both_directions_at_the_archives_prevalence():
    calibration = SimpleNamespace(base_rate=0.5)
    links = [("b", "a", 0.9), ("a", "b", 0.6), ("c", "a", 0.75)]
    assert combine_links(links, calibration, 0.5) == pytest.approx({("a", "b"): 0.75, ("a", "c"): 0.75})
    assert combine_links(links[::-1], calibration, 0.2) == pytest.approx({("a", "b"): 3 / 7, ("a", "c"): 3 / 7})
    assert combine_links([], calibration, 0.2) == {}


def test_a_chain_does_not_become_one_cluster():
    names = [f"{n:02}" for n in range(20)]
    chain = dict.fromkeys(pairwise(names), 0.9)
    assert max(map(len, cluster_pairs(chain, 0.5))) <= 3
    clique = {(a, b): 0.9 for a in names for b in names if a < b}
    assert cluster_pairs(clique, 0.5) == [frozenset(names)]
    assert cluster_pairs(clique, 0.95) == []
    two_cliques = {**{("x" + a, "x" + b): 0.9 for a, b in clique}, **clique, ("00", "x00"): 0.8}
    assert max(map(len, cluster_pairs(two_cliques, 0.5))) <= 20


def test_clusters_do_not_depend_on_the_order_of_pairs():
    rng = np.random.default_rng(0)
    pairs = {tuple(sorted(map(str, rng.choice(30, 2, replace=False)))): float(rng.random()) for _ in range(120)}
    shuffled = [list(pairs.items())[i] for i in rng.permutation(len(pairs))]
    assert cluster_pairs(pairs, 0.3) == cluster_pairs(dict(shuffled), 0.3)


def test_cohesion_and_mean_by_hand():
    assert cohesion({("a", "b"): 1.0}, "a", "bc") == 0.5
    assert mean_link_probability({("a", "b"): 0.9, ("b", "c"): 0.5, ("c", "d"): 0.1}, "cab") == pytest.approx(0.7)


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
