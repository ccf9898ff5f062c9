"""The state of a tuning run: results on disk, from which the next run resumes, and the remaining time."""

import hashlib
import json
import re
import time
from pathlib import Path
from typing import Any

from askalike.core.errors import ArchiveError, SettingsError
from askalike.tuning.trials import TrialMemory

STATE_FOLDER = "tuning"
VALUES_FILE = "values.jsonl"
SECONDS_PER_UNIT = {"s": 1.0, "m": 60.0, "h": 3600.0}
DURATION_PATTERN = re.compile(r"(\d+(?:\.\d+)?)\s*([smh]?)")


def parse_duration(text: str) -> float:
    """Return the seconds of `90s`, `10m` or `1.5h`; a number without a unit is minutes. Raises SettingsError."""
    match = DURATION_PATTERN.fullmatch(text.strip().lower())
    if not match or not float(match[1]):
        raise SettingsError(f"--budget {text!r}: expected a time such as 90s, 10m or 1.5h")
    return float(match[1]) * SECONDS_PER_UNIT[match[2] or "m"]


class Budget:
    """A limit in seconds from its creation. `reserved_share` of it is for the work after the search."""

    def __init__(self, limit_s: float, reserved_share: float = 0.0) -> None:
        self.limit_s = limit_s
        started = time.monotonic()
        self._ends = started + limit_s
        self._search_ends = started + limit_s * (1 - reserved_share)

    @property
    def remaining_s(self) -> float:
        """The seconds left for the search; below 0 if it took longer."""
        return self._search_ends - time.monotonic()

    @property
    def total_remaining_s(self) -> float:
        """The seconds left, including the reserved ones."""
        return self._ends - time.monotonic()


class TuningState(TrialMemory):
    """A trial memory in the folder `DIR/tuning/KEY/`, one JSON line per entry: a run resumes by knowing what was tried.

    KEY is a hash of the archive's content and of every option that matters. `created_indexes` are those of this
    archive; in a copy of it, the indexes of the original do not count. `spent_s`: the seconds of all runs so far.
    """

    def __init__(self, directory: Path, key_values: Any) -> None:
        """Read the entries of earlier runs; a line truncated by a kill is ignored. Raises ArchiveError."""
        super().__init__()
        self.key = hashlib.sha256(json.dumps(key_values, sort_keys=True, default=str).encode()).hexdigest()[:12]
        self.directory, self.folder = directory, directory / STATE_FOLDER / self.key
        self.spent_s = 0.0
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / VALUES_FILE
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            for line in text.split("\n")[:-1]:
                self._load_line(line)
            if not text.endswith("\n"):
                path.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")
        except OSError as error:
            raise self._write_error(error) from None

    def record_index(self, index: Path) -> None:
        self._record("made", str(index.relative_to(self.directory)))

    def record_time(self, activity: str, seconds: float) -> None:
        """Add the seconds of work other than a trial to `spent_s`."""
        self._record(activity, None, seconds)

    def record_loss(self, model: str) -> None:
        """Record that a trained model was not chosen, and is removed."""
        self._record(_loss_key(model), None)

    def has_lost(self, model: str) -> bool:
        """Return whether a trained model was not chosen by an earlier run."""
        return _loss_key(model) in self._records

    def _record(self, name: str, value: Any, seconds: float = 0.0) -> None:
        line = json.dumps({"name": name, "found": value, "seconds": round(seconds, 3)})
        try:
            with open(self.folder / VALUES_FILE, "a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        except OSError as error:
            raise self._write_error(error) from None
        self._load_line(line)

    def _load_line(self, text: str) -> None:
        try:
            line = json.loads(text)
            if line["name"] == "made":
                self.created_indexes.add(self.directory / line["found"])
            self._records[line["name"]] = line["found"]
            self.spent_s += line["seconds"]
        except (ValueError, KeyError, TypeError):
            return

    def _write_error(self, error: OSError) -> ArchiveError:
        return ArchiveError(f"{self.folder}: {error.strerror}; tune stores its state there")


def _loss_key(model: str) -> str:
    return f"lost {model}"
