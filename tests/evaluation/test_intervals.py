from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from askalike.evaluation import intervals
from askalike.evaluation.intervals import (
    BinomialProportion,
    bootstrap_means,
    percentile_interval,
    sign_flip_p,
    wilson_interval,
)
from random_examples import examples

DRAWS = 20_000


def exact_p(differences: np.ndarray) -> float:
    """Every one of the 2^n assignments of signs."""
    signs = np.array(list(product((-1, 1), repeat=len(differences))))
    return float((np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9).mean())


@examples(30)
@given(st.lists(st.sampled_from([-1.0, -0.5, -0.1, 0.0, 0.1, 0.3, 0.5, 1.0]), min_size=1, max_size=9))
def test_sign_flips_agree_with_full_enumeration(differences: list[float]) -> None:
    column = np.array(differences)
    p, exact = sign_flip_p(column[:, None], DRAWS, seed=1)[0], exact_p(column)
    assert p == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / DRAWS) + 2 / DRAWS)


def test_columns_are_tested_apart_with_positive_p() -> None:
    columns = np.array([[1.0, 0.0], [1.0, 0.0]] * 20)
    assert sign_flip_p(columns, 999, seed=0).tolist() == [1 / 1000, 1.0]


def test_p_is_uniform_where_nothing_differs() -> None:
    columns = np.random.default_rng(0).normal(size=(40, 500))
    p = sign_flip_p(columns, 1000, seed=0)
    assert (p < 0.05).mean() == pytest.approx(0.05, abs=0.03)
    assert (p < 0.5).mean() == pytest.approx(0.5, abs=0.07)


def test_interval_covers_the_true_mean() -> None:
    columns = np.random.default_rng(0).exponential(size=(100, 400))
    means = bootstrap_means(columns, 1000, seed=0)
    covered = [low <= 1 <= high for low, high in (percentile_interval(column) for column in means.T)]
    assert 0.89 <= np.mean(covered) <= 0.98


def test_bootstrap_has_the_samples_mean_and_error() -> None:
    values = np.array([[0.0], [1.0], [1.0], [4.0]])
    means = bootstrap_means(values, DRAWS, seed=3)
    assert means.shape == (DRAWS, 1)
    assert means.mean() == pytest.approx(1.5, abs=0.02)
    assert means.std() == pytest.approx(values.std() / 2, abs=0.02)
    assert set(np.unique(means * 4)) <= set(range(17))


def test_chunks_cover_all_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "CHUNK_SIZE", 10)
    values = np.arange(7.0)[:, None]
    assert bootstrap_means(values, 25, seed=0).shape == (25, 1)
    assert sign_flip_p(np.ones((7, 1)), 25, seed=0)[0] <= 3 / 26


def test_wilson_by_hand():
    assert wilson_interval(0, 0) == (0.0, 1.0)
    assert wilson_interval(9, 10) == pytest.approx((0.5958, 0.9821), abs=1e-4)
    assert wilson_interval(0, 10) == (0.0, pytest.approx(0.2775, abs=1e-4))
    assert [round(100 * bound) for bound in wilson_interval(121, 193)] == [56, 69]
    assert BinomialProportion(3, 4).value == 0.75
    assert BinomialProportion(0, 0).value == 0


@pytest.mark.parametrize("n", [1, 2, 7, 30, 1_000, 1_000_000])
def test_wilson_equals_scipy(n):
    from scipy.stats import binomtest  # slow to import

    for count in {0, 1, n // 3, n // 2, n - 1, n}:
        bounds = binomtest(count, n).proportion_ci(0.95, method="wilson")
        assert wilson_interval(count, n) == pytest.approx((bounds.low, bounds.high), abs=1e-12)
        assert BinomialProportion(count, n).interval == wilson_interval(count, n)
