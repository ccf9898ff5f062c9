"""Measuring and choosing thresholds."""

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

from askalike.calibration.thresholds import (
    MIN_HITS_ABOVE,
    choose_threshold,
    find_lowest_threshold,
    measure_threshold,
    measure_thresholds,
)
from askalike.evaluation.intervals import BinomialProportion


def test_by_hand():
    row = measure_threshold(np.array([0.9, 0.8, 0.3]), np.array([True, False, True]), 5, 0.8)
    assert (row.precision, row.recall, row.coverage) == (
        BinomialProportion(1, 2),
        BinomialProportion(1, 5),
        BinomialProportion(2, 5),
    )
    no_hit = measure_threshold(np.array([0.9]), np.array([True]), 1, 0.95)
    assert (no_hit.precision.value, no_hit.precision.interval) == (0, (0, 1))


def test_the_lowest_threshold_with_the_precision():
    p = np.repeat([0.95, 0.9, 0.4], 40)
    right = np.r_[np.ones(40), np.ones(34), np.zeros(6), np.zeros(40)].astype(bool)
    assert find_lowest_threshold(p, right, 0.9) == 0.9
    assert find_lowest_threshold(p, right, 0.93) == 0.95
    assert find_lowest_threshold(p, right, 0.99) is None  # the hits reach it, the probabilities do not
    assert find_lowest_threshold(p, np.zeros(120, bool), 0.5) is None


def test_a_few_lucky_hits_make_no_threshold():
    p = np.r_[np.full(MIN_HITS_ABOVE - 1, 0.99), np.full(100, 0.2)]
    assert find_lowest_threshold(p, p > 0.5, 0.9) is None
    assert find_lowest_threshold(np.r_[p, 0.99], np.r_[p, 0.99] > 0.5, 0.9) == 0.99


def test_threshold_is_measured_on_other_folds():
    rng = np.random.default_rng(0)
    p = rng.random(2_000)
    right, fold = rng.random(2_000) < p, rng.integers(5, size=2_000)
    choice = choose_threshold(p, right, fold, 2_500, 0.9)
    assert choice.in_sample.precision.value >= 0.9
    assert choice.cross_validated.interval[0] < 0.9 < choice.cross_validated.interval[1]
    assert choice.in_sample.coverage.n == 2_500
    out_of_reach = choose_threshold(p / 2, right, fold, 2_500, 0.9)
    assert (out_of_reach.threshold, out_of_reach.in_sample, out_of_reach.cross_validated.n) == (None, None, 0)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=40))
def test_higher_thresholds_show_less(hits):
    p, right = np.array([x for x, _ in hits]), np.array([r for _, r in hits], bool)
    rows = measure_thresholds(p, right, len(hits) + 3)
    for low, high in itertools.pairwise(rows):
        assert high.coverage.count <= low.coverage.count
        assert high.recall.count <= low.recall.count
    assert rows[0].coverage.count == len(hits)


@pytest.mark.parametrize("n", [0, 1, 29])
def test_few_hits_make_no_threshold(n):
    assert find_lowest_threshold(np.ones(n), np.ones(n, bool), 0.5) is None
