"""Tables: the columns of the parts of a record, and the rows of CSV, TSV, Excel and JSON files."""

import csv
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from askalike.core.errors import InputError
from askalike.core.types import LocatedRecord, Place, Record, RejectedRow
from askalike.readers._excel import WORKBOOK_SUFFIXES, is_workbook, open_sheets
from askalike.readers._json import PlacedRow, Row, read_json_items, read_json_lines, refuse_document
from askalike.readers._source import SourceFiles, parse_rows, reject

MAX_HEADERS = 1_000
MAX_LISTED = 8
"""Maximum number of columns listed in a note."""
CellParser = Callable[[Mapping[str, Any]], Iterable[Record]]


class Table(NamedTuple):
    """The rows of one file. header: the keys of every row; None if each row has its own (JSON)."""

    header: Sequence[str] | None
    rows: Iterator[PlacedRow]


TableOpener = Callable[[SourceFiles, Path], Table]


class Columns:
    """The column of each part: the one named by the user, else the first with a usual name, in any spelling.

    A name with dots is a path through nested JSON objects and lists of them: `title.text`, `answers.body`.
    """

    def __init__(
        self,
        chosen: Mapping[str, str | None],
        usual: Mapping[str, Sequence[str]],
        required: Sequence[str],
        advice: str = "",
    ) -> None:
        """advice: what else may be wrong where a required part has no column."""
        self._advice = advice
        self._chosen = {part: name for part, name in chosen.items() if name}
        self._usual = usual
        self._required = required
        self._names_by_header: dict[tuple[str, ...], Mapping[str, str]] = {}
        self._unread: dict[str, None] = {}

    def check(self, files: Sequence[Path], open_table: TableOpener, encoding: str | None) -> None:
        """Raise InputError if a column named by the user is in no file, or if a required part has no column.

        Of a file with a header only that is read; rows of JSON are read until each named column has been found.
        """
        unseen = dict(self._chosen)
        keys: dict[str, None] = {}
        for file in files:
            for row in _sample_rows(open_table(SourceFiles(encoding=encoding), file)):
                if not keys:
                    self._check_required(row, file)
                if len(keys) < MAX_HEADERS:
                    keys |= dict.fromkeys(row)
                names = self._match(tuple(row))
                unseen = {part: name for part, name in unseen.items() if not _has_value(row, names.get(part))}
                if not unseen:
                    return
        for part, name in unseen.items():
            problem = f"no column {name!r}, which {format_option(part)} names; there are: {', '.join(keys)}"
            raise InputError(f"{files[-1]}: {problem}")

    def extract(self, row: Row, note: Callable[[str], None]) -> Mapping[str, Any]:
        """Return the row's values by part. Raises ValueError if a needed value is an object of JSON.

        note: called for an object in a column that the user did not name; the part is then left out.
        """
        keys = tuple(row)
        if keys not in self._names_by_header:
            if len(self._names_by_header) >= MAX_HEADERS:
                self._names_by_header.clear()
            self._names_by_header[keys] = self._match(keys)
            self._add_unread(keys)
        values: dict[str, Any] = {}
        for part, name in self._names_by_header[keys].items():
            value = _look_up(row, name)
            if inner := _object_keys(value):
                problem, example = f"{name} is an object in JSON", f"e.g. {format_option(part)} {name}.{inner[0]}"
                if part in self._required or part in self._chosen:
                    raise ValueError(
                        f"{part}: {problem}; name the key to take, {example} (there are: {', '.join(inner)})"
                    )
                note(f"values left out, as {problem} (name the key to take, {example})")
                continue
            values[part] = value
        return values

    def note_unread(self, note: Callable[[str, int], None]) -> None:
        """Note the columns of the rows so far that were not used."""
        if self._unread:
            names = ", ".join([*self._unread][:MAX_LISTED]) + (", …" if len(self._unread) > MAX_LISTED else "")
            note(
                f"columns left out, as their names are not usual ones and no option names them ({names})",
                len(self._unread),
            )

    def _add_unread(self, keys: Sequence[str]) -> None:
        """Collect the columns of a row that were not used; nested ones by their outermost name."""
        names = self._names_by_header[tuple(keys)].values()
        read = {*names, *(name.partition(".")[0] for name in names)}
        if len(self._unread) < MAX_HEADERS:
            self._unread |= dict.fromkeys(key for key in keys if key.strip() and key not in read)

    def _match(self, keys: Sequence[str]) -> Mapping[str, str]:
        """Return part → column: those named by the user, then the usual names among the other columns."""
        by_name = {_normalise(key): key for key in reversed(keys)} | {key: key for key in keys}

        def find(name: str) -> str | None:
            nested = name if name.partition(".")[0] in keys else None
            return by_name.get(name) or by_name.get(_normalise(name)) or nested

        columns = {part: column for part, name in self._chosen.items() if (column := find(name))}
        for part, usual in self._usual.items():
            if part not in self._chosen:
                free = (c for c in map(find, usual) if c and c not in columns.values())
                if column := next(free, None):
                    columns[part] = column
        return {part: columns[part] for part in self._usual if part in columns}

    def _check_required(self, row: Row, path: Path) -> None:
        columns = self._match(tuple(row))
        for part in self._required:
            if part in columns:
                continue
            name = self._chosen.get(part)
            problem = f"no column {name!r}" if name else f"no column is known to hold the {part}"
            uses = [f"{column!r} is given as {format_option(p)}" for p, column in columns.items() if p in self._chosen]
            others = f"{', '.join(row)}{' (' + ', '.join(uses) + ')' if uses else ''}"
            raise InputError(f"{path}: {problem}; there are: {others}. {self._advise(part, row)}")

    def _advise(self, part: str, row: Row) -> str:
        """Return what to do about a part without a column: a row that holds a list of rows is a document."""
        if rows := _find_rows(row):
            return f"Name the way to the list of rows with --records {rows}"
        return f"Name it with {format_option(part)}{self._advice if not any(row.values()) else ''}"


