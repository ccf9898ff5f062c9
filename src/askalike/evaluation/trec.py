"""Reads and writes runs and judgements: TREC, BEIR and SemEval Task 3 files, gzipped or not.

Runs: TREC `query Q0 document rank score tag`, SemEval `query document rank score true|false`. Judgements: TREC
`query 0 document grade`, BEIR's three columns below their header, SemEval's gold lines. The rank column is ignored,
as trec_eval does.
"""

import gzip
import os
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from askalike.errors import InputError
from askalike.evaluation.formats import QRELS_FORMATS, RUN_FORMATS, read_rows
from askalike.types import Qrels, Run


def read_run(path: str | Path) -> Run:
    """The run in a TREC or SemEval file, each query's hits by score, ties in file order.

    The lines of a query need not follow each other. Raises InputError, with file and line, for a wrong number of
    columns, a score that is not a finite number, a document twice in one query, text that is not UTF-8, an empty file.
    """
    path = Path(path)
    columns: dict[str, tuple[list[str], array[float]]] = {}
    shared: dict[str, str] = {}
    current = None
    for _, query, document, score in read_rows(path, RUN_FORMATS):
        if query is not current:  # `rows` hands out one object as long as the query stays
            current = query
            ids, scores = columns.setdefault(query, ([], array("d")))
        ids.append(shared.setdefault(document, document))
        scores.append(score)
    for query, (ids, _) in columns.items():
        if len(set(ids)) < len(ids):
            raise _duplicate_document_error(path, query)
    return Run({query: _sort_by_score(ids, np.frombuffer(scores)) for query, (ids, scores) in columns.items()})


def read_qrels(path: str | Path) -> Qrels:
    """The judgements in a TREC, BEIR or SemEval gold file (true = 1, false = 0).

    Raises InputError, with file and line, for what `read_run` refuses too and for a grade that is not a whole number.
    """
    path = Path(path)
    qrels: dict[str, dict[str, int]] = {}
    for number, query, document, grade in read_rows(path, QRELS_FORMATS):
        grades = qrels.setdefault(query, {})
        if document in grades:
            raise InputError(f"{path}, line {number}: document {document!r} is judged twice for query {query!r}")
        grades[document] = int(grade)
    if not qrels:
        raise InputError(f"{path}: a header and no judgement below it")
    return qrels


def write_run(run: Run, path: str | Path, tag: str) -> None:
    """Writes a TREC run (gzipped where the name ends in .gz); the file appears whole or not at all.

    Scores fall strictly when read as 32-bit floats, as trec_eval reads them, so that every tool keeps this run's
    order: a score that already lies below its predecessor's stays as it is, one that does not is set to the next
    smaller 32-bit float. A query without hits leaves no line. Raises InputError for ids or a tag that are not one
    word, for scores that are not finite as 32-bit floats, and where the file cannot be written.
    """
    if len(tag.split()) != 1:
        raise InputError(f"tag {tag!r}: a run's tag is one word")
    with _open_atomically(Path(path)) as file:
        for query in run:
            ids, scores = run.columns(query)
            if " ".join((query, *ids)).split() != [query, *ids]:
                raise InputError(f"query {query!r}: its id or a document's is empty or has white space in it")
            hits = enumerate(zip(ids, _make_strictly_decreasing(scores, query).tolist(), strict=True), 1)
            lines = (f"{query} Q0 {document} {rank} {score!r} {tag}\n" for rank, (document, score) in hits)
            file.write("".join(lines).encode())


def separate_ties(run: Run) -> Run:
    """The run with scores that fall strictly as 32-bit floats, as `write_run` writes them."""
    return Run({q: (run.columns(q)[0], _make_strictly_decreasing(run.columns(q)[1], q)) for q in run})


def _duplicate_document_error(path: Path, query: str) -> InputError:
    """Reads the file again, for the line on which a document of the query comes for the second time."""
    seen: set[str] = set()
    for number, other, document, _ in read_rows(path, RUN_FORMATS):
        if other == query and document in seen:
            return InputError(f"{path}, line {number}: document {document!r} comes twice for query {query!r}")
        if other == query:
            seen.add(document)
    return InputError(f"{path}: changed while it was read")


def _sort_by_score(ids: list[str], scores: NDArray[np.float64]) -> tuple[Sequence[str], NDArray[np.float64]]:
    if np.all(scores[1:] <= scores[:-1]):
        return ids, scores
    order = np.argsort(-scores, kind="stable")
    return [ids[i] for i in order.tolist()], scores[order]


def _make_strictly_decreasing(scores: NDArray[np.float64], query: str) -> NDArray[np.float64]:
    """The scores, each nudged down where, as a 32-bit float, it does not lie below the one before it."""
    with np.errstate(over="ignore"):
        single = scores.astype(np.float32)
        if not np.all(single[1:] < single[:-1]):
            scores = scores.copy()
            for i in range(1, len(scores)):
                if single[i] >= single[i - 1]:
                    scores[i] = single[i] = np.nextafter(single[i - 1], np.float32(-np.inf))
    if not np.all(np.isfinite(single)):
        raise InputError(f"query {query!r}: a score is not finite as a 32-bit float, which is what trec_eval reads")
    return scores


@contextmanager
def _open_atomically(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """A file beside `path` that takes its name once it is complete."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with partial.open("wb") as raw, _open_gzip_writer(raw) if path.suffix == ".gz" else raw as file:
            yield file
        partial.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _open_gzip_writer(raw: IO[bytes]) -> gzip.GzipFile:
    return gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0)
