"""Reads and writes runs and judgements: TREC, BEIR and SemEval Task 3 files, gzipped or not.

Runs: TREC `query Q0 document rank score tag`, SemEval `query document rank score true|false`. Judgements: TREC
`query 0 document grade`, BEIR's three columns below their header, SemEval's gold lines. Formats are recognised by their
content; columns are separated by ASCII white space. The rank column is ignored, as trec_eval does.
"""

import gzip
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import IO

import numpy as np
from pydantic_core import to_json

from askalike.core.arrays import Floats
from askalike.core.errors import InputError
from askalike.core.files import BZIP2_MAGIC, open_unpacked, replace_file
from askalike.core.hits import Columns, Run
from askalike.core.iteration import chunks
from askalike.core.records import Qrels
from askalike.core.values import format_count

MIN_PLAIN, MAX_PLAIN = 1e-4, 1e16
"""The sizes of numbers that `repr` writes without an exponent."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class _LineFormat:
    """The columns of a format, the positions of document and value, and how the value is parsed."""

    columns: tuple[str, ...]
    document_column: int
    value_column: int
    parse_value: Callable[[bytes], float]
    value_description: str
    value_header: bytes | None = None
    """The value column of a header line; None if the format has none."""


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
_TREC_RUN = _LineFormat(("query", "Q0", "document", "rank", "score", "tag"), 2, 4, _parse_score, "a finite number")
_SEMEVAL_RUN = _LineFormat(_SEMEVAL_COLUMNS, 1, 3, _parse_score, "a finite number")
_TREC_QRELS = _LineFormat(("query", "0", "document", "grade"), 2, 3, int, "a whole number")
_SEMEVAL_QRELS = _LineFormat(_SEMEVAL_COLUMNS, 1, 4, _parse_label, "true or false")
_BEIR_QRELS = _LineFormat(("query-id", "corpus-id", "score"), 1, 2, int, "a whole number", value_header=b"score")

_RUN_FORMATS = (_TREC_RUN, _SEMEVAL_RUN)
_QRELS_FORMATS = (_TREC_QRELS, _SEMEVAL_QRELS, _BEIR_QRELS)


def read_run(path: str | Path) -> Run:
    """Read the run in a TREC or SemEval file, each query's hits by score, ties in file order.

    The lines of a query need not be consecutive. Raises InputError, with file and line, for a wrong number of
    columns, a score that is not a finite number, a document twice in one query, text that is not UTF-8, an empty file.
    """
    path = Path(path)
    columns: dict[str, tuple[list[str], array[float]]] = {}
    shared: dict[str, str] = {}
    current = None
    for _, query, document, score in _read_rows(path, _RUN_FORMATS):
        if query is not current:  # `rows` yields the same object while the query does not change
            current = query
            ids, scores = columns.setdefault(query, ([], array("d")))
        ids.append(shared.setdefault(document, document))
        scores.append(score)
    for query, (ids, _) in columns.items():
        if len(set(ids)) < len(ids):
            raise _duplicate_document_error(path, query)
    return Run({query: _sort_by_score(ids, np.frombuffer(scores)) for query, (ids, scores) in columns.items()})


def read_qrels(path: str | Path) -> Qrels:
    """Read the judgements in a TREC, BEIR or SemEval gold file (true = 1, false = 0).

    Raises InputError, with file and line, like `read_run`, and for a grade that is not an integer.
    """
    path = Path(path)
    qrels: dict[str, dict[str, int]] = {}
    for number, query, document, grade in _read_rows(path, _QRELS_FORMATS):
        grades = qrels.setdefault(query, {})
        if document in grades:
            raise InputError(f"{path}, line {number}: document {document!r} is judged twice for query {query!r}")
        grades[document] = int(grade)
    if not qrels:
        raise InputError(f"{path}: a header without judgements")
    return qrels


def write_run(run: Run, path: str | Path, tag: str) -> None:
    """Write a TREC run atomically (gzipped if the name ends in .gz).

    Scores strictly decrease when read as 32-bit floats, as by trec_eval, so that every tool keeps this run's
    order. A score below its predecessor is written unchanged; any other is replaced by the next smaller
    32-bit float. A query without hits has no line. Raises InputError for ids or a tag that are not one word, for scores
    that are not finite as 32-bit floats, and if the file cannot be written.
    """
    if len(tag.split()) != 1:
        raise InputError(f"tag {tag!r}: expected one word")
    with _open_atomically(Path(path)) as file:
        for queries in chunks(run):
            file.write("".join(_format_hits(queries, [run.columns(query) for query in queries], tag)).encode())


def separate_ties(run: Run) -> Run:
    """Return the run with scores that strictly decrease as 32-bit floats, as written by `write_run`."""
    return Run({query: (run.columns(query)[0], _separate_ties([query], [run.columns(query)])) for query in run})


def _format_hits(queries: Sequence[str], columns: Sequence[Columns], tag: str) -> list[str]:
    """Return the lines of some queries."""
    _check_words(queries, columns)
    scores = iter(_format_numbers(_separate_ties(queries, columns)))
    return [
        f"{query} Q0 {id} {rank} {score} {tag}\n"
        for query, (ids, _) in zip(queries, columns, strict=True)
        for rank, (id, score) in enumerate(zip(ids, scores, strict=False), 1)
    ]


def _check_words(queries: Sequence[str], columns: Sequence[Columns]) -> None:
    """Raise InputError unless each id is one word; usually all are, which is quick to see at once."""
    words = [*queries, *chain.from_iterable(ids for ids, _ in columns)]
    if " ".join(words).split() != words:
        for query, (ids, _) in zip(queries, columns, strict=True):
            if " ".join((query, *ids)).split() != [query, *ids]:
                raise InputError(f"query {query!r}: its id or a document's is empty or has white space in it")


def _format_numbers(numbers: Floats) -> list[str]:
    """Return the `repr` of each number. JSON is written six times as fast, with the same digits in a plain number."""
    sizes = np.abs(numbers)
    is_plain = len(sizes) and bool(((sizes >= MIN_PLAIN) & (sizes < MAX_PLAIN)).all())
    return to_json(numbers.tolist()).decode()[1:-1].split(",") if is_plain else list(map(repr, numbers.tolist()))


def _read_rows(path: Path, formats: Sequence[_LineFormat]) -> Iterator[tuple[int, str, str, float]]:
    """Yield line number, query, document and value of each line; the first line determines which format it is.

    Raises InputError with file and line for a wrong number of columns, an unreadable value, text that is not UTF-8,
    and for a file that cannot be read or is empty.
    """
    lines = _read_lines(path)
    number, fields = next(lines, (0, []))
    line_format = next((f for f in formats if len(f.columns) == len(fields)), None)
    if line_format is None:
        problem = (
            f"{path}, line {number}: {format_count(len(fields), 'column')}" if fields else f"{path}: the file is empty"
        )
        raise InputError(f"{problem}; expected {' or '.join(map(_describe_columns, formats))}")
    if fields[line_format.value_column] != line_format.value_header:
        lines = chain([(number, fields)], lines)
    width = len(line_format.columns)
    document = line_format.document_column
    value = line_format.value_column
    parse, key, query = line_format.parse_value, b"", ""
    for number, fields in lines:
        try:
            if fields[0] != key:
                key = fields[0]
                query = fields[0].decode()
            if len(fields) != width:
                raise ValueError(fields)
            yield number, query, fields[document].decode(), parse(fields[value])
        except ValueError as error:
            raise InputError(f"{path}, line {number}: {_describe_problem(error, fields, line_format)}") from None


def _describe_problem(error: ValueError, fields: list[bytes], line_format: _LineFormat) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "an id is not UTF-8; convert the file, for instance with iconv"
    if len(fields) != len(line_format.columns):
        return f"{format_count(len(fields), 'column')}; expected {_describe_columns(line_format)}"
    name, value = line_format.columns[line_format.value_column], fields[line_format.value_column]
    return f"{name} {value.decode(errors='replace')!r} is not {line_format.value_description}"


def _describe_columns(line_format: _LineFormat) -> str:
    return f"{len(line_format.columns)} ({' '.join(line_format.columns)})"


def _read_lines(path: Path) -> Iterator[tuple[int, list[bytes]]]:
    """Yield number and fields of each line that is not blank."""
    try:
        with path.open("rb") as raw, open_unpacked(raw, path, raw.peek(len(BZIP2_MAGIC))) as file:
            for number, line in enumerate(file, 1):
                if fields := (line.removeprefix(_BOM) if number == 1 else line).split():
                    yield number, fields
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _duplicate_document_error(path: Path, query: str) -> InputError:
    """Return the error with the line on which a document of the query occurs again; reads the file again to find it."""
    seen: set[str] = set()
    for number, other, document, _ in _read_rows(path, _RUN_FORMATS):
        if other == query and document in seen:
            return InputError(f"{path}, line {number}: document {document!r} occurs twice for query {query!r}")
        if other == query:
            seen.add(document)
    return InputError(f"{path}: the file changed while it was read")


def _sort_by_score(ids: list[str], scores: Floats) -> tuple[Sequence[str], Floats]:
    if np.all(scores[1:] <= scores[:-1]):
        return ids, scores
    order = np.argsort(-scores, kind="stable")
    return [ids[i] for i in order.tolist()], scores[order]


def _separate_ties(queries: Sequence[str], columns: Sequence[Columns]) -> Floats:
    """Return all scores, concatenated, each lowered if, as a 32-bit float, it is not below the one before it."""
    scores = np.concatenate([np.empty(0), *(own for _, own in columns)])
    starts = np.cumsum([0, *(len(own) for _, own in columns)])
    follows = np.ones(len(scores) + 1, np.bool_)
    follows[starts] = False
    with np.errstate(over="ignore"):
        single = scores.astype(np.float32)
        for i in np.flatnonzero(follows[1:-1] & ~(single[1:] < single[:-1])).tolist():
            while follows[i + 1] and single[i + 1] >= single[i]:
                scores[i + 1] = single[i + 1] = np.nextafter(single[i], np.float32(-np.inf))
                i += 1
    if not np.all(finite := np.isfinite(single)):
        query = queries[int(np.searchsorted(starts, np.argmin(finite), "right")) - 1]
        raise InputError(f"query {query!r}: a score is not finite as a 32-bit float, as trec_eval reads it")
    return scores


@contextmanager
def _open_atomically(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Open a file to write it atomically, gzipped if the name ends in .gz."""
    try:
        with (
            replace_file(path) as partial,
            partial.open("wb") as raw,
            gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) if path.suffix == ".gz" else raw as file,
        ):
            yield file
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
