"""What tuning has found out so far, on disk: a run that was interrupted, or had too little time, goes on from there."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askalike.errors import ArchiveError
from askalike.tuning.candidates import Trial

STATE_FOLDER = "tuning"
VALUES_FILE = "values.jsonl"


class TuningState:
    """`DIR/tuning/KEY/`: one JSON line a thing found out. KEY names the archive's content and all that decides."""

    def __init__(self, directory: Path, key_values: Any) -> None:
        """Reads what is there. A line that a kill has cut short does not count. Raises ArchiveError."""
        self.key = hashlib.sha256(json.dumps(key_values, sort_keys=True, default=str).encode()).hexdigest()[:12]
        self.directory, self.folder = directory, directory / STATE_FOLDER / self.key
        self.spent_s = 0.0
        self.created_indexes: set[Path] = set()
        """Indexes that trials have made, in this archive: the original of a copied one keeps its own."""
        self._records: dict[str, Any] = {}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / VALUES_FILE
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            for line in text.split("\n")[:-1]:
                self._load_line(line)
            if not text.endswith("\n"):
                path.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")
        except OSError as error:
            raise ArchiveError(f"{self.folder}: {error.strerror}; tune keeps what it has found out there") from None

    def trial_values(self, trial: Trial, part: str) -> Mapping[str, Mapping[str, float]] | None:
        """What a trial is worth on each query of a part, by measure; None where it has not been tried."""
        return self._records.get(_trial_key(trial, part))

    def save_trial(
        self, trial: Trial, part: str, values_by_measure: Mapping[str, Mapping[str, float]], seconds: float
    ) -> None:
        """Keeps what a trial is worth by each measure, and how long it took to find out."""
        values = {measure: dict(of_query) for measure, of_query in values_by_measure.items()}
        self._append({"name": _trial_key(trial, part), "found": values, "seconds": round(seconds, 3)})

    def record_time(self, activity: str, seconds: float) -> None:
        """Counts time that went into something else."""
        self._append({"name": activity, "found": None, "seconds": round(seconds, 3)})

    def read_note(self, name: str) -> Any:
        """What was noted under a name; None where nothing was."""
        return self._records.get(f"note {name}")

    def write_note(self, name: str, value: Any) -> None:
        """Notes something that is not to be found out again."""
        self._append({"name": f"note {name}", "found": value, "seconds": 0})

    def record_index(self, index: Path) -> None:
        """Remembers an index that a trial is about to make, for whoever clears up."""
        self._append({"name": "made", "found": str(index.relative_to(self.directory)), "seconds": 0})

    def _append(self, line: Mapping[str, Any]) -> None:
        try:
            with open(self.folder / VALUES_FILE, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise ArchiveError(f"{self.folder}: {error.strerror}; tune keeps what it has found out there") from None
        self._load_line(json.dumps(line))

    def _load_line(self, text: str) -> None:
        try:
            line = json.loads(text)
            if line["name"] == "made":
                self.created_indexes.add(self.directory / line["found"])
            self._records[line["name"]] = line["found"]
            self.spent_s += line["seconds"]
        except (ValueError, KeyError, TypeError):
            return


def _trial_key(trial: Trial, part: str) -> str:
    return json.dumps([part, trial.ranker, trial.settings], sort_keys=True)
