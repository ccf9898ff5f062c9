"""A ranker's calibrations on an archive, saved as `DIR/calibration/RANKER-DIGEST.json` and `….title.json`.

A `Calibrator` estimates the probabilities of a search's hits while a saved calibration is valid.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field

from askalike.calibration.curves import Curve, shift_balanced_prior
from askalike.calibration.features import CALIBRATION_DEPTH, HitFeatureExtractor
from askalike.core.arrays import Floats
from askalike.core.config import Settings, validate_settings
from askalike.core.errors import ArchiveError, SettingsError, UncalibratedError
from askalike.core.files import folder_errors, write_atomically
from askalike.core.records import Question
from askalike.core.values import format_count
from askalike.rankers import Ranker
from askalike.store import Archive, View

FORMAT = 2
FOLDER = "calibration"
Use = Literal["title", "question"]
"""The kind of query: a title, as people type it, or a whole question, as in `dedupe` and the queue."""
ABSTENTION_SUFFIX = ".abstention.json"
TITLE_SUFFIX = ".title"
"""Part of the file name of a calibration made on titles of questions that have bodies."""
LIKELY_FROM = 0.5
"""Probability from which a hit likely asks the same, unless a threshold was chosen by its precision."""
MAX_DRIFT = 0.1
"""The share of the archive's questions that may be added, changed or deleted before a calibration is stale."""


class ArchiveState(Settings):
    """The state of the archive at a calibration: its last change and the change's date, and the number of questions."""

    change: int
    committed_at: str | None
    questions: int

    @classmethod
    def from_view(cls, view: View) -> Self:
        """Return the current state of the archive."""
        return cls(change=view.change, committed_at=view.change_date(view.change), questions=len(view))

    def stale_reason(self, view: View) -> str | None:
        """Return why measurements of this state are not valid for the current archive; None if they are."""
        if self.change > view.change or self.committed_at != view.change_date(self.change):
            return "it belongs to another archive"
        moved = view.count_changed(self.change) + len(view.deleted_docids(self.change))
        if moved > MAX_DRIFT * self.questions:
            changed = f"{format_count(moved, 'question')} of {self.questions:,} changed since"
            return f"{changed} (added, edited or deleted)"
        return None


class CalibrationQuality(Settings):
    """The measurements of a calibration, on queries with a known duplicate.

    found_by_rank: of the `queries`, those with a right question among the first 1, 2, … hits.
    bins: of first hits, from curves not fitted on their clusters: (mean probability, share that is right, number).
    error, chance: see Reliability.
    """

    queries: int
    found_by_rank: tuple[int, ...]
    bins: tuple[tuple[float, float, int], ...]
    error: float
    chance: float


class Threshold(Settings):
    """The probability below which no hit is shown, and the criterion by which it was chosen."""

    probability: float
    criterion: Literal["precision", "guarantee"]
    share: float = Field(description="the share requested of hits that are right")


class Calibration(Settings):
    """Curves from a hit's features to the probability that it asks the same, and the conditions of their validity."""

    format: int = FORMAT
    ranker: str
    settings: str = Field(description="the ranker's settings, as JSON")
    fingerprint: str = Field("", description="fingerprint of the trained ranker; empty if it is untrained")
    state: ArchiveState
    split: str
    has_bodies: bool = Field(description="whether it was fitted on queries with bodies")
    titles_only: bool = Field(False, description="whether the bodies of its queries were ignored")
    queries: int
    is_sure: bool = Field(
        True,
        description="whether enough of its queries had labels; else a probability is about the least that it can be",
    )  # fmt: skip
    base_rate: float = Field(description="share of first hits that were right")
    first_hit_curve: Curve
    later_hit_curve: Curve
    answerable_curve: Curve | None = Field(
        None,
        description="the probability that a query has a duplicate, from its first hit, if half of the queries have one",
    )  # fmt: skip
    threshold: Threshold | None = None
    prevalence: float = Field(
        1.0, gt=0, le=1, description="share of queries in use that have a duplicate; all fitted queries have one"
    )
    quality: CalibrationQuality | None = None

    @property
    def likely_from(self) -> float | None:
        """The probability from which a hit likely asks the same: the threshold if there is one, else LIKELY_FROM.

        None if the calibration is not sure: scores then decide, as without one.
        """
        if self.threshold:
            return self.threshold.probability
        return LIKELY_FROM if self.is_sure else None

    def retrieval_depth(self, k: int) -> int:
        """Return the number of hits to retrieve to show k, so that no probability depends on k."""
        return max(k, CALIBRATION_DEPTH)

    def curve_probabilities(self, features: Floats) -> Floats:
        """Return decreasing probabilities, (hits,), given a duplicate exists. features: (hits, columns), best first."""
        if not len(features):
            return np.empty(0)
        each = np.concatenate([self.first_hit_curve.predict(features[:1]), self.later_hit_curve.predict(features[1:])])
        return np.minimum.accumulate(each)

    def estimate(self, features: Floats) -> Floats:
        """Return the probabilities, (hits,), if a share of `prevalence` of the queries has a duplicate.

        Each is the probability that the query has a duplicate, from the first hit, times that of the hit being one.
        features: (hits, columns), of the query's first hits, best first.
        """
        each = self.curve_probabilities(features)
        if self.answerable_curve is None or not len(features):
            return each
        return np.asarray(each * shift_balanced_prior(self.answerable_curve.predict(features[:1]), self.prevalence))

    def stale_reason(self, view: View, ranker: Ranker) -> str | None:
        """Return why it is not valid for the current archive and ranker; None if it is."""
        if self.fingerprint != ranker.fingerprint:
            return f"{self.ranker} has been trained again since"
        return self.state.stale_reason(view)

    def save(self, directory: Path) -> Path:
        """Write it into an archive's directory. Return the path of the file. Raises ArchiveError."""
        use: Use = "title" if self.titles_only else "question"
        path = _calibration_path(directory, self.ranker, self.settings, use)
        with folder_errors(path, "free some space or change the directory's permissions"):
            path.parent.mkdir(exist_ok=True)
            write_atomically(path, self.model_dump_json(indent=1) + "\n")
        return path


