"""How many questions of an archive have a duplicate in it: an estimate, never below what its labels show."""

from collections import Counter

from askalike.calibration.calibration import Calibration
from askalike.calibration.curves import Floats, estimate_prevalence
from askalike.store import Archive, Clusters

MIN_DUPLICATE_RATE = 0.001
"""The least share that is assumed, since an estimate from few questions can be 0."""


def estimate_duplicate_rate(archive: Archive, calibration: Calibration, first_probabilities: Floats) -> float:
    """Return the estimated share of questions whose first hit asks the same.

    first_probabilities: of the first hits of questions drawn from the whole archive, as the curves give them. Not all
    duplicates are labelled, so that the labelled share of questions, of which the calibration's part finds a duplicate
    first, is a lower bound.
    """
    lowest = max(MIN_DUPLICATE_RATE, calibration.base_rate * _labelled_share(archive))
    estimate = estimate_prevalence(first_probabilities, calibration.base_rate)
    return min(max(estimate, lowest), calibration.base_rate)


def _labelled_share(archive: Archive) -> float:
    """Return the share of questions that are labelled to ask the same as another question of the archive."""
    view, names = archive.view(), Clusters.read(archive).visible_names
    present = [names[id] for id in view.docids(names)]
    sizes = Counter(present)
    return sum(sizes[name] > 1 for name in present) / max(len(view), 1)
