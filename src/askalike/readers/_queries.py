"""Queries and candidates from JSON lines: askalike's own (`id`, `title`, `body`) or BEIR's (`_id`, `text`)."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from askalike.errors import InputError
from askalike.types import Question


def read_queries(path: Path) -> dict[str, Question]:
    """Return query id → query, in the file's order. Raises InputError with the line that is wrong."""
    queries: dict[str, Question] = {}
    for line, row in _read_objects(path):
        id = row.get("id", row.get("_id"))
        title = row.get("title") or row.get("text") or row.get("question")
        if not isinstance(id, str | int) or not isinstance(title, str):
            raise InputError(f'{path}:{line}: expected an object with "id" and "title" (or "_id" and "text")')
        if str(id) in queries:
            raise InputError(f"{path}:{line}: query id {id!r} appeared before; ids must differ")
        body = row.get("body") or (row.get("text") if row.get("title") else "") or ""
        queries[str(id)] = Question(str(id), title, str(body), language=row.get("language"))
    if not queries:
        raise InputError(f"{path}: holds no query; expected one JSON object a line")
    return queries


def read_candidates(path: Path) -> dict[str, Sequence[str]]:
    """Return query id → ids of the documents to rank for it, in the file's order. Raises InputError."""
    candidates: dict[str, Sequence[str]] = {}
    for line, row in _read_objects(path):
        id, documents = row.get("_id", row.get("id")), row.get("candidates")
        if not isinstance(id, str | int) or not isinstance(documents, list):
            raise InputError(f'{path}:{line}: expected an object with "_id" and a list "candidates"')
        candidates[str(id)] = [str(d) for d in documents]
    return candidates


def _read_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with open(path, encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, _parse_object(path, number, line)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; expected a file of JSON lines") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 (byte {error.start}); convert the file") from None


def _parse_object(path: Path, line_number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise InputError(f"{path}:{line_number}: not JSON ({error}); expected one object a line") from None
    if not isinstance(row, dict):
        raise InputError(f"{path}:{line_number}: expected a JSON object, found {type(row).__name__}")
    return row
