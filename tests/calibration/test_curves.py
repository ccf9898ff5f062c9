"""Curves: what they recover, that they stay finite, and how their reliability is measured."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from askalike.calibration.curves import (
    IsotonicCurve,
    LogisticCurve,
    ProductCurve,
    logistic_fitter,
)
from askalike.calibration.reliability import log_loss, measure_reliability


def draw_rows(n, seed=0):
    """Return two features, (n, 2), labels, and the exact probabilities 1 / (1 + exp(1 − 2x)) of the first feature."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 2)) * (1, 100)
    exact = 1 / (1 + np.exp(1 - 2 * features[:, 0]))
    return features, rng.random(n) < exact, exact


def test_logistic_curve_recovers_its_labels():
    features, right, exact = draw_rows(20_000)
    curve = logistic_fitter([0, 1])(features, right)
    assert curve.weights == pytest.approx((2, 0), abs=0.06)
    assert curve.intercept == pytest.approx(-1, abs=0.06)
    inside = np.abs(features[:, 0]) < 2
    assert np.abs(curve.predict(features) - exact)[inside].max() < 0.02


@pytest.mark.parametrize("right", [[True] * 20, [False] * 20, [False] * 10 + [True] * 10])
def test_separable_and_one_sided_rows_give_finite_probabilities(right):
    features = np.linspace(-1, 1, 20)[:, None]
    probabilities = logistic_fitter([0])(features, np.array(right)).predict(np.array([[-1e300], [0.0], [1e300]]))
    assert (probabilities > 0).all()
    assert (probabilities < 1).all()


def test_a_product_curve_multiplies():
    rows = np.array([[1.0], [2.0], [3.0]])
    half = IsotonicCurve(columns=(0,), scores=(0.0,), probabilities=(0.5,))
    rising = IsotonicCurve(columns=(0,), scores=(1.0, 3.0), probabilities=(0.0, 1.0))
    assert ProductCurve(curves=(half, rising)).predict(rows).tolist() == [0, 0.25, 0.5]


def test_nothing_is_extrapolated():
    features, right, _ = draw_rows(1_000)
    curve = logistic_fitter([0, 1])(features, right)
    beyond = curve.predict(np.array([[1e6, 0.0], [curve.high[0], 0.0]]))
    assert beyond[0] == beyond[1]


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.booleans()), min_size=1, max_size=30))
def test_curves_are_equal_after_writing_and_reading(rows):
    features = np.array([[score, 0.0] for score, _ in rows])
    right = np.array([r for _, r in rows])
    curve = logistic_fitter([0, 1])(features, right)
    read = LogisticCurve.model_validate_json(curve.model_dump_json())
    assert read.predict(features).tolist() == curve.predict(features).tolist()


def test_exact_probabilities_have_the_error_of_chance_only():
    _features, right, exact = draw_rows(2_000)
    clusters = [str(i // 2) for i in range(len(right))]
    measured = measure_reliability(exact, right, clusters)
    assert (measured.n, measured.clusters, len(measured.bins)) == (2_000, 1_000, 10)
    assert measured.error < 2 * measured.chance < 0.05
    assert measured.skill_interval[0] < measured.skill < measured.skill_interval[1]
    assert measured.skill_interval[0] > 0.2
    assert measured == measure_reliability(exact, right, clusters)


def test_base_rate_has_no_skill():
    right = np.arange(100) % 4 == 0
    clusters = [str(i) for i in range(100)]
    level = measure_reliability(np.full(100, 0.25), right, clusters)
    assert level.skill == pytest.approx(0)
    assert level.skill_interval[0] <= 0
    sure = measure_reliability(np.full(100, 0.95), right, clusters)
    assert sure.error == pytest.approx(0.7)
    assert sure.skill < -1


def test_interval_of_clusters_is_wider_than_of_rows():
    _features, right, exact = draw_rows(300)
    whole = np.repeat(np.arange(300), 5)
    together = measure_reliability(exact[whole], right[whole], [str(i) for i in whole])
    apart = measure_reliability(exact[whole], right[whole], [str(i) for i in range(1_500)])
    assert np.diff(together.skill_interval) > 1.5 * np.diff(apart.skill_interval)


def test_log_loss_by_hand():
    assert log_loss(np.array([0.5, 0.25]), np.array([True, False])) == pytest.approx((np.log(2) - np.log(0.75)) / 2)
