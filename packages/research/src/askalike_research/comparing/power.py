"""How large a difference has to be, to be found on these queries."""

from scipy.stats import norm

from askalike.plugin.measuring import ALPHA, SystemPair

POWER = 0.8
"""The probability with which a detectable difference is found."""


def significant_difference(pair: SystemPair) -> float:
    """Return the smallest difference that is significant by itself (p < ALPHA), given how these two systems vary.

    It is half the width of the difference's 95 % interval, so it counts queries, and seeds if there are several. With
    Holm's correction over many pairs, more is needed.
    """
    return (pair.high - pair.low) / 2


def detectable_difference(pair: SystemPair, power: float = POWER) -> float:
    """Return the true difference that such a comparison finds with this probability.

    By the normal approximation: (z(1 − ALPHA / 2) + z(power)) standard errors. It says nothing about the difference
    that was found, only about the size of the experiment.
    """
    two_sided = norm.ppf(1 - ALPHA / 2)
    return float(significant_difference(pair) * (two_sided + norm.ppf(power)) / two_sided)
