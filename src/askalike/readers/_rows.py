"""Rows of tables: CSV, TSV, JSON lines or JSON, told apart by name and content; and which column plays which part."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from askalike.errors import InputError
from askalike.readers._json import Row, json_items, json_lines
from askalike.readers._source import Source
from askalike.types import Rejected

BOM = b"\xef\xbb\xbf"
UNCLOSED = (
    "a quote that opens in this row is not closed (or the row is over 16 MB long); "
    "close it, or use --no-quotes where quotes are plain text"
)
LONGEST_ROW = 1 << 24
MOST_SHAPES = 1_000
DELIMITERS = ",;\t"


def rows(source: Source, path: Path, *, records: str | None = None, quotes: bool = True) -> Iterator[Row | Rejected]:
    """Each row of a table as a mapping from column to value, or why it is none.

    records: the way to the list in a JSON document. quotes: whether CSV and TSV fields may stand in double quotes.
    Raises InputError for a file that cannot be read on.
    """
    head = next(source.chunks(path), b"").removeprefix(BOM).lstrip()
    if records or head.startswith(b"["):
        return json_items(source, path, records)
    return json_lines(source, path) if head.startswith(b"{") else _delimited(source, path, quotes)


def _delimited(source: Source, path: Path, quotes: bool) -> Iterator[Row | Rejected]:
    """Rows below a header. Blank rows are passed over; a row with too few or too many fields is rejected."""
    header: list[str] | None = None
    for row in _fields(source, path, quotes):
        if header is None:
            header = [name.strip() for name in row]
        elif len(row) == len(header) or (len(row) > len(header) and not any(row[len(header) :])):
            yield dict(zip(header, row, strict=False))
        else:
            yield source.reject(f"{len(row)} fields; the header has {len(header)}", row)
    if header is None:
        raise InputError(f"{path}: is empty; expected a header and rows")


class Columns:
    """Which column plays which part: the one a person named, else the first whose usual name is there.

    Names are compared without case, blanks and outer underscores.
    """

    def __init__(self, named: Mapping[str, str | None], usual: Mapping[str, Sequence[str]], required: Sequence[str]):
        self._named = {part: name for part, name in named.items() if name}
        self._usual = usual
        self._required = required
        self._known: dict[tuple[str, ...], Mapping[str, str]] = {}
        self._checked = False
        self._unseen = set(self._named)

    def of(self, row: Row, source: Source) -> Mapping[str, Any]:
        """The row's values by part; parts without a column are left out.

        Raises InputError where the first row has no column for a required part.
        """
        keys = tuple(row)
        if keys not in self._known:
            if len(self._known) >= MOST_SHAPES:
                self._known.clear()
            self._known[keys] = self._found(keys)
            self._check(keys, source)
        return {part: row[name] for part, name in self._known[keys].items()}

    def check_named(self, source: Source) -> None:
        """Raises InputError for a column that a person named and no row had."""
        for part in sorted(self._unseen):
            raise InputError(f"{source.where}: no row has the column {self._named[part]!r} given as {option(part)}")

    def _found(self, keys: Sequence[str]) -> Mapping[str, str]:
        by_name = {_normal(key): key for key in reversed(keys)} | {key: key for key in keys}
        found: dict[str, str] = {}
        for part, usual in self._usual.items():
            wanted = [self._named[part]] if part in self._named else usual
            candidates = (by_name.get(name) or by_name.get(_normal(name)) for name in wanted)
            if key := next((c for c in candidates if c and c not in found.values()), None):
                found[part] = key
        self._unseen -= found.keys()
        return found

    def _check(self, keys: Sequence[str], source: Source) -> None:
        checked, self._checked = self._checked, True
        for part in () if checked else self._required:
            if part not in self._known[tuple(keys)]:
                name = self._named.get(part)
                problem = f"no column {name!r}" if name else f"no column is known to hold the {part}"
                raise InputError(
                    f"{source.where}: {problem}; there are: {', '.join(keys)}. Name it with {option(part)}"
                )


def option(part: str) -> str:
    """How a column's part is called on the command line."""
    return f"--{part.replace('_', '-')}"


def _normal(name: str) -> str:
    return re.sub(r"\W+", "_", name.strip().lower()).strip("_")


def _delimiter(path: Path, header: str) -> str:
    """A tab in .tsv files; else what separates the header's names."""
    if {".tsv", ".tab"} & set(path.suffixes):
        return "\t"
    plain = re.sub(r'"[^"]*"', "", header)
    return max(DELIMITERS, key=plain.count)


def _fields(source: Source, path: Path, quotes: bool) -> Iterator[list[str]]:
    """The fields of each row, which ends where its line does unless a quote is open there.

    Raises InputError for a quote that is never closed.
    """
    lines = source.lines(path)
    delimiter = ""
    for line in lines:
        delimiter = delimiter or _delimiter(path, line)
        begin = source.line
        row = _row(line, delimiter, strict=True) if quotes else line.rstrip("\r\n").split(delimiter)
        if row is None:
            text = _closed(line, lines)
            row = _row(text, delimiter, strict=text != line) if text else None
        source.line = begin
        if row is None:
            raise source.error(UNCLOSED)
        if any(row):
            yield row


def _closed(line: str, lines: Iterator[str]) -> str | None:
    """The line and those after it up to the one that closes its open quote; None where none does."""
    parts, size, is_open = [line], len(line), line.count('"') % 2 == 1
    while is_open:
        more = next(lines, None)
        if more is None or size > LONGEST_ROW:
            return None
        parts.append(more)
        size += len(more)
        is_open ^= more.count('"') % 2 == 1
    return "".join(parts)


def _row(text: str, delimiter: str, strict: bool) -> list[str] | None:
    """The fields of one row; None where a quote stands in a wrong place (not strict: it is taken as it stands)."""
    try:
        with _limit(len(text)):
            return next(csv.reader([text], delimiter=delimiter, strict=strict))
    except csv.Error:
        return None


@contextmanager
def _limit(size: int) -> Iterator[None]:
    """Lets a field be as long as its row: what the csv module allows otherwise, 131,072 characters, answers exceed."""
    before = csv.field_size_limit()
    csv.field_size_limit(max(size, before))
    try:
        yield
    finally:
        csv.field_size_limit(before)
