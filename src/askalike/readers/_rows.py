"""Rows of tables: CSV, TSV, JSON lines or JSON, told apart by name and content; and which column plays which part."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from askalike.errors import InputError
from askalike.readers._json import Row, read_json_items, read_json_lines
from askalike.readers._source import SourceFiles
from askalike.types import RejectedRow

BOM = b"\xef\xbb\xbf"
UNCLOSED_QUOTE = (
    "a quote that opens in this row is not closed (or the row is over 16 MB long); "
    "close it, or use --no-quotes where quotes are plain text"
)
MAX_ROW_SIZE = 1 << 24
MAX_HEADERS = 1_000
DELIMITERS = ",;\t"


def read_rows(
    source: SourceFiles, path: Path, *, list_path: str | None = None, quotes: bool = True
) -> Iterator[Row | RejectedRow]:
    """Each row of a table as a mapping from column to value, or why it is none.

    records: the way to the list in a JSON document. quotes: whether CSV and TSV fields may stand in double quotes.
    Raises InputError for a file that cannot be read on.
    """
    head = next(source.read_chunks(path), b"").removeprefix(BOM).lstrip()
    if list_path or head.startswith(b"["):
        return read_json_items(source, path, list_path)
    return read_json_lines(source, path) if head.startswith(b"{") else _read_delimited(source, path, quotes)


def _read_delimited(source: SourceFiles, path: Path, quotes: bool) -> Iterator[Row | RejectedRow]:
    """Rows below a header. Blank rows are passed over; a row with too few or too many fields is rejected."""
    header: list[str] | None = None
    for row in _read_fields(source, path, quotes):
        if header is None:
            header = [name.strip() for name in row]
        elif len(row) == len(header) or (len(row) > len(header) and not any(row[len(header) :])):
            yield dict(zip(header, row, strict=False))
        else:
            yield source.reject(f"{len(row)} fields; the header has {len(header)}", row)
    if header is None:
        raise InputError(f"{path}: is empty; expected a header and rows")


class ColumnMapping:
    """Which column plays which part: the one a person named, else the first whose usual name is there.

    Names are compared without case, blanks and outer underscores.
    """

    def __init__(
        self, chosen: Mapping[str, str | None], usual_names: Mapping[str, Sequence[str]], required: Sequence[str]
    ):
        self._chosen = {part: name for part, name in chosen.items() if name}
        self._usual_names = usual_names
        self._required = required
        self._columns_by_header: dict[tuple[str, ...], Mapping[str, str]] = {}
        self._checked = False
        self._unseen = set(self._chosen)

    def extract(self, row: Row, source: SourceFiles) -> Mapping[str, Any]:
        """The row's values by part; parts without a column are left out.

        Raises InputError where the first row has no column for a required part.
        """
        keys = tuple(row)
        if keys not in self._columns_by_header:
            if len(self._columns_by_header) >= MAX_HEADERS:
                self._columns_by_header.clear()
            self._columns_by_header[keys] = self._match_columns(keys)
            self._check_required(keys, source)
        return {part: row[name] for part, name in self._columns_by_header[keys].items()}

    def check_chosen(self, source: SourceFiles) -> None:
        """Raises InputError for a column that a person named and no row had."""
        for part in sorted(self._unseen):
            raise InputError(
                f"{source.current_path}: no row has the column {self._chosen[part]!r} given as {format_option(part)}"
            )

    def _match_columns(self, keys: Sequence[str]) -> Mapping[str, str]:
        by_name = {_normalise(key): key for key in reversed(keys)} | {key: key for key in keys}
        found: dict[str, str] = {}
        for part, usual in self._usual_names.items():
            wanted = [self._chosen[part]] if part in self._chosen else usual
            candidates = (by_name.get(name) or by_name.get(_normalise(name)) for name in wanted)
            if key := next((c for c in candidates if c and c not in found.values()), None):
                found[part] = key
        self._unseen -= found.keys()
        return found

    def _check_required(self, keys: Sequence[str], source: SourceFiles) -> None:
        checked, self._checked = self._checked, True
        for part in () if checked else self._required:
            if part not in self._columns_by_header[tuple(keys)]:
                name = self._chosen.get(part)
                problem = f"no column {name!r}" if name else f"no column is known to hold the {part}"
                raise InputError(
                    f"{source.current_path}: {problem}; there are: {', '.join(keys)}. Name it with {format_option(part)}"
                )


def format_option(part: str) -> str:
    """How a column's part is called on the command line."""
    return f"--{part.replace('_', '-')}"


def _normalise(name: str) -> str:
    return re.sub(r"\W+", "_", name.strip().lower()).strip("_")


def _detect_delimiter(path: Path, header: str) -> str:
    """A tab in .tsv files; else what separates the header's names."""
    if {".tsv", ".tab"} & set(path.suffixes):
        return "\t"
    plain = re.sub(r'"[^"]*"', "", header)
    return max(DELIMITERS, key=plain.count)


def _read_fields(source: SourceFiles, path: Path, quotes: bool) -> Iterator[list[str]]:
    """The fields of each row, which ends where its line does unless a quote is open there.

    Raises InputError for a quote that is never closed.
    """
    lines = source.read_lines(path)
    delimiter = ""
    for line in lines:
        delimiter = delimiter or _detect_delimiter(path, line)
        begin = source.line
        row = _parse_row(line, delimiter, strict=True) if quotes else line.rstrip("\r\n").split(delimiter)
        if row is None:
            text = _join_quoted_lines(line, lines)
            row = _parse_row(text, delimiter, strict=text != line) if text else None
        source.line = begin
        if row is None:
            raise source.error(UNCLOSED_QUOTE)
        if any(row):
            yield row


def _join_quoted_lines(line: str, lines: Iterator[str]) -> str | None:
    """The line and those after it up to the one that closes its open quote; None where none does."""
    parts, size, is_open = [line], len(line), line.count('"') % 2 == 1
    while is_open:
        more = next(lines, None)
        if more is None or size > MAX_ROW_SIZE:
            return None
        parts.append(more)
        size += len(more)
        is_open ^= more.count('"') % 2 == 1
    return "".join(parts)


def _parse_row(text: str, delimiter: str, strict: bool) -> list[str] | None:
    """The fields of one row; None where a quote stands in a wrong place (not strict: it is taken as it stands)."""
    try:
        with _field_size_limit(len(text)):
            return next(csv.reader([text], delimiter=delimiter, strict=strict))
    except csv.Error:
        return None


@contextmanager
def _field_size_limit(size: int) -> Iterator[None]:
    """Lets a field be as long as its row: what the csv module allows otherwise, 131,072 characters, answers exceed."""
    before = csv.field_size_limit()
    csv.field_size_limit(max(size, before))
    try:
        yield
    finally:
        csv.field_size_limit(before)
