"""The file `rejected.jsonl` in an archive's directory: the rows rejected by the last import."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import IO

from askalike.core.errors import ArchiveError
from askalike.core.types import RejectedRow

REJECTS_FILE = "rejected.jsonl"


class RejectLog:
    """The file `rejected.jsonl`: file, line, reason and text of each rejected row; absent if there is none."""

    def __init__(self, path: Path | None) -> None:
        """path: None to count the rows without writing them."""
        self.count = 0
        self.first: RejectedRow | None = None
        self._path = path
        self._file: IO[str] | None = None

    def __enter__(self) -> "RejectLog":
        if path := self._path:
            self._run_checked(lambda: path.unlink(missing_ok=True))
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._run_checked(self._file.close)

    def add(self, rejected: RejectedRow) -> None:
        """Write one row. Raises ArchiveError if the disk is full."""
        self.count += 1
        self.first = self.first or rejected
        fields = {"file": rejected.path, "line": rejected.line, "reason": rejected.reason, "row": rejected.row}
        line = json.dumps(fields, ensure_ascii=False) + "\n"
        if path := self._path:
            self._run_checked(lambda: self._open_file(path).write(line))

    def _open_file(self, path: Path) -> IO[str]:
        if self._file is None:
            self._file = path.open("w", encoding="utf-8", errors="backslashreplace")
        return self._file

    def _run_checked(self, write: Callable[[], object]) -> None:
        try:
            write()
        except OSError as error:
            advice = "free some space, or make it writable, and repeat"
            raise ArchiveError(f"{self._path}: {error.strerror}; {advice}") from None
