"""Queries and candidates from JSON lines: askalike's own (`id`, `title`, `body`) or BEIR's (`_id`, `text`)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from askalike.core.errors import InputError
from askalike.core.types import Place, Question, RejectedRow
from askalike.readers._json import Row, read_json_lines
from askalike.readers._source import SourceFiles


def read_queries(path: Path) -> dict[str, Question]:
    """Return query id → query, in the file's order. Raises InputError with the invalid line."""
    queries: dict[str, Question] = {}
    for place, row in _read_objects(path):
        id = row.get("id", row.get("_id"))
        title = row.get("title") or row.get("text") or row.get("question")
        if not isinstance(id, str | int) or not isinstance(title, str):
            raise InputError(f'{place}: expected an object with "id" and "title" (or "_id" and "text")')
        if str(id) in queries:
            raise InputError(f"{place}: query id {id!r} appeared before; ids must differ")
        body = row.get("body") or (row.get("text") if row.get("title") else "") or ""
        queries[str(id)] = Question(str(id), title, str(body), language=row.get("language"))
    if not queries:
        raise InputError(f"{path}: holds no queries; expected one JSON object per line")
    return queries


def read_candidates(path: Path) -> dict[str, Sequence[str]]:
    """Return query id → ids of the documents to rank for it, in the file's order. Raises InputError."""
    candidates: dict[str, Sequence[str]] = {}
    for place, row in _read_objects(path):
        id, documents = row.get("_id", row.get("id")), row.get("candidates")
        if not isinstance(id, str | int) or not isinstance(documents, list):
            raise InputError(f'{place}: expected an object with "_id" and a list "candidates"')
        candidates[str(id)] = [str(d) for d in documents]
    return candidates


def _read_objects(path: Path) -> Iterator[tuple[Place, Row]]:
    for place, row in read_json_lines(SourceFiles(), path):
        if isinstance(row, RejectedRow):
            raise InputError(f"{place}: {row.reason}; expected one JSON object per line")
        yield place, row
