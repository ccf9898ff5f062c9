"""Proportions and their Wilson intervals."""

import pytest

from askalike.evaluation.intervals import BinomialProportion, wilson_interval


def test_by_hand():
    assert wilson_interval(0, 0) == (0.0, 1.0)
    assert wilson_interval(9, 10) == pytest.approx((0.5958, 0.9821), abs=1e-4)
    assert wilson_interval(0, 10) == (0.0, pytest.approx(0.2775, abs=1e-4))
    assert [round(100 * bound) for bound in wilson_interval(121, 193)] == [56, 69]
    assert BinomialProportion(3, 4).value == 0.75
    assert BinomialProportion(0, 0).value == 0


@pytest.mark.parametrize("n", [1, 2, 7, 30, 1_000, 1_000_000])
def test_the_interval_equals_scipy(n):
    from scipy.stats import binomtest  # slow to import

    for count in {0, 1, n // 3, n // 2, n - 1, n}:
        bounds = binomtest(count, n).proportion_ci(0.95, method="wilson")
        assert wilson_interval(count, n) == pytest.approx((bounds.low, bounds.high), abs=1e-12)
        assert BinomialProportion(count, n).interval == wilson_interval(count, n)
