"""The line formats of runs and judgements, told apart by their content; columns are separated by ASCII white space."""

import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from pathlib import Path

from askalike.errors import InputError

BOM = b"\xef\xbb\xbf"
GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class LineFormat:
    """The columns of a format, where the document and the value are, and how the value is read."""

    columns: tuple[str, ...]
    document_column: int
    value_column: int
    parse_value: Callable[[bytes], float]
    value_description: str
    value_header: bytes | None = None
    """What the value column of a first line says that is a header."""


def _parse_score(text: bytes) -> float:
    score = float(text)
    if not isfinite(score):
        raise ValueError(text)
    return score


def _parse_label(text: bytes) -> int:
    if text not in (b"true", b"false"):
        raise ValueError(text)
    return int(text == b"true")


_SEMEVAL_COLUMNS = ("query", "document", "rank", "score", "true|false")
TREC_RUN = LineFormat(("query", "Q0", "document", "rank", "score", "tag"), 2, 4, _parse_score, "a finite number")
SEMEVAL_RUN = LineFormat(_SEMEVAL_COLUMNS, 1, 3, _parse_score, "a finite number")
TREC_QRELS = LineFormat(("query", "0", "document", "grade"), 2, 3, int, "a whole number")
SEMEVAL_QRELS = LineFormat(_SEMEVAL_COLUMNS, 1, 4, _parse_label, "true or false")
BEIR_QRELS = LineFormat(("query-id", "corpus-id", "score"), 1, 2, int, "a whole number", value_header=b"score")

RUN_FORMATS = (TREC_RUN, SEMEVAL_RUN)
QRELS_FORMATS = (TREC_QRELS, SEMEVAL_QRELS, BEIR_QRELS)


def read_rows(path: Path, formats: Sequence[LineFormat]) -> Iterator[tuple[int, str, str, float]]:
    """Line number, query, document and value of each line; the first line decides which of the formats it is.

    Raises InputError with file and line for a wrong number of columns, an unreadable value, text that is not UTF-8,
    and for a file that cannot be read or has no line.
    """
    lines = _read_lines(path)
    number, fields = next(lines, (0, []))
    form = next((f for f in formats if len(f.columns) == len(fields)), None)
    if form is None:
        found = f"{path}, line {number}: {len(fields)} columns" if fields else f"{path}: the file is empty"
        raise InputError(f"{found}; expected {' or '.join(map(_describe_columns, formats))}")
    if fields[form.value_column] != form.value_header:
        lines = chain([(number, fields)], lines)
    width, document, value, read = len(form.columns), form.document_column, form.value_column, form.parse_value
    key, query = b"", ""
    for number, fields in lines:
        try:
            if fields[0] != key:
                key, query = fields[0], fields[0].decode()
            if len(fields) != width:
                raise ValueError(fields)
            yield number, query, fields[document].decode(), read(fields[value])
        except ValueError as error:
            raise InputError(f"{path}, line {number}: {_describe_problem(error, fields, form)}") from None


def _describe_problem(error: ValueError, fields: list[bytes], line_format: LineFormat) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "an id is not UTF-8; convert the file, for instance with iconv"
    if len(fields) != len(line_format.columns):
        return f"{len(fields)} columns; expected {_describe_columns(line_format)}"
    return f"{line_format.columns[line_format.value_column]} {fields[line_format.value_column].decode(errors='replace')!r} is not {line_format.value_description}"


def _describe_columns(line_format: LineFormat) -> str:
    return f"{len(line_format.columns)} ({' '.join(line_format.columns)})"


def _read_lines(path: Path) -> Iterator[tuple[int, list[bytes]]]:
    """Number and fields of each line that is not blank."""
    try:
        with path.open("rb") as raw:
            zipped = raw.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC)
            with gzip.open(raw) if zipped else raw as file:
                for number, line in enumerate(file, 1):
                    if fields := (line.removeprefix(BOM) if number == 1 else line).split():
                        yield number, fields
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
