"""Whole tables of an archive, row by row, for exports."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from askalike.store.database import Database
from askalike.store.records import ANSWER_COLUMNS

TableRows = Iterator[tuple[Any, ...]]

ANSWER_TABLE_COLUMNS = ("id", *ANSWER_COLUMNS, "imported_from")
LINK_COLUMNS = ("source", "target", "kind", "created_at", "imported_from")
QUERY_COLUMNS = ("split", "id", "title", "body", "markup", "language", "category", "created_at", "imported_from")
SOURCE_SQL = """(SELECT s.name FROM imports i JOIN sources s ON s.number = i.source_number
    WHERE i.number = import_number) AS imported_from"""
"""The column `imported_from`: the name of the source of a row; NULL if it has none."""
JUDGEMENT_COLUMNS = ("split", "query_id", "document_id", "relevance", "position", "record_type")


def link_rows(database: Database) -> TableRows:
    """Yield LINK_COLUMNS of every link, even if its ends do not exist."""
    yield from database._connection.execute(f"SELECT {_select(LINK_COLUMNS)} FROM links")


def duplicate_targets(database: Database, ids: Sequence[str]) -> dict[str, list[str]]:
    """Map each of these questions with a duplicate link to the ids of its originals, sorted."""
    sql = """SELECT source, target FROM links WHERE kind = 'duplicate' AND source IN (SELECT value FROM json_each(?))
        ORDER BY source, target"""
    targets: dict[str, list[str]] = {}
    for source, target in database._connection.execute(sql, (json.dumps(ids),)):
        targets.setdefault(source, []).append(target)
    return targets


def answer_rows(database: Database) -> TableRows:
    """Yield ANSWER_TABLE_COLUMNS of every answer, by docid."""
    yield from database._connection.execute(f"SELECT {_select(ANSWER_TABLE_COLUMNS)} FROM answers ORDER BY number")


def query_rows(database: Database) -> TableRows:
    """Yield QUERY_COLUMNS of every imported query, in the order of import."""
    yield from database._connection.execute(f"SELECT {_select(QUERY_COLUMNS)} FROM queries ORDER BY rowid")


def judgement_rows(database: Database) -> TableRows:
    """Yield JUDGEMENT_COLUMNS of every imported judgement, by split, kind and query."""
    columns = ", ".join(JUDGEMENT_COLUMNS)
    yield from database._connection.execute(f"SELECT {columns} FROM judgements ORDER BY split, record_type, query_id")


def extra_judgement_rows(database: Database) -> TableRows:
    """Yield JUDGEMENT_COLUMNS of rows that do not fit into qrels: candidates, judged answers, missing queries."""
    yield from database._connection.execute(f"""
        SELECT {", ".join(JUDGEMENT_COLUMNS)} FROM judgements AS j
        WHERE position IS NOT NULL OR relevance IS NULL OR record_type != 'questions'
        OR NOT EXISTS (SELECT 1 FROM queries AS q WHERE q.split = j.split AND q.id = j.query_id)
        ORDER BY split, record_type, query_id, position, document_id
    """)


def query_sources(database: Database, split: str) -> dict[str, str]:
    """Map the id of each query of an imported split to the name of its source, if it has one."""
    sql = f"SELECT id, {SOURCE_SQL} FROM queries WHERE split = ?"
    return {id: name for id, name in database._connection.execute(sql, (split,)) if name is not None}


def _select(columns: Sequence[str]) -> str:
    return ", ".join(SOURCE_SQL if name == "imported_from" else name for name in columns)
