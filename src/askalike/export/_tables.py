"""Files of tables and records: CSV, TSV, JSON lines; and cells with several values."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from askalike.core.errors import ArchiveError
from askalike.core.records import Qrels
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


write_rows = partial(write_table, delimiter="\t")


def write_qrels(path: Path, qrels: Qrels) -> int:
    """Write judgements as a TSV file with a header; return their number."""
    judged = ((query, id, grade) for query, grades in qrels.items() for id, grade in grades.items())
    return write_rows(path, ("query-id", "corpus-id", "score"), judged)


def check_split_file_name(split: str) -> str:
    """Return the split's name. Raises ArchiveError if it cannot be part of a file's name."""
    if not split.replace("-", "").replace("_", "").replace(".", "").isalnum() or split.startswith("."):
        raise ArchiveError(f"split {split!r}: cannot name a file; expected letters, digits, '-', '_' and '.'")
    return split


TITLE_COLUMN, REPHRASINGS_COLUMN = "question", "alternates"
"""The columns of the title and of the rephrasings; all other columns have the names of the fields."""
VALUE_SEPARATOR = "|"


def join_cell(values: Sequence[str]) -> str:
    """Join values with `|`, or as a JSON list if a reader could split the cell differently."""
    separators = VALUE_SEPARATOR if len(values) > 1 else VALUE_SEPARATOR + ",;"
    is_plain = all(v and v == v.strip() and v[0] != "[" and not any(s in v for s in separators) for v in values)
    return VALUE_SEPARATOR.join(values) if is_plain else json.dumps(values, ensure_ascii=False)


def parse_cell(cell: str) -> tuple[str, ...]:
    """Split a cell made by `join_cell`. Raises ValueError for a list that is not JSON."""
    return tuple(json.loads(cell)) if cell.startswith("[") else tuple(cell.split(VALUE_SEPARATOR)) if cell else ()


def join_answers_cell(bodies: Sequence[str]) -> str:
    """Return the only answer unchanged, or a JSON list if there are several or if it looks like a list."""
    if len(bodies) == 1 and not bodies[0].lstrip().startswith("["):
        return bodies[0]
    return json.dumps(bodies, ensure_ascii=False) if bodies else ""
