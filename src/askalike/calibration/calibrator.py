"""Estimates the probabilities of a search's hits with the calibration saved for a ranker on an archive."""

from collections.abc import Sequence
from typing import Self

from askalike.calibration.calibration import Calibration, Use, load_calibration, misfit_reason
from askalike.calibration.features import HitFeatureExtractor
from askalike.core.errors import SettingsError, UncalibratedError
from askalike.core.types import Floats, Question
from askalike.rankers import Ranker
from askalike.store import Archive


class Calibrator:
    """Estimates the probability that a hit asks the same as its query, while the saved calibration is valid."""

    def __init__(self, archive: Archive, ranker: Ranker, saved_calibration: Calibration | None) -> None:
        self._path = archive.path
        self._view = archive.view()
        self._ranker = ranker
        self._saved_calibration = saved_calibration
        self._misfit_reason = misfit_reason(archive, ranker)
        self._features = HitFeatureExtractor(self._view.language, self._view)
        self._checked_change: int | None = None
        self._stale_reason: str | None = None

    @classmethod
    def open(cls, archive: Archive, ranker: Ranker, use: Use = "question") -> Self:
        """Load a ranker's calibration for a use, if there is one. Raises ArchiveError or SettingsError."""
        return cls(archive, ranker, load_calibration(archive, ranker, use))

    @property
    def calibration(self) -> Calibration | None:
        """The calibration that is valid for the current archive; None if there is none or it is stale."""
        return None if self.stale_reason else self._saved_calibration

    @property
    def stale_reason(self) -> str | None:
        """Why the saved calibration is not valid, or not this ranker's; None if it is valid or none was saved."""
        if self._saved_calibration is None:
            return self._misfit_reason
        change = self._view.change
        if self._checked_change != change:
            self._stale_reason = self._saved_calibration.stale_reason(self._view, self._ranker)
            self._checked_change = change
        return self._stale_reason

    @property
    def advice(self) -> str | None:
        """Advice on a saved calibration that is not used; None if it is used or none was saved."""
        if not self.stale_reason:
            return None
        lacking = f"the saved calibration is not used, so hits of {self._ranker.name} have no probabilities"
        return f"{lacking}: {self.stale_reason}; run: askalike calibrate {self._path}"

    def min_probability(self, requested: float | None) -> float:
        """Return the minimum probability shown: the requested one, else the threshold, else 0. Raises SettingsError."""
        calibration = self.calibration
        if requested is None:
            return calibration.threshold.probability if calibration and calibration.threshold else 0.0
        if not 0 <= requested <= 1:
            raise SettingsError(f"min_probability must be between 0 and 1, got {requested}")
        if calibration is None:
            raise self._uncalibrated_error()
        return requested

    def estimate(
        self, query: Question, scores: Floats, hits: Sequence[Question], similarities: Floats | None = None
    ) -> Floats:
        """Return the probability of each hit, (hits,). It does not depend on the number of hits given.

        scores: (retrieved,), best first, of at least CALIBRATION_DEPTH retrieved documents if that many exist.
        hits: the questions of the first of these scores.
        similarities: (at least hits,), see Retrieved; None if the ranker has none.
        Uses the saved calibration even if it has just become stale, so that a search is consistently calibrated or not.
        Raises SettingsError if none was saved.
        """
        if self._saved_calibration is None:
            raise self._uncalibrated_error()
        return self._saved_calibration.estimate(self._features.extract(query, scores, hits, similarities))

    def _uncalibrated_error(self) -> UncalibratedError:
        reason = f" ({self.stale_reason})" if self.stale_reason else ""
        return UncalibratedError(
            f"{self._path.name}: {self._ranker.name} with these settings is not calibrated{reason}, so there are no "
            "probabilities; run: askalike calibrate"
        )
