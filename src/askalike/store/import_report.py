"""The report of an import: records added, updated, unchanged and removed, and the file of rejected rows."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from askalike.core.errors import ArchiveError, InputError
from askalike.core.types import RejectedRow
from askalike.core.values import format_count
from askalike.store.comparison import Difference
from askalike.store.records import TABLES

VERBS = ("added", "updated", "unchanged", "removed")


def _no_changes() -> dict[str, dict[str, int]]:
    """Return 0 for each table and verb."""
    return {table.name: dict.fromkeys(VERBS, 0) for table in TABLES.values()}


@dataclass(slots=True)
class ImportCounts:
    """The counts of one import from one source.

    earlier_imports: the numbers of that source's imports before this one. by_table: table → verb → count.
    matched: table → the number of rows of earlier imports that are in this one again. text_changes: the number of these
    questions and answers whose text changes.
    """

    earlier_imports: frozenset[int]
    by_table: dict[str, dict[str, int]] = field(default_factory=_no_changes)
    matched: dict[str, int] = field(default_factory=lambda: {t.name: 0 for t in TABLES.values()})
    text_changes: int = 0

    def add(self, difference: Difference, import_number: int) -> None:
        """Count the effects of writing a batch into one table, for the records of one import."""
        name, counts = difference.table.name, self.by_table[difference.table.name]
        counts["added"] += sum(r.import_number == import_number for r in difference.new)
        for is_changed, rows in ((True, difference.changed), (False, difference.unchanged)):
            for record, row in rows:
                if record.import_number != import_number or row.import_number == import_number:
                    continue
                counts["updated" if is_changed else "unchanged"] += 1
                if row.import_number in self.earlier_imports:
                    self.matched[name] += 1
                    self.text_changes += is_changed and difference.has_other_text(record, row)


def describe_counts(by_table: Mapping[str, Mapping[str, int]]) -> str:
    """Return `added 2 questions, 2 answers; updated 0; unchanged 0; removed 0`."""
    parts = []
    for verb in VERBS:
        numbers = [format_count(counts[verb], _singular(table)) for table, counts in by_table.items() if counts[verb]]
        parts.append(f"{verb} {', '.join(numbers) or '0'}")
    return "; ".join(parts)


def sum_changes(changes: Iterable[Mapping[str, Mapping[str, int]]]) -> dict[str, dict[str, int]]:
    """Return summed counts by table and verb, without empty tables."""
    totals = _no_changes()
    for by_table in changes:
        for name, numbers in by_table.items():
            for verb, number in numbers.items():
                totals[name][verb] += number
    return {name: numbers for name, numbers in totals.items() if any(numbers.values())}


def _singular(table: str) -> str:
    return f"{table[:-3]}y" if table.endswith("ies") else table.removesuffix("s")


REJECTS_FILE = "rejected.jsonl"


class RejectLog:
    """The file `rejected.jsonl`: file, line, reason and text of each rejected row; absent if there is none."""

    def __init__(self, path: Path | None, *, keep: bool = False) -> None:
        """path: None to count the rows without writing them. keep: add to the rows of the import before."""
        self.count = 0
        self.first: RejectedRow | None = None
        self._path = path
        self._keep = keep
        self._file: IO[str] | None = None

    def __enter__(self) -> "RejectLog":
        if (path := self._path) and not self._keep:
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

    def require_none(self) -> None:
        """Raise InputError with the first rejected row, if there is one."""
        if first := self.first:
            raise InputError(f"{first.path}, line {first.line}: {first.reason}; --strict stops at the first such row")

    def _open_file(self, path: Path) -> IO[str]:
        if self._file is None:
            self._file = path.open("a", encoding="utf-8", errors="backslashreplace")
        return self._file

    def _run_checked(self, write: Callable[[], object]) -> None:
        try:
            write()
        except OSError as error:
            advice = "free some space, or make it writable, and repeat"
            raise ArchiveError(f"{self._path}: {error.strerror}; {advice}") from None
