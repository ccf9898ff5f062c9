"""Who is relevant to whom, as it is stored: what given splits, derived splits and parts of partitions know."""

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from askalike.types import Question

ANSWERS_SPLIT = "answers"
"""The split whose queries are the archive's own questions, and whose documents are its answers."""
SPLIT_ORDER = {"train": 0, "dev": 1, "test": 2}

IMPORTED_LABELS_SQL = (
    "SELECT x.id, COALESCE(q.id, x.split || char(10) || x.id), j.document_id FROM queries x "
    "LEFT JOIN questions q ON q.id = x.id AND q.title = x.title LEFT JOIN judgements j ON j.split = x.split "
    "AND j.query_id = x.id AND j.of = 'questions' AND j.relevance > 0 WHERE x.split = ? ORDER BY x.rowid"
)
DERIVED_LABELS_SQL: Mapping[str, str] = {
    "duplicates": (
        "SELECT l.source, l.source, l.target FROM links l JOIN questions s ON s.id = l.source "
        "JOIN questions t ON t.id = l.target WHERE l.kind = 'duplicate' AND l.source != l.target "
        "ORDER BY s.number, t.number"
    ),
    "rephrasings": (
        "SELECT q.id || '#' || (e.key + 1), q.id, q.id FROM questions q, json_each(q.rephrasings) e "
        "WHERE q.rephrasings != '[]' ORDER BY q.number, e.key"
    ),
    "answers": (
        "SELECT id, id, id FROM questions q WHERE EXISTS (SELECT 1 FROM answers a WHERE a.question_id = q.id "
        "AND TRIM(a.body) != '' AND COALESCE(a.label, 'Good') = 'Good') ORDER BY number"
    ),
}
"""Of splits made of what an archive itself knows, the labels as `Label` has them."""


class RelevanceLabel(NamedTuple):
    """A query and a question relevant to it; None where the query has no relevant question.

    `text` is what stands for the query among the texts: the id of the question that it is, or is a phrasing of; for a
    query from elsewhere a name of its own.
    """

    query_id: str
    text_id: str
    relevant_id: str | None


class PartitionPart(NamedTuple):
    """The place of a part: `name` of the partition `partition`, which was cut from the split `of`."""

    partition: str
    name: str
    source_split: str


def imported_splits(connection: sqlite3.Connection) -> list[str]:
    """The names of the splits whose queries an evaluation set gave: train, dev, test, then by name."""
    names = [name for (name,) in connection.execute("SELECT DISTINCT split FROM queries")]
    return sorted(names, key=lambda name: (SPLIT_ORDER.get(name, len(SPLIT_ORDER)), name))


def imported_queries(connection: sqlite3.Connection, split: str) -> dict[str, Question]:
    """The queries of a given split, in the order they were imported."""
    sql = "SELECT id, title, body, markup, language, category, created_at FROM queries WHERE split = ? ORDER BY rowid"
    return {row[0]: _query_from_row(row) for row in connection.execute(sql, (split,))}


def partition_parts(connection: sqlite3.Connection) -> dict[str, PartitionPart]:
    """`PARTITION/PART` → the part, for all partitions kept: by name, and train, dev, test or folds in their order."""
    sql = "SELECT DISTINCT p.name, x.part, p.of FROM partitions p JOIN parts x ON x.partition = p.name"
    found = [PartitionPart(*row) for row in connection.execute(sql)]
    found.sort(key=lambda part: (part.partition, SPLIT_ORDER.get(part.name, 0), len(part.name), part.name))
    return {f"{part.partition}/{part.name}": part for part in found}


def read_labels(connection: sqlite3.Connection, split: str) -> Iterator[RelevanceLabel]:
    """The labels of a split, by its queries' order; none where no split has that name."""
    if connection.execute("SELECT EXISTS (SELECT 1 FROM queries WHERE split = ?)", (split,)).fetchone()[0]:
        yield from map(RelevanceLabel._make, connection.execute(IMPORTED_LABELS_SQL, (split,)))
    elif split in DERIVED_LABELS_SQL:
        yield from map(RelevanceLabel._make, connection.execute(DERIVED_LABELS_SQL[split]))
    elif part := partition_parts(connection).get(split):
        own = part_query_ids(connection, part)
        yield from (label for label in read_labels(connection, part.source_split) if label.query_id in own)


def part_query_ids(connection: sqlite3.Connection, part: PartitionPart) -> set[str]:
    """The ids of the queries that are in a part."""
    sql = "SELECT query_id FROM parts WHERE partition = ? AND part = ?"
    return {id for (id,) in connection.execute(sql, (part.partition, part.name))}


def ranks_answers(connection: sqlite3.Connection, split: str) -> bool:
    """Whether a split's queries look for answers: it is `answers`, or a part that was cut from it."""
    known = partition_parts(connection)
    while split in known:
        split = known[split].source_split
    return split == ANSWERS_SPLIT


def split_exists(connection: sqlite3.Connection, split: str) -> bool:
    """Whether a split of that name has a query."""
    return next(read_labels(connection, split), None) is not None


def _query_from_row(row: tuple[Any, ...]) -> Question:
    id, title, body, markup, language, category, created_at = row
    return Question(id, title, body, markup, category=category, language=language, created_at=created_at)
