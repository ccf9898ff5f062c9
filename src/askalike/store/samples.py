"""Seeded samples of questions and answers, for statistics that are slow to compute in full; seeded orders."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from askalike.store.view import ANSWER_SQL, CHUNK_ROWS, QUESTION_SQL, View, answer_from_row, question_from_row
from askalike.types import Answer, Question

SAMPLE_SIZE = 20_000


def sample_questions(view: View, size: int = SAMPLE_SIZE, seed: int = 0) -> Iterator[Question]:
    """Draw at most `size` questions of the archive without replacement; they come by docid."""
    return map(question_from_row, _sample_rows(view, f"{QUESTION_SQL} WHERE number", "questions", size, seed))


def sample_answers(view: View, size: int = SAMPLE_SIZE, seed: int = 0) -> Iterator[Answer]:
    """Draw at most `size` answers of the archive without replacement; they come by docid."""
    return map(answer_from_row, _sample_rows(view, f"{ANSWER_SQL} WHERE a.number", "answers", size, seed))


def shuffle_names(names: Iterable[str], seed: int) -> list[str]:
    """Return names in an order that depends on the seed and the names alone, not on the given order."""
    return sorted(names, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())


def _sample_rows(view: View, sql: str, table: str, size: int, seed: int) -> Iterator[Sequence[Any]]:
    rows = view._connection.execute(f"SELECT number FROM {table} ORDER BY number")
    docids = np.fromiter((docid for (docid,) in rows), np.int64)
    if len(docids) > size:
        docids = np.sort(np.random.default_rng(seed).choice(docids, size, replace=False))
    for start in range(0, len(docids), CHUNK_ROWS):
        chunk = json.dumps(docids[start : start + CHUNK_ROWS].tolist())
        yield from view._connection.execute(f"{sql} IN (SELECT value FROM json_each(?)) ORDER BY 1", (chunk,))
