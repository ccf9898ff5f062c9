"""Estimates the share of an archive's questions that have a duplicate in it, with the labelled share as lower bound."""

from collections.abc import Sequence

import numpy as np

from askalike.calibration.calibration import Calibration
from askalike.calibration.curves import estimate_prevalence
from askalike.moderation.pairs import Link
from askalike.store import Archive, Clusters

MIN_DUPLICATE_RATE = 0.001
"""Minimum of the estimate, which can be 0 from few questions."""


def estimate_duplicate_rate(archive: Archive, calibration: Calibration, first_links: Sequence[Link]) -> float:
    """Return the estimated share of questions whose first hit asks the same.

    first_links: from questions drawn from the whole archive to their first hits, with the curves' values. Not all
    duplicates are labelled, so the share of first hits with a label is a lower bound.
    """
    probabilities = np.array([value for _, _, value in first_links], np.float64)
    lowest = max(MIN_DUPLICATE_RATE, _labelled_share(archive, first_links))
    estimate = estimate_prevalence(probabilities, calibration.base_rate)
    return min(max(estimate, lowest), calibration.base_rate)


def _labelled_share(archive: Archive, links: Sequence[Link]) -> float:
    """Return the share of links between questions that are labelled to ask the same."""
    names = Clusters.read(archive).visible_names
    n_labelled = sum(id in names and names[id] == names.get(hit) for id, hit, _ in links)
    return n_labelled / max(len(links), 1)
