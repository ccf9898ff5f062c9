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
GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Format:
    """The columns of a format, where the document and the value are, and how the value is read."""

    columns: tuple[str, ...]
    document: int
    value: int
    read: Callable[[bytes], float]
    expected: str
    header: bytes | None = None
    """What the value column of a first line says that is a header."""


def _score(text: bytes) -> float:
    score = float(text)
    if not isfinite(score):
        raise ValueError(text)
    return score


def _label(text: bytes) -> int:
    if text not in (b"true", b"false"):
        raise ValueError(text)
    return int(text == b"true")


_SEMEVAL = ("query", "document", "rank", "score", "true|false")
TREC_RUN = Format(("query", "Q0", "document", "rank", "score", "tag"), 2, 4, _score, "a finite number")
SEMEVAL_RUN = Format(_SEMEVAL, 1, 3, _score, "a finite number")
TREC_QRELS = Format(("query", "0", "document", "grade"), 2, 3, int, "a whole number")
SEMEVAL_QRELS = Format(_SEMEVAL, 1, 4, _label, "true or false")
BEIR_QRELS = Format(("query-id", "corpus-id", "score"), 1, 2, int, "a whole number", header=b"score")

RUNS = (TREC_RUN, SEMEVAL_RUN)
QRELS = (TREC_QRELS, SEMEVAL_QRELS, BEIR_QRELS)


def rows(path: Path, formats: Sequence[Format]) -> Iterator[tuple[int, str, str, float]]:
    """Line number, query, document and value of each line; the first line decides which of the formats it is.

    Raises InputError with file and line for a wrong number of columns, an unreadable value, text that is not UTF-8,
    and for a file that cannot be read or has no line.
    """
    lines = _lines(path)
    number, fields = next(lines, (0, []))
    form = next((f for f in formats if len(f.columns) == len(fields)), None)
    if form is None:
        found = f"{path}, line {number}: {len(fields)} columns" if fields else f"{path}: the file is empty"
        raise InputError(f"{found}; expected {' or '.join(map(_columns, formats))}")
    if fields[form.value] != form.header:
        lines = chain([(number, fields)], lines)
    width, document, value, read = len(form.columns), form.document, form.value, form.read
    key, query = b"", ""
    for number, fields in lines:
        try:
            if fields[0] != key:
                key, query = fields[0], fields[0].decode()
            if len(fields) != width:
                raise ValueError(fields)
            yield number, query, fields[document].decode(), read(fields[value])
        except ValueError as error:
            raise InputError(f"{path}, line {number}: {_problem(error, fields, form)}") from None


def _problem(error: ValueError, fields: list[bytes], form: Format) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "an id is not UTF-8; convert the file, for instance with iconv"
    if len(fields) != len(form.columns):
        return f"{len(fields)} columns; expected {_columns(form)}"
    return f"{form.columns[form.value]} {fields[form.value].decode(errors='replace')!r} is not {form.expected}"


def _columns(form: Format) -> str:
    return f"{len(form.columns)} ({' '.join(form.columns)})"


def _lines(path: Path) -> Iterator[tuple[int, list[bytes]]]:
    """Number and fields of each line that is not blank."""
    try:
        with path.open("rb") as raw:
            zipped = raw.peek(len(GZIP)).startswith(GZIP)
            with gzip.open(raw) if zipped else raw as file:
                for number, line in enumerate(file, 1):
                    if fields := (line.removeprefix(BOM) if number == 1 else line).split():
                        yield number, fields
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
