import numpy as np
import pytest

from askalike.evaluation.resampling import sign_flip_p
from askalike.evaluation.seeds import estimate_difference, interval_over_seeds


def test_by_hand() -> None:
    """Queries differ by (0, .5, .5, 1): variance 1/6, by 4. Seeds reach .375 and .625: variance 1/32, by 2."""
    first = np.array([[0.0, 0.5, 0.5, 0.5], [0.0, 0.5, 0.5, 1.5]])
    low, high, p = estimate_difference(first, np.zeros((1, 4)))
    assert (low + high) / 2 == pytest.approx(0.5)
    variance = 1 / 24 + 1 / 64
    freedom = variance**2 / ((1 / 24) ** 2 / 3 + (1 / 64) ** 2 / 1)
    t = pytest.importorskip("scipy.stats").t
    assert high - 0.5 == pytest.approx(t.ppf(0.975, freedom) * variance**0.5)
    assert p == pytest.approx(2 * t.sf(0.5 / variance**0.5, freedom))


@pytest.mark.parametrize(("shift", "p"), [(0.0, 1.0), (0.5, 0.0)])
def test_values_without_any_variance(shift: float, p: float) -> None:
    assert estimate_difference(np.full((3, 5), shift), np.zeros((1, 5))) == (shift, shift, p)


def test_two_draws_of_one_system_seldom_differ() -> None:
    """Systems that differ by nothing but their seeds' luck: tested as given, luck is called a difference."""
    rng = np.random.default_rng(0)
    difficulty = rng.normal(0, 1, 400)
    found = np.zeros(2)
    for _ in range(200):
        first, second = (rng.normal(0, 0.1, (3, 1)) + rng.normal(difficulty, 0.5, (3, 400)) for _ in range(2))
        given = sign_flip_p((first.mean(axis=0) - second.mean(axis=0))[:, None], 500, 0)[0]
        found += [given < 0.05, estimate_difference(first, second).p < 0.05]
    assert found[0] / 200 > 0.3
    assert found[1] / 200 < 0.08


def test_interval_of_one_system_is_that_of_its_difference_from_nothing() -> None:
    values = np.array([[0.0, 0.5, 0.5, 0.5], [0.0, 0.5, 0.5, 1.5]])
    assert interval_over_seeds(values) == estimate_difference(values, np.zeros((1, 4)))[:2]
    assert interval_over_seeds(np.full((2, 3), 0.5)) == (0.5, 0.5)