def load_calibration(archive: Archive, ranker: Ranker, use: Use = "question") -> Calibration | None:
    """Return a ranker's calibration with its settings on an archive, if any; that of the other use if this has none.

    Raises ArchiveError or SettingsError.
    """
    path = next((path for path in _paths_by_fitness(archive, ranker, use) if path.exists()), None)
    if path is None:
        return None
    advice = "calibrate again: askalike calibrate"
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ArchiveError(f"{path}: cannot be read ({error}); {advice}") from None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise ArchiveError(f"{path}: expected a calibration of format {FORMAT}; {advice}")
    calibration = validate_settings(Calibration, values, f"{path}; {advice}")
    if (calibration.ranker, calibration.settings) != (ranker.name, settings_json(ranker.values)):
        raise ArchiveError(f"{path}: belongs to {calibration.ranker} with other settings; {advice}")
    return calibration


def misfit_reason(archive: Archive, ranker: Ranker) -> str | None:
    """Return why no calibration in the archive is this ranker's; None if one is, or if there are none.

    They may be of other settings or rankers, also because another version of askalike has other defaults.
    """
    if any(path.exists() for path in _paths_by_fitness(archive, ranker, "question")):
        return None
    paths = (archive.path / FOLDER).glob("*.json")
    others = sorted({path.name.rpartition("-")[0] for path in paths if not path.name.endswith(ABSTENTION_SUFFIX)})
    if ranker.name in others:
        return "it was made with other settings"
    return f"only {' and '.join(others)} is calibrated" if others else None


def calibration_version(archive: Archive, ranker: Ranker) -> int:
    """Return a number that changes with each new calibration of the ranker; 0 if there is none."""
    paths = _paths_by_fitness(archive, ranker, "question")
    return max((path.stat().st_mtime_ns for path in paths if path.exists()), default=0)


def _paths_by_fitness(archive: Archive, ranker: Ranker, use: Use) -> Sequence[Path]:
    """Return the paths of a ranker's calibrations, the one for a use first."""
    other: Use = "title" if use == "question" else "question"
    settings = settings_json(ranker.values)
    return [_calibration_path(archive.path, ranker.name, settings, name) for name in (use, other)]


def settings_json(values: Mapping[str, Any]) -> str:
    """Return a ranker's settings as JSON with sorted keys."""
    return json.dumps(values, sort_keys=True, default=str)


def _calibration_path(directory: Path, ranker: str, settings: str, use: Use) -> Path:
    suffix = TITLE_SUFFIX if use == "title" else ""
    return directory / FOLDER / f"{ranker}-{hashlib.sha256(settings.encode()).hexdigest()[:12]}{suffix}.json"


class Calibrator:
    """Estimates the probability that a hit asks the same as its query, while the saved calibration is valid."""

    def __init__(self, archive: Archive, ranker: Ranker, saved_calibration: Calibration | None) -> None:
        self._path = archive.path
        self._view = archive.view()
        self._ranker = ranker
        self._saved_calibration = saved_calibration
        self._misfit_reason = misfit_reason(archive, ranker)
        self._features = HitFeatureExtractor(self._view.language, self._view)
        self.differences = self._features.differences
        """Compares titles, and has read those of the last estimates."""
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

    def check_minimum(self, probability: float) -> None:
        """Raise SettingsError for a minimum probability that is none, or without a calibration that is used."""
        if not 0 <= probability <= 1:
            raise SettingsError(f"min_probability must be between 0 and 1, got {probability}")
        if self.calibration is None:
            raise self._uncalibrated_error()

    def estimate(self, query: Question, scores: Floats, hits: Sequence[Question]) -> Floats:
        """Return the probability of each hit, (hits,). It does not depend on the number of hits given.

        scores: (retrieved,), best first, of at least CALIBRATION_DEPTH retrieved documents if that many exist.
        hits: the questions of the first of these scores.
        Uses the saved calibration even if it has just become stale, so that a search is consistently calibrated or not.
        Raises SettingsError if none was saved.
        """
        if self._saved_calibration is None:
            raise self._uncalibrated_error()
        return self._saved_calibration.estimate(self._features.extract(query, scores, hits))

    def _uncalibrated_error(self) -> UncalibratedError:
        reason = f" ({self.stale_reason})" if self.stale_reason else ""
        return UncalibratedError(
            f"{self._path.name}: {self._ranker.name} with these settings is not calibrated{reason}, so there are no "
            "probabilities; run: askalike calibrate"
        )