def read_table(
    source: SourceFiles, files: Sequence[Path], columns: Columns, parse: CellParser, open_table: TableOpener
) -> Iterator[LocatedRecord]:
    """Yield the records that `parse` makes from rows as part → value. Raises InputError for a missing column."""
    columns.check(files, open_table, source.encoding)
    for file in files:
        rows = open_table(source, file).rows
        yield from parse_rows(rows, lambda row: parse(columns.extract(row, source.note)))
    columns.note_unread(source.note)


def format_option(part: str) -> str:
    """Return the command-line option that names the column of a part."""
    return f"--{part.replace('_', '-')}"


def _find_rows(value: Row) -> str | None:
    """Return the path to the first list of objects in an object of JSON, `data.items`; None if it has none."""
    for key, inner in value.items():
        if isinstance(inner, list) and any(isinstance(item, dict) for item in inner):
            return key
        if isinstance(inner, dict) and (path := _find_rows(inner)):
            return f"{key}.{path}"
    return None


def _sample_rows(table: Table) -> Iterator[Row]:
    """Yield a table's header as a row, or all rows if it has no header."""
    if table.header is not None:
        yield dict.fromkeys(table.header, "")
        return
    yield from (row for _, row in table.rows if not isinstance(row, RejectedRow))


def _look_up(row: Row, name: str) -> Any:
    """Return the value of a column; None if a nested one is absent. Lists along the path give a list of values."""
    if name in row:
        return row[name]
    value: Any = row
    for key in name.split("."):
        items = value if isinstance(value, list) else [value]
        inner = [item[key] for item in items if isinstance(item, dict) and key in item]
        value = inner if isinstance(value, list) else next(iter(inner), None)
    return value


def _has_value(row: Row, name: str | None) -> bool:
    return name is not None and (name in row or _look_up(row, name) not in (None, []))


def _object_keys(value: Any) -> Sequence[str]:
    """Return the keys of an object, or of the first object in a list; nothing for any other value."""
    items = value if isinstance(value, list) else [value]
    return next((list(map(str, item)) or ["?"] for item in items if isinstance(item, dict)), [])


def _normalise(name: str) -> str:
    """Return a name without accents and in lower case, with one `_` for all that is neither letter nor digit."""
    plain = re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFKD", name.lower()))
    return re.sub(r"\W+", "_", plain).strip("_")


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


def check_columns(
    rows: Iterator[PlacedRow], path: Path, needed: Sequence[str], advice: str = ""
) -> Iterator[PlacedRow]:
    """Yield the rows of a file. Raises InputError if the first one lacks a needed column."""
    is_checked = False
    for place, row in rows:
        if not is_checked and not isinstance(row, RejectedRow):
            is_checked = True
            if missing := [name for name in needed if name not in row]:
                problem = f"no column {', '.join(missing)}; there are: {', '.join(row)}"
                raise InputError(f"{path}: {'. '.join(filter(None, (problem, advice)))}")
        yield place, row


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
