"""Thresholds and the line."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askalike.calibration.thresholds import (
    MIN_HITS_ABOVE,
    choose_threshold,
    find_lowest_threshold,
    measure_threshold,
    measure_thresholds,
)
from askalike.evaluation.proportion import BinomialProportion


def test_by_hand():
    step = measure_threshold(np.array([0.9, 0.8, 0.3]), np.array([True, False, True]), 5, 0.8)
    assert (step.precision, step.recall, step.coverage) == (
        BinomialProportion(1, 2),
        BinomialProportion(1, 5),
        BinomialProportion(2, 5),
    )
    nothing = measure_threshold(np.array([0.9]), np.array([True]), 1, 0.95)
    assert (nothing.precision.value, nothing.precision.interval) == (0, (0, 1))


def test_the_line_is_the_lowest_that_holds():
    p = np.repeat([0.95, 0.9, 0.4], 40)
    right = np.r_[np.ones(40), np.ones(34), np.zeros(6), np.zeros(40)].astype(bool)
    assert find_lowest_threshold(p, right, 0.9) == 0.9
    assert find_lowest_threshold(p, right, 0.93) == 0.95
    assert find_lowest_threshold(p, right, 0.99) is None  # what the hits show, the probabilities do not promise
    assert find_lowest_threshold(p, np.zeros(120, bool), 0.5) is None


def test_a_handful_of_lucky_hits_is_no_line():
    p = np.r_[np.full(MIN_HITS_ABOVE - 1, 0.99), np.full(100, 0.2)]
    assert find_lowest_threshold(p, p > 0.5, 0.9) is None
    assert find_lowest_threshold(np.r_[p, 0.99], np.r_[p, 0.99] > 0.5, 0.9) == 0.99


def test_a_line_is_measured_where_it_was_not_picked():
    rng = np.random.default_rng(0)
    p = rng.random(2_000)
    right, fold = rng.random(2_000) < p, rng.integers(5, size=2_000)
    picked = choose_threshold(p, right, fold, 2_500, 0.9)
    assert picked.in_sample.precision.value >= 0.9
    assert picked.cross_validated.interval[0] < 0.9 < picked.cross_validated.interval[1]
    assert picked.in_sample.coverage.n == 2_500
    out_of_reach = choose_threshold(p / 2, right, fold, 2_500, 0.9)
    assert (out_of_reach.threshold, out_of_reach.in_sample, out_of_reach.cross_validated.n) == (None, None, 0)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=40))
def test_higher_thresholds_show_less(hits):
    p, right = np.array([x for x, _ in hits]), np.array([r for _, r in hits], bool)
    steps = measure_thresholds(p, right, len(hits) + 3)
    for low, high in itertools.pairwise(steps):
        assert high.coverage.count <= low.coverage.count
        assert high.recall.count <= low.recall.count
    assert steps[0].coverage.count == len(hits)


@pytest.mark.parametrize("n", [0, 1, 29])
def test_few_hits_pick_no_line(n):
    assert find_lowest_threshold(np.ones(n), np.ones(n, bool), 0.5) is None
