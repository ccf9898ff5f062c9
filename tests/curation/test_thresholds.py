"""Thresholds and the line."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askalike.curation.thresholds import FEWEST_SHOWN, Share, at, lowest, pick, table


def test_by_hand():
    step = at(np.array([0.9, 0.8, 0.3]), np.array([True, False, True]), 5, 0.8)
    assert (step.precision, step.recall, step.coverage) == (Share(1, 2), Share(1, 5), Share(2, 5))
    nothing = at(np.array([0.9]), np.array([True]), 1, 0.95)
    assert (nothing.precision.value, nothing.precision.interval) == (0, (0, 1))


def test_the_line_is_the_lowest_that_holds():
    p = np.repeat([0.95, 0.9, 0.4], 40)
    right = np.r_[np.ones(40), np.ones(34), np.zeros(6), np.zeros(40)].astype(bool)
    assert lowest(p, right, 0.9) == 0.9
    assert lowest(p, right, 0.93) == 0.95
    assert lowest(p, right, 0.99) is None  # what the hits show, the probabilities do not promise
    assert lowest(p, np.zeros(120, bool), 0.5) is None


def test_a_handful_of_lucky_hits_is_no_line():
    p = np.r_[np.full(FEWEST_SHOWN - 1, 0.99), np.full(100, 0.2)]
    assert lowest(p, p > 0.5, 0.9) is None
    assert lowest(np.r_[p, 0.99], np.r_[p, 0.99] > 0.5, 0.9) == 0.99


def test_a_line_is_measured_where_it_was_not_picked():
    rng = np.random.default_rng(0)
    p = rng.random(2_000)
    right, fold = rng.random(2_000) < p, rng.integers(5, size=2_000)
    picked = pick(p, right, fold, 2_500, 0.9)
    assert picked.here.precision.value >= 0.9
    assert picked.elsewhere.interval[0] < 0.9 < picked.elsewhere.interval[1]
    assert picked.here.coverage.n == 2_500
    out_of_reach = pick(p / 2, right, fold, 2_500, 0.9)
    assert (out_of_reach.probability, out_of_reach.here, out_of_reach.elsewhere.n) == (None, None, 0)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=40))
def test_higher_thresholds_show_less(hits):
    p, right = np.array([x for x, _ in hits]), np.array([r for _, r in hits], bool)
    steps = table(p, right, len(hits) + 3)
    for low, high in itertools.pairwise(steps):
        assert high.coverage.count <= low.coverage.count
        assert high.recall.count <= low.recall.count
    assert steps[0].coverage.count == len(hits)


@pytest.mark.parametrize("n", [0, 1, 29])
def test_few_hits_pick_no_line(n):
    assert lowest(np.ones(n), np.ones(n, bool), 0.5) is None
