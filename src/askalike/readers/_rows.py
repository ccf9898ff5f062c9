"""Tables in CSV, TSV, JSON lines or JSON: their rows, and which column holds which part of a record."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from askalike.errors import InputError
from askalike.readers._json import PlacedRow, Row, read_json_items, read_json_lines
from askalike.readers._source import SourceFiles, parse_rows, reject
from askalike.types import LocatedRecord, Place, Record

BOM = b"\xef\xbb\xbf"
UNCLOSED_QUOTE = (
    "a quote that opens in this row is not closed (or the row is over 16 MB long); "
    "close it, or use --no-quotes where quotes are plain text"
)
MAX_ROW_SIZE = 1 << 24
MAX_HEADERS = 1_000
DELIMITERS = ",;\t"
CellParser = Callable[[Mapping[str, Any]], Iterable[Record]]
TABLE_PATTERNS = tuple(f"*.{end}{packed}" for end in ("csv", "tsv", "jsonl", "json") for packed in ("", ".gz", ".bz2"))
"""The names of files that are tables."""


def read_rows(source: SourceFiles, path: Path, *, keys: str | None = None, quotes: bool = True) -> Iterator[PlacedRow]:
    """Yield each row of a table of any format; `keys` lead to the list in a JSON document. Raises InputError."""
    head = next(source.read_chunks(path), b"").removeprefix(BOM).lstrip()
    if keys or head.startswith(b"["):
        return read_json_items(source, path, keys)
    return read_json_lines(source, path) if head.startswith(b"{") else _read_delimited(source, path, quotes)


def read_table(
    source: SourceFiles, files: Sequence[Path], columns: "Columns", parse: CellParser, *, keys: str | None, quotes: bool
) -> Iterator[LocatedRecord]:
    """Yield the records that `parse` makes of rows' values by part. Raises InputError for a column that is missing."""
    for file in files:

        def parse_row(row: Row, file: Path = file) -> Iterable[Record]:
            return parse(columns.extract(row, file))

        yield from parse_rows(read_rows(source, file, keys=keys, quotes=quotes), parse_row)
    columns.check_chosen(files[-1])


def _read_delimited(source: SourceFiles, path: Path, quotes: bool) -> Iterator[PlacedRow]:
    """Yield the rows below a header. Blank rows are skipped; a row with too few or too many fields is rejected."""
    header: list[str] | None = None
    for place, fields in _read_fields(source, path, quotes):
        if header is None:
            header = [name.strip() for name in fields]
        elif len(fields) == len(header) or (len(fields) > len(header) and not any(fields[len(header) :])):
            yield place, dict(zip(header, fields, strict=False))
        else:
            yield place, reject(place, f"{len(fields)} fields; the header has {len(header)}", fields)
    if header is None:
        raise InputError(f"{path}: is empty; expected a header and rows")


class Columns:
    """Which column holds which part: the one a person named, else the first with a usual name, spelling aside."""

    def __init__(self, chosen: Mapping[str, str | None], usual: Mapping[str, Sequence[str]], required: Sequence[str]):
        self._chosen = {part: name for part, name in chosen.items() if name}
        self._usual = usual
        self._required = required
        self._columns_by_header: dict[tuple[str, ...], Mapping[str, str]] = {}
        self._checked = False
        self._unseen = set(self._chosen)

    def extract(self, row: Row, path: Path) -> Mapping[str, Any]:
        """Return the row's values by part. Raises InputError where the first row lacks a column for a required part."""
        keys = tuple(row)
        if keys not in self._columns_by_header:
            if len(self._columns_by_header) >= MAX_HEADERS:
                self._columns_by_header.clear()
            self._columns_by_header[keys] = self._match_columns(keys)
            self._check_required(keys, path)
        return {part: row[name] for part, name in self._columns_by_header[keys].items()}

    def check_chosen(self, path: Path) -> None:
        """Raise InputError for a column that a person named and that no row has."""
        for part in sorted(self._unseen):
            raise InputError(f"{path}: no row has the column {self._chosen[part]!r} given as {format_option(part)}")

    def _match_columns(self, keys: Sequence[str]) -> Mapping[str, str]:
        by_name = {_normalise(key): key for key in reversed(keys)} | {key: key for key in keys}
        columns: dict[str, str] = {}
        for part, usual in self._usual.items():
            wanted = [self._chosen[part]] if part in self._chosen else usual
            candidates = (by_name.get(name) or by_name.get(_normalise(name)) for name in wanted)
            if key := next((c for c in candidates if c and c not in columns.values()), None):
                columns[part] = key
        self._unseen -= columns.keys()
        return columns

    def _check_required(self, keys: Sequence[str], path: Path) -> None:
        checked, self._checked = self._checked, True
        for part in () if checked else self._required:
            if part not in self._columns_by_header[tuple(keys)]:
                name = self._chosen.get(part)
                problem = f"no column {name!r}" if name else f"no column is known to hold the {part}"
                raise InputError(f"{path}: {problem}; there are: {', '.join(keys)}. Name it with {format_option(part)}")


def format_option(part: str) -> str:
    """Return the command-line option that names the column of a part."""
    return f"--{part.replace('_', '-')}"


def _normalise(name: str) -> str:
    return re.sub(r"\W+", "_", name.strip().lower()).strip("_")


def _detect_delimiter(path: Path, header: str) -> str:
    """Return a tab for .tsv files, else the character that separates most names of the header."""
    if {".tsv", ".tab"} & set(path.suffixes):
        return "\t"
    plain = re.sub(r'"[^"]*"', "", header)
    return max(DELIMITERS, key=plain.count)


def _read_fields(source: SourceFiles, path: Path, quotes: bool) -> Iterator[tuple[Place, list[str]]]:
    """Yield each row's place and fields; an open quote spans lines. Raises InputError for one that is never closed."""
    lines = source.read_lines(path)
    delimiter = ""
    for place, line in lines:
        delimiter = delimiter or _detect_delimiter(path, line)
        fields = _parse_row(line, delimiter, strict=True) if quotes else line.rstrip("\r\n").split(delimiter)
        if fields is None:
            text = _join_quoted_lines(line, (following for _, following in lines))
            fields = _parse_row(text, delimiter, strict=text != line) if text else None
        if fields is None:
            raise InputError(f"{place}: {UNCLOSED_QUOTE}")
        if any(fields):
            yield place, fields


def _join_quoted_lines(line: str, following: Iterator[str]) -> str | None:
    """Return the line with those that follow up to the one that closes its open quote; None where none does."""
    parts, size, is_open = [line], len(line), line.count('"') % 2 == 1
    while is_open:
        more = next(following, None)
        if more is None or size > MAX_ROW_SIZE:
            return None
        parts.append(more)
        size += len(more)
        is_open ^= more.count('"') % 2 == 1
    return "".join(parts)


def _parse_row(text: str, delimiter: str, strict: bool) -> list[str] | None:
    """Return the fields of one row; None where a quote is misplaced, which counts as text unless `strict`."""
    try:
        with _field_size_limit(len(text)):
            return next(csv.reader([text], delimiter=delimiter, strict=strict))
    except csv.Error:
        return None


@contextmanager
def _field_size_limit(size: int) -> Iterator[None]:
    """Let a field be as long as its row: answers are longer than the 131,072 characters that csv allows otherwise."""
    before = csv.field_size_limit()
    csv.field_size_limit(max(size, before))
    try:
        yield
    finally:
        csv.field_size_limit(before)
