"""Reads the rows of tables in CSV, TSV, JSON lines or JSON."""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from askalike.core.errors import InputError
from askalike.core.types import Place, RejectedRow
from askalike.readers._columns import Table
from askalike.readers._json import PlacedRow, read_json_items, read_json_lines, refuse_document
from askalike.readers._source import SourceFiles, reject

PlacedFields = tuple[Place, list[str] | RejectedRow]

BOM = b"\xef\xbb\xbf"
UNCLOSED_QUOTE = (
    "a quote that opens in this row is not closed (or the row is over 16 MB long); "
    "close it, or use --no-quotes where quotes are plain text"
)
BARE_RETURN = (
    "a carriage return in a field without quotes; put the field in quotes, or, where every line ends so, convert the "
    "file: tr '\\r' '\\n'"
)
MAX_ROW_SIZE = 1 << 24
DELIMITERS = ",;\t"
TABLE_PATTERNS = tuple(f"*.{end}{packed}" for end in ("csv", "tsv", "jsonl", "json") for packed in ("", ".gz", ".bz2"))
"""Patterns of file names of tables."""


def open_table(source: SourceFiles, path: Path, *, keys: str | None = None, quotes: bool = True) -> Table:
    """Open a table in any format; `keys` is the path to the list in a JSON document. Raises InputError."""
    head = next(source.read_chunks(path), b"").removeprefix(BOM).lstrip()
    if keys or head.startswith(b"["):
        return Table(None, read_json_items(source, path, keys))
    if head.startswith(b"{"):
        refuse_document(source, path, head)
        return Table(None, read_json_lines(source, path))
    return _open_delimited(source, path, quotes)


def read_rows(source: SourceFiles, path: Path) -> Iterator[PlacedRow]:
    """Yield each row of a table. Raises InputError."""
    yield from open_table(source, path).rows


def _open_delimited(source: SourceFiles, path: Path, quotes: bool) -> Table:
    fields = _read_fields(source, path, quotes)
    header = next(fields, None)
    if header is None:
        raise InputError(f"{path}: is empty; expected a header and rows")
    place, first = header
    if isinstance(first, RejectedRow):
        raise InputError(f"{place}: {first.reason}")
    names = [name.strip() for name in first]
    return Table(names, _read_below_header(fields, names))


def _read_below_header(fields: Iterator[PlacedFields], header: Sequence[str]) -> Iterator[PlacedRow]:
    """Yield the rows below a header. Blank rows are skipped; a row with too few or too many fields is rejected."""
    for place, row in fields:
        if isinstance(row, RejectedRow):
            yield place, row
        elif len(row) == len(header) or (len(row) > len(header) and not any(row[len(header) :])):
            yield place, dict(zip(header, row, strict=False))
        else:
            yield place, reject(place, f"{len(row)} fields; the header has {len(header)}", row)


def _detect_delimiter(path: Path, header: str) -> str:
    """Return a tab for .tsv files, else the character that splits the header into most names."""
    if {".tsv", ".tab"} & set(path.suffixes):
        return "\t"
    plain = re.sub(r'"[^"]*"', "", header)
    return max(DELIMITERS, key=plain.count)


def _read_fields(source: SourceFiles, path: Path, quotes: bool) -> Iterator[PlacedFields]:
    """Yield each row's place and fields; quotes may span lines. Raises InputError for one that is never closed."""
    lines = source.read_lines(path)
    delimiter = ""
    for place, line in lines:
        delimiter = delimiter or _detect_delimiter(path, line)
        text: str | None = line
        try:
            fields = _parse_row(line, delimiter, strict=True) if quotes else line.rstrip("\r\n").split(delimiter)
            if fields is None:
                text = _join_quoted_lines(line, (following for _, following in lines))
                fields = _parse_row(text, delimiter, strict=text != line) if text else None
        except ValueError as error:
            yield place, reject(place, str(error), text)
            continue
        if fields is None:
            raise InputError(f"{place}: {UNCLOSED_QUOTE}")
        if any(fields):
            yield place, fields


def _join_quoted_lines(line: str, following: Iterator[str]) -> str | None:
    """Return the line joined with the following ones up to the one that closes its quote; None if none does."""
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
    """Return the fields of one row; None if a quote is misplaced and `strict`; otherwise such a quote is text.

    Raises ValueError for a line break outside quotes.
    """
    try:
        with _field_size_limit(len(text)):
            return next(csv.reader([text], delimiter=delimiter, strict=strict))
    except csv.Error as error:
        if str(error).startswith("new-line character seen in unquoted field"):
            raise ValueError(BARE_RETURN) from None
        return None


@contextmanager
def _field_size_limit(size: int) -> Iterator[None]:
    """Allow a field as long as its row: answers can be longer than csv's default limit of 131,072 characters."""
    before = csv.field_size_limit()
    csv.field_size_limit(max(size, before))
    try:
        yield
    finally:
        csv.field_size_limit(before)
