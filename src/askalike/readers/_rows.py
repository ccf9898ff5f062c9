"""Rows of tables: CSV, TSV, Excel workbooks (values only; formulas and macros are not run), JSON and JSON lines."""

import csv
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date, datetime, time
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

from askalike.core.errors import InputError
from askalike.core.files import check_unpacked
from askalike.core.records import Place, RejectedRow
from askalike.readers._json import PlacedRow, Row, read_json_items, read_json_lines, refuse_document
from askalike.readers._source import SourceFiles, refuse_damage, reject
from askalike.readers._values import to_text
from askalike.text.clean import replace_forbidden

WORKBOOK = "an Excel workbook"
WORKBOOK_SUFFIXES = (".xlsx", ".xlsm")
CellRow = tuple[int, list[str]]
"""A row's number, from 1, and the texts of its cells."""
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
_PACKED = tuple(f"*.{end}{packed}" for end in ("csv", "tsv", "jsonl", "json") for packed in ("", ".gz", ".bz2"))
TABLE_PATTERNS = (*_PACKED, *(f"*{end}" for end in WORKBOOK_SUFFIXES))
"""Patterns of file names of tables."""


class Table(NamedTuple):
    """The rows of one file. header: the keys of every row; None if each row has its own (JSON)."""

    header: Sequence[str] | None
    rows: Iterator[PlacedRow]


def open_table(
    source: SourceFiles,
    path: Path,
    *,
    keys: str | None = None,
    quotes: bool = True,
    header: bool = True,
    sheet: str | None = None,
) -> Table:
    """Open a table in any format. Raises InputError.

    keys: the path to the list in a JSON document. header: whether the first row of other formats holds the names of
    columns, which are called 1, 2, … if not. sheet: that of an Excel workbook; None for the first with a row.
    """
    if is_workbook(path):
        return _name_columns(_read_sheet(source, path, sheet), path, header)
    head = next(source.read_chunks(path), b"").removeprefix(BOM).lstrip()
    if keys or head.startswith(b"["):
        return Table(None, read_json_items(source, path, keys))
    if head.startswith(b"{"):
        refuse_document(source, path, head)
        return Table(None, read_json_lines(source, path))
    return _name_columns(_read_fields(source, path, quotes), path, header)


def require_columns(names: Iterable[str], path: Path, needed: Iterable[str], advice: str) -> None:
    """Raise InputError, with advice, if a needed column is not among those of a file."""
    if missing := [name for name in needed if name not in names]:
        problem = f"no column {', '.join(missing)}; there are: {', '.join(names)}"
        raise InputError(f"{path}: {'. '.join(filter(None, (problem, advice)))}")


def check_columns(
    rows: Iterator[PlacedRow], path: Path, needed: Sequence[str], advice: str = ""
) -> Iterator[PlacedRow]:
    """Yield the rows of a file. Raises InputError if the first one lacks a needed column."""
    is_checked = False
    for place, row in rows:
        if not is_checked and not isinstance(row, RejectedRow):
            is_checked = True
            require_columns(row, path, needed, advice)
        yield place, row


def group_rows(
    rows: Iterator[PlacedRow], key: Callable[[Row], object]
) -> Iterator[tuple[Place, Sequence[Row] | RejectedRow]]:
    """Yield consecutive rows with the same key together, at the place of the first. Rejected rows do not part them."""
    group: list[Row] = []
    first_place = Place("")
    for place, row in rows:
        if isinstance(row, RejectedRow):
            yield place, row
            continue
        if group and key(row) != key(group[0]):
            yield first_place, group
            group = []
        first_place = first_place if group else place
        group.append(row)
    if group:
        yield first_place, group


def read_rows(source: SourceFiles, path: Path) -> Iterator[PlacedRow]:
    """Yield each row of a table. Raises InputError."""
    yield from open_table(source, path).rows


def _name_columns(fields: Iterator[PlacedFields], path: Path, has_header: bool) -> Table:
    """Return the rows with the names in the first one, or numbers from 1."""
    start = next(fields, None)
    if start is None:
        raise InputError(f"{path}: is empty; expected a header and rows")
    place, first = start
    if isinstance(first, RejectedRow):
        raise InputError(f"{place}: {first.reason}")
    if not has_header:
        fields = chain([start], fields)
    names = [name.strip() if has_header else str(number) for number, name in enumerate(first, 1)]
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


def _read_sheet(source: SourceFiles, path: Path, name: str | None) -> Iterator[PlacedFields]:
    """Yield the rows of a workbook's sheet, all at least as long as the first; the other sheets are noted."""
    with open_sheets(source, path) as sheets:
        if name is not None and name not in sheets:
            raise InputError(f"{path}: no sheet {name!r}; there are: {', '.join(sheets)}")
        filled = {sheet: chain([first], rows) for sheet, rows in sheets.items() if (first := next(rows, None))}
        chosen = name or next(iter(filled), "")
        source.note_file(path, "sheets left out (--sheet NAME reads one of them)", len(filled.keys() - {chosen}))
        width = 0
        for line, cells in filled.get(chosen, ()):
            width = width or len(cells)
            yield Place(str(path), line), cells + [""] * (width - len(cells))


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
    parts = [line]
    size = len(line)
    is_open = line.count('"') % 2 == 1
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


def is_workbook(path: Path) -> bool:
    """Return whether a file is an Excel workbook, by its content; by its name if the content leaves it open."""
    with SourceFiles().open(path, unpack=False) as stream:
        head = stream.peek()  # type: ignore[attr-defined]
    return head.startswith(b"PK\x03\x04") and (b"xl/work" in head or path.suffix.lower() in WORKBOOK_SUFFIXES)


@contextmanager
def open_sheets(source: SourceFiles, path: Path) -> Iterator[dict[str, Iterator[CellRow]]]:
    """Yield the name and the rows of each sheet, without empty rows. Raises InputError."""
    from openpyxl import load_workbook

    with source.open(path, unpack=False) as stream:
        with refuse_damage(path, WORKBOOK):
            _refuse_bomb(path, stream)
            workbook = load_workbook(stream, read_only=True, data_only=True, keep_links=False)
        with closing(workbook):
            yield {sheet.title: _read_cells(path, sheet) for sheet in workbook.worksheets}


def _read_cells(path: Path, sheet: Any) -> Iterator[CellRow]:
    with refuse_damage(path, WORKBOOK):
        sheet.reset_dimensions()  # some programs write a wrong size, beyond which cells would be lost
        for number, cells in enumerate(sheet.iter_rows(values_only=True), 1):
            texts = _to_texts(cells)
            if any(texts):
                yield number, texts


def _to_texts(cells: Sequence[Any]) -> list[str]:
    """Return the cells as texts: dates as ISO 8601, whole numbers without a fraction."""
    return [replace_forbidden(to_text(c.isoformat() if isinstance(c, date | datetime | time) else c)) for c in cells]


def _refuse_bomb(path: Path, stream: IO[bytes]) -> None:
    """Raise InputError for a workbook that would fill the memory, BadZipFile if it is not a ZIP archive."""
    with zipfile.ZipFile(stream) as packed:
        check_unpacked(path, sum(member.file_size for member in packed.infolist()), path.stat().st_size)
