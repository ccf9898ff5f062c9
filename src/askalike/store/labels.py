"""The labels that an archive holds: imported splits with their judgements, derived splits, and parts of partitions."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from askalike.store.database import Database
from askalike.store.partitions import SPLIT_ORDER, part_query_ids, partition_parts
from askalike.types import DocumentKind, Question

ANSWERS_SPLIT = "answers"
"""The split whose queries are the archive's own questions, and whose documents are its answers."""

IMPORTED_LABELS_SQL = """SELECT x.id, COALESCE(q.id, x.split || char(10) || x.id), j.document_id FROM queries x
    LEFT JOIN questions q ON q.id = x.id AND q.title = x.title LEFT JOIN judgements j ON j.split = x.split
    AND j.query_id = x.id AND j.of = 'questions' AND j.relevance > 0 WHERE x.split = ? ORDER BY x.rowid"""
DERIVED_LABELS_SQL: Mapping[str, str] = {
    "duplicates": """SELECT l.source, l.source, l.target FROM links l JOIN questions s ON s.id = l.source
        JOIN questions t ON t.id = l.target WHERE l.kind = 'duplicate' AND l.source != l.target
        ORDER BY s.number, t.number""",
    "rephrasings": """SELECT q.id || '#' || (e.key + 1), q.id, q.id FROM questions q, json_each(q.rephrasings) e
        WHERE q.rephrasings != '[]' ORDER BY q.number, e.key""",
    "answers": """SELECT id, id, id FROM questions q WHERE EXISTS (SELECT 1 FROM answers a WHERE a.question_id = q.id
        AND TRIM(a.body) != '' AND COALESCE(a.label, 'Good') = 'Good') ORDER BY number""",
}
"""The name of each derived split → a query for its labels, with the columns of `RelevanceLabel`."""


class RelevanceLabel(NamedTuple):
    """A query and a question relevant to it; None where the query has no relevant question.

    `text_id` is what stands for the query among the texts: the id of the question that it is, or is a phrasing of; for
    a query from elsewhere an id that no question has.
    """

    query_id: str
    text_id: str
    relevant_id: str | None


def imported_splits(database: Database) -> list[str]:
    """Return the names of the imported splits: train, dev, test, then the others by name."""
    names = [name for (name,) in database._connection.execute("SELECT DISTINCT split FROM queries")]
    return sorted(names, key=lambda name: (SPLIT_ORDER.get(name, len(SPLIT_ORDER)), name))


def judged_splits(database: Database, kind: DocumentKind) -> set[str]:
    """Return the names of the imported splits with judgements or candidates that are questions (or answers)."""
    sql = "SELECT DISTINCT split FROM judgements WHERE of = ?"
    return {name for (name,) in database._connection.execute(sql, (kind,))}


def imported_queries(database: Database, split: str) -> dict[str, Question]:
    """Return the queries of an imported split by id, in the order of import."""
    sql = "SELECT id, title, body, markup, language, category, created_at FROM queries WHERE split = ? ORDER BY rowid"
    return {row[0]: _query_from_row(row) for row in database._connection.execute(sql, (split,))}


def imported_qrels(database: Database, split: str, kind: DocumentKind) -> Iterator[tuple[str, str, int]]:
    """Yield the query id, document id and relevance of each judgement of an imported split, ordered by the ids."""
    sql = """SELECT query_id, document_id, relevance FROM judgements WHERE split = ? AND of = ?
        AND relevance IS NOT NULL ORDER BY query_id, document_id"""
    yield from database._connection.execute(sql, (split, kind))


def imported_candidates(database: Database, split: str, kind: DocumentKind) -> Iterator[tuple[str, str]]:
    """Yield the query id and document id of each candidate of an imported split: by query, then in its given order."""
    sql = """SELECT query_id, document_id FROM judgements WHERE split = ? AND of = ? AND position IS NOT NULL
        ORDER BY query_id, position, document_id"""
    yield from database._connection.execute(sql, (split, kind))


def irrelevant_judgements(database: Database) -> Iterator[tuple[str, str, str]]:
    """Yield split, query id and document id of each question that is judged irrelevant, ordered by these."""
    yield from database._connection.execute(
        "SELECT split, query_id, document_id FROM judgements WHERE of = 'questions' AND relevance <= 0 ORDER BY 1, 2, 3"
    )


def read_labels(database: Database, split: str) -> Iterator[RelevanceLabel]:
    """Yield the labels of a split in the order of its queries; none where no split has that name."""
    execute = database._connection.execute
    if execute("SELECT EXISTS (SELECT 1 FROM queries WHERE split = ?)", (split,)).fetchone()[0]:
        yield from map(RelevanceLabel._make, execute(IMPORTED_LABELS_SQL, (split,)))
    elif split in DERIVED_LABELS_SQL:
        yield from map(RelevanceLabel._make, execute(DERIVED_LABELS_SQL[split]))
    elif part := partition_parts(database).get(split):
        query_ids = part_query_ids(database, part)
        yield from (label for label in read_labels(database, part.source_split) if label.query_id in query_ids)


def ranks_answers(database: Database, split: str) -> bool:
    """Return whether the documents of a split are answers, as those of `answers` and of its parts are."""
    parts = partition_parts(database)
    while split in parts:
        split = parts[split].source_split
    return split == ANSWERS_SPLIT


def split_exists(database: Database, split: str) -> bool:
    """Return whether a split of that name has a query."""
    return next(read_labels(database, split), None) is not None


def _query_from_row(row: tuple[Any, ...]) -> Question:
    id, title, body, markup, language, category, created_at = row
    return Question(id, title, body, markup, category=category, language=language, created_at=created_at)
