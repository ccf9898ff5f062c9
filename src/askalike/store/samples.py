"""Seeded samples of an archive's questions and answers, for what is too slow to count in full; seeded orders."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from askalike.store.view import ANSWER_SQL, CHUNK_ROWS, QUESTION_SQL, View, answer_from_row, question_from_row
from askalike.types import Answer, Question

SAMPLE_SIZE = 20_000


def sample_questions(view: View, size: int = SAMPLE_SIZE, seed: int = 0) -> Iterator[Question]:
    """At most `size` questions drawn without replacement, in the archive's order; all where there are no more."""
    return map(question_from_row, _sample_rows(view, f"{QUESTION_SQL} WHERE number", "questions", size, seed))


def sample_answers(view: View, size: int = SAMPLE_SIZE, seed: int = 0) -> Iterator[Answer]:
    """At most `size` answers drawn without replacement, in the archive's order; all where there are no more."""
    return map(answer_from_row, _sample_rows(view, f"{ANSWER_SQL} WHERE a.number", "answers", size, seed))


def shuffle_names(names: Iterable[str], seed: int) -> list[str]:
    """Names in an order that the seed and the names alone decide, in whatever order they come."""
    return sorted(names, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())


def _sample_rows(view: View, sql: str, table: str, size: int, seed: int) -> Iterator[Sequence[Any]]:
    rows = view._connection.execute(f"SELECT number FROM {table} ORDER BY number")
    numbers = np.fromiter((number for (number,) in rows), np.int64)
    if len(numbers) > size:
        numbers = np.sort(np.random.default_rng(seed).choice(numbers, size, replace=False))
    for start in range(0, len(numbers), CHUNK_ROWS):
        wanted = ",".join(map(str, numbers[start : start + CHUNK_ROWS]))
        yield from view._connection.execute(f"{sql} IN (SELECT value FROM json_each(?)) ORDER BY 1", (f"[{wanted}]",))
