"""A ranker's calibration on an archive, as it is kept: `DIR/calibration/RANKER-DIGEST.json`, plain text."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike.calibration.curves import Curve, Floats, shift_balanced_prior
from askalike.config import Settings, validate_settings
from askalike.errors import ArchiveError
from askalike.rankers import Ranker
from askalike.store.archive import Archive
from askalike.store.view import View

FORMAT = 1
FOLDER = "calibration"
MAX_DRIFT = 0.1
"""A calibration serves until this share of its questions has been added, changed or deleted since."""


class ArchiveState(Settings):
    """The archive's state at a calibration: its last change, when that was made, and how many questions there were."""

    change: int
    made_at: str | None
    questions: int

    @classmethod
    def from_view(cls, view: View) -> Self:
        """The state that an archive is in."""
        return cls(change=view.change, made_at=_made_at(view, view.change), questions=len(view))

    def stale_reason(self, view: View) -> str | None:
        """Why what was measured in this state does not hold for the archive as it is; None where it does."""
        if self.change > view.change or self.made_at != _made_at(view, self.change):
            return "it was made on another archive"
        moved = view.count_changed(self.change) + len(view.deleted_docids(self.change))
        if moved > MAX_DRIFT * self.questions:
            return f"{moved:,} questions were added, changed or deleted since, when there were {self.questions:,}"
        return None


class Threshold(Settings):
    """The probability below which nothing is shown, and what it was picked for: `precision` or `abstention`."""

    probability: float
    of: Literal["precision", "abstention"]
    share: float = Field(
        description="the share asked for: of hits that are right, or of off-topic queries that abstain"
    )


class CalibrationQuality(Settings):
    """What was measured beside the calibration, on queries with a known duplicate, for people who watch over it.

    found: of the `queries`, those with a right question among the first 1, 2, … hits. bins: first hits by their
    probability, (mean probability, share that is right, how many), by curves that saw nothing of their clusters.
    """

    queries: int
    found: tuple[int, ...]
    bins: tuple[tuple[float, float, int], ...]
    error: float
    chance: float


class Calibration(Settings):
    """Curves from a hit's features to the probability that it asks the same, and what they hold for."""

    format: int = FORMAT
    ranker: str
    settings: str = Field(description="the ranker's settings, as JSON")
    weights: str = Field("", description="the fingerprint of what it has learned; empty where it has learned nothing")
    state: ArchiveState
    split: str
    bodies: bool = Field(description="whether the queries it was fitted on had bodies")
    queries: int
    base_rate: float = Field(description="the share of first hits that was right")
    first: Curve
    later: Curve
    known: Curve | None = Field(None, description="of a first hit: whether its query was asked before, where half were")
    line: Threshold | None = None
    prevalence: float = Field(
        1.0,
        gt=0,
        le=1,
        description="the share of what is asked that has a duplicate; of the queries it was fitted on, all",
    )
    measured: CalibrationQuality | None = None

    def curve_probabilities(self, features: Floats) -> NDArray[np.float64]:
        """Of a query's first hits, (hits, FEATURES), best first; a later hit is never more probable than one before."""
        if not len(features):
            return np.empty(0)
        each = np.concatenate([self.first.predict(features[:1]), self.later.predict(features[1:])])
        return np.minimum.accumulate(each)

    def estimate(self, features: Floats) -> NDArray[np.float64]:
        """What is told of a query's first hits, (hits, FEATURES), where `prevalence` of the queries were asked before.

        The first hit tells how likely its query was, and each hit how likely it is a right one then.
        """
        each = self.curve_probabilities(features)
        if self.known is None or not len(features):
            return each
        return np.asarray(each * shift_balanced_prior(self.known.predict(features[:1]), self.prevalence))

    def stale_reason(self, view: View, ranker: Ranker) -> str | None:
        """Why it does not hold for an archive and a ranker as they are; None where it does."""
        if self.weights != model_fingerprint(ranker):
            return f"{self.ranker} has learned something else since"
        return self.state.stale_reason(view)

    def save(self, directory: Path) -> Path:
        """Writes it into an archive's directory; returns where."""
        path = _calibration_path(directory, self.ranker, self.settings)
        path.parent.mkdir(exist_ok=True)
        new = path.with_suffix(".new")
        new.write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")
        new.replace(path)
        return path


def load_calibration(archive: Archive, ranker: Ranker) -> Calibration | None:
    """The ranker's calibration, with just these settings, on an archive; None where none was made.

    Raises ArchiveError where the file is damaged or another askalike's.
    """
    path = _calibration_path(archive.path, ranker.name, settings_json(ranker.values))
    if not path.exists():
        return None
    again = "make it again with: askalike calibrate"
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ArchiveError(f"{path}: cannot be read ({error}); {again}") from None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise ArchiveError(f"{path}: expected a calibration of format {FORMAT}; {again}")
    found = validate_settings(Calibration, values, f"{path}; {again}")
    if (found.ranker, found.settings) != (ranker.name, settings_json(ranker.values)):
        raise ArchiveError(f"{path}: is of {found.ranker} with other settings; {again}")
    return found


def calibration_version(archive: Archive, ranker: Ranker) -> int:
    """A number that changes when the ranker is calibrated anew; 0 where it never was."""
    path = _calibration_path(archive.path, ranker.name, settings_json(ranker.values))
    return path.stat().st_mtime_ns if path.exists() else 0


def model_fingerprint(ranker: Ranker) -> str:
    """Of what a ranker has learned; empty for one that has learned nothing."""
    return str(getattr(ranker, "fingerprint", ""))


def settings_json(values: Mapping[str, Any]) -> str:
    """A ranker's settings as one text, the same for the same settings."""
    return json.dumps(values, sort_keys=True, default=str)


def _calibration_path(directory: Path, ranker: str, settings: str) -> Path:
    return directory / FOLDER / f"{ranker}-{hashlib.sha256(settings.encode()).hexdigest()[:12]}.json"


def _made_at(view: View, change: int) -> str | None:
    row = view.connection.execute("SELECT made_at FROM changes WHERE number = ?", (change,)).fetchone()
    return row[0] if row else None
