"""The line formats of runs and judgements, told apart by their content; columns are separated by ASCII white space."""

import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
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
        yield _row(path, number, fields, form)
    for number, fields in lines:
        yield _row(path, number, fields, form)


def _row(path: Path, number: int, fields: list[bytes], form: Format) -> tuple[int, str, str, float]:
    try:
        if len(fields) == len(form.columns):
            return number, fields[0].decode(), fields[form.document].decode(), form.read(fields[form.value])
        problem = f"{len(fields)} columns; expected {_columns(form)}"
    except UnicodeDecodeError:
        problem = "an id is not UTF-8; convert the file, for instance with iconv"
    except ValueError:
        value = fields[form.value].decode(errors="replace")
        problem = f"{form.columns[form.value]} {value!r} is not {form.expected}"
    raise InputError(f"{path}, line {number}: {problem}")


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
