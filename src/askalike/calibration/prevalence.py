"""Carries probabilities over to queries among which fewer are right (Saerens, Latinne and Decaestecker 2002)."""

import numpy as np

from askalike.calibration.curves import Floats

MAX_ITERATIONS = 1_000
MIN_PREVALENCE = 1e-6


def estimate_prevalence(probabilities: Floats, base_rate: float) -> float:
    """The share that is right among hits nobody has judged, by expectation–maximisation.

    probabilities: (n,), by curves that were fitted where the share was `base_rate`. Returns at most `base_rate`, and
    just that where n is 0.
    """
    share = base_rate
    for _ in range(MAX_ITERATIONS if len(probabilities) else 0):
        last, share = (
            share,
            float(np.clip(shift_prior(probabilities, base_rate, share).mean(), MIN_PREVALENCE, base_rate)),
        )
        if abs(share - last) < 1e-9:
            break
    return share


def shift_balanced_prior(probabilities: Floats, prevalence: float) -> Floats:
    """The probability that something was asked before, where `prevalence` of all was; `known`: where half was."""
    return np.ones_like(probabilities) if prevalence == 1 else shift_prior(probabilities, 0.5, prevalence)


def shift_prior(probabilities: Floats, base_rate: float, target_prevalence: float) -> Floats:
    """What probabilities are where `share` of the hits is right instead of `base_rate`; both in (0, 1)."""
    factor = target_prevalence / (1 - target_prevalence) * (1 - base_rate) / base_rate
    return np.asarray(probabilities * factor / (probabilities * factor + 1 - probabilities))
