"""The labels that a model was trained on, and must not be evaluated on, as its folder keeps them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Self

LEARNED_FILE = "learned.json"


@dataclass(frozen=True, slots=True)
class LearnedLabels:
    """The ids of the questions whose duplicates or answers a model was trained on."""

    duplicates: frozenset[str] = frozenset()
    answers: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.duplicates or self.answers)

    def __or__(self, other: "LearnedLabels") -> "LearnedLabels":
        return LearnedLabels(self.duplicates | other.duplicates, self.answers | other.answers)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the training labels of the model in a folder; none if it has no file of them."""
        path = folder / LEARNED_FILE
        if not path.exists():
            return cls()
        ids = json.loads(path.read_text(encoding="utf-8"))
        return cls(frozenset(ids["duplicates"]), frozenset(ids["answers"]))

    def write(self, folder: Path) -> None:
        """Write the file for `read`."""
        ids = {"duplicates": sorted(self.duplicates), "answers": sorted(self.answers)}
        (folder / LEARNED_FILE).write_text(json.dumps(ids, ensure_ascii=False), encoding="utf-8")
