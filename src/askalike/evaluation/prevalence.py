"""Carries probabilities over to queries among which fewer are right (Saerens, Latinne and Decaestecker 2002)."""

import numpy as np

from askalike.evaluation.curves import Floats

ROUNDS = 1_000
LEAST = 1e-6


def prevalence(probabilities: Floats, base_rate: float) -> float:
    """The share that is right among hits nobody has judged, by expectation–maximisation.

    probabilities: (n,), by curves that were fitted where the share was `base_rate`. Returns at most `base_rate`, and
    just that where n is 0.
    """
    share = base_rate
    for _ in range(ROUNDS if len(probabilities) else 0):
        last, share = share, float(np.clip(shifted(probabilities, base_rate, share).mean(), LEAST, base_rate))
        if abs(share - last) < 1e-9:
            break
    return share


def before(known: Floats, prevalence: float) -> Floats:
    """The probability that something was asked before, where `prevalence` of all was; `known`: where half was."""
    return np.ones_like(known) if prevalence == 1 else shifted(known, 0.5, prevalence)


def shifted(probabilities: Floats, base_rate: float, share: float) -> Floats:
    """What probabilities are where `share` of the hits is right instead of `base_rate`; both in (0, 1)."""
    factor = share / (1 - share) * (1 - base_rate) / base_rate
    return np.asarray(probabilities * factor / (probabilities * factor + 1 - probabilities))
