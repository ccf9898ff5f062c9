"""What tuning has found out so far, on disk: a run that was interrupted, or had too little time, goes on from there."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askalike.errors import ArchiveError
from askalike.tune.candidates import Trial

FOLDER = "tuning"
VALUES = "values.jsonl"


class State:
    """`DIR/tuning/KEY/`: one JSON line a thing found out. KEY names the archive's content and all that decides."""

    def __init__(self, directory: Path, decides: Any) -> None:
        """Reads what is there. A line that a kill has cut short does not count. Raises ArchiveError."""
        self.key = hashlib.sha256(json.dumps(decides, sort_keys=True, default=str).encode()).hexdigest()[:12]
        self.directory, self.folder = directory, directory / FOLDER / self.key
        self.spent_s = 0.0
        self.made: set[Path] = set()
        """Indexes that trials have made, in this archive: the original of a copied one keeps its own."""
        self._lines: dict[str, Any] = {}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / VALUES
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            for line in text.split("\n")[:-1]:
                self._take(line)
            if not text.endswith("\n"):
                path.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")
        except OSError as error:
            raise ArchiveError(f"{self.folder}: {error.strerror}; tune keeps what it has found out there") from None

    def found(self, trial: Trial, part: str) -> Mapping[str, Mapping[str, float]] | None:
        """What a trial is worth on each query of a part, by measure; None where it has not been tried."""
        return self._lines.get(_name(trial, part))

    def keep(self, trial: Trial, part: str, found: Mapping[str, Mapping[str, float]], seconds: float) -> None:
        """Keeps what a trial is worth by each measure, and how long it took to find out."""
        values = {measure: dict(of_query) for measure, of_query in found.items()}
        self._write({"name": _name(trial, part), "found": values, "seconds": round(seconds, 3)})

    def spend(self, what: str, seconds: float) -> None:
        """Counts time that went into something else."""
        self._write({"name": what, "found": None, "seconds": round(seconds, 3)})

    def noted(self, name: str) -> Any:
        """What was noted under a name; None where nothing was."""
        return self._lines.get(f"note {name}")

    def note(self, name: str, found: Any) -> None:
        """Notes something that is not to be found out again."""
        self._write({"name": f"note {name}", "found": found, "seconds": 0})

    def make(self, index: Path) -> None:
        """Remembers an index that a trial is about to make, for whoever clears up."""
        self._write({"name": "made", "found": str(index.relative_to(self.directory)), "seconds": 0})

    def _write(self, line: Mapping[str, Any]) -> None:
        try:
            with open(self.folder / VALUES, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise ArchiveError(f"{self.folder}: {error.strerror}; tune keeps what it has found out there") from None
        self._take(json.dumps(line))

    def _take(self, text: str) -> None:
        try:
            line = json.loads(text)
            if line["name"] == "made":
                self.made.add(self.directory / line["found"])
            self._lines[line["name"]] = line["found"]
            self.spent_s += line["seconds"]
        except (ValueError, KeyError, TypeError):
            return


def _name(trial: Trial, part: str) -> str:
    return json.dumps([part, trial.ranker, trial.settings], sort_keys=True)
