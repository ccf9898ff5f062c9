"""How large a difference has to be, to be found."""

import numpy as np
import pytest

from askalike.plugin.measuring import SystemPair
from askalike_research.comparing.power import detectable_difference, significant_difference


def make_pair(low: float, high: float) -> SystemPair:
    return SystemPair("a", "b", (low + high) / 2, low, high, 0.5, 0.5, 0, 0, 0, ())


def test_needed_and_detectable_differences_of_an_interval() -> None:
    """An interval of ± 1.96 standard errors of .01; (1.96 + .8416) of them are found in four of five comparisons."""
    pair = make_pair(-0.0096, 0.0296)
    assert significant_difference(pair) == pytest.approx(0.0196)
    assert detectable_difference(pair) == pytest.approx(0.028, abs=1e-4)
    assert detectable_difference(pair, power=0.5) == pytest.approx(0.0196)


def test_detectable_difference_is_found_as_often_as_said() -> None:
    """Of 500 comparisons of 100 queries whose true difference is the detectable one, about 80 % are significant."""
    standard_error = 0.1 / np.sqrt(100)
    pair = make_pair(-1.96 * standard_error, 1.96 * standard_error)
    differences = detectable_difference(pair) + 0.1 * np.random.default_rng(0).standard_normal((500, 100))
    found = np.abs(differences.mean(axis=1)) > significant_difference(pair)
    assert 0.75 < found.mean() < 0.85
