"""Helpers of the export formats: writing of files with row counts, and the values of records."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from askalike.core.errors import ArchiveError
from askalike.core.types import Answer, Question
from askalike.core.values import escape_formula


def write_jsonl(path: Path, records: Iterable[Mapping[str, Any]]) -> int:
    """Write one JSON object per line; return the number of lines."""
    n = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
            n += 1
    return n


def write_table(
    path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]], *, delimiter: str = ",", spreadsheet: bool = False
) -> int:
    """Write a CSV or TSV file with a header; return the number of rows without it. None is an empty cell.

    Rows with a carriage return are quoted, as the csv module could not read them otherwise.
    spreadsheet: add a byte order mark to the file, and an apostrophe before cells that would be run as formulas.
    """
    n = 0
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8-sig" if spreadsheet else "utf-8", newline="") as file:
        plain = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        quoted = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
        plain.writerow(header)
        for row in rows:
            n += 1
            writer = quoted if any(isinstance(cell, str) and "\r" in cell for cell in row) else plain
            writer.writerow(map(escape_formula, row) if spreadsheet else row)
    return n


def nondefault_fields(record: Question | Answer, *excluded: str) -> dict[str, Any]:
    """Return the fields of a record that differ from their default, without the excluded ones."""
    values = {f.name: (getattr(record, f.name), f.default) for f in fields(record) if f.name not in excluded}
    return {name: value for name, (value, default) in values.items() if default is MISSING or value != default}


def check_split_file_name(split: str) -> str:
    """Return the split's name. Raises ArchiveError if it cannot be part of a file's name."""
    if not split.replace("-", "").replace("_", "").replace(".", "").isalnum() or split.startswith("."):
        raise ArchiveError(f"split {split!r}: cannot name a file; expected letters, digits, '-', '_' and '.'")
    return split
