"""Whole tables of an archive, row by row, for exports."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from askalike.store.database import Database
from askalike.store.records import ANSWER_COLUMNS

TABLE_COLUMNS: Mapping[str, Sequence[str]] = {
    "answers": ("id", *ANSWER_COLUMNS, "imported_from"),
    "links": ("source", "target", "kind", "created_at", "imported_from"),
    "queries": ("split", "id", "title", "body", "markup", "language", "category", "created_at", "imported_from"),
    "judgements": ("split", "query_id", "document_id", "relevance", "position", "record_type"),
}
"""Table → its columns in an export; `imported_from` is the name of the row's source, NULL if it has none."""
ORDERS = {
    "answers": "number",
    "links": "source, target, kind",
    "queries": "rowid",
    "judgements": "split, record_type, query_id, position, document_id",
}
SOURCE_SQL = """(SELECT s.name FROM imports i JOIN sources s ON s.number = i.source_number
    WHERE i.number = import_number) AS imported_from"""
NOT_IN_QRELS_SQL = """position IS NOT NULL OR relevance IS NULL OR record_type != 'questions'
    OR NOT EXISTS (SELECT 1 FROM queries q WHERE q.split = judgements.split AND q.id = judgements.query_id)"""
"""SQL condition: a judgement does not fit into qrels, as a candidate, a judged answer, or one of a missing query."""


def table_rows(database: Database, table: str, condition: str = "TRUE") -> Iterator[tuple[Any, ...]]:
    """Yield TABLE_COLUMNS of the rows of a table, also of links without ends, in the order of ORDERS."""
    columns = ", ".join(SOURCE_SQL if name == "imported_from" else name for name in TABLE_COLUMNS[table])
    yield from database._connection.execute(f"SELECT {columns} FROM {table} WHERE {condition} ORDER BY {ORDERS[table]}")


def duplicate_targets(database: Database, ids: Sequence[str]) -> dict[str, list[str]]:
    """Map each of these questions with a duplicate link to the ids of its originals, sorted."""
    sql = """SELECT source, target FROM links WHERE kind = 'duplicate' AND source IN (SELECT value FROM json_each(?))
        ORDER BY source, target"""
    targets: dict[str, list[str]] = {}
    for source, target in database._connection.execute(sql, (json.dumps(ids),)):
        targets.setdefault(source, []).append(target)
    return targets


def query_sources(database: Database, split: str) -> dict[str, str]:
    """Map the id of each query of an imported split to the name of its source, if it has one."""
    sql = f"SELECT id, {SOURCE_SQL} FROM queries WHERE split = ?"
    return {id: name for id, name in database._connection.execute(sql, (split,)) if name is not None}
