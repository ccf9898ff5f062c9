"""Integrity checks of an archive: rows with missing references, contradictions, or missing values."""

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from askalike.store.database import Database, fetch_int

BOTH_ENDS_SQL = "links l JOIN questions s ON s.id = l.source JOIN questions t ON t.id = l.target WHERE l.kind ="
BROKEN_LINK_SQL = """NOT EXISTS (SELECT 1 FROM questions q WHERE q.id = source)
    OR NOT EXISTS (SELECT 1 FROM questions q WHERE q.id = target)"""
RELATED_SQL = "EXISTS (SELECT 1 FROM links r WHERE r.kind = 'related' AND r.source = l.{} AND r.target = l.{})"
OWN_ANSWER_SQL = "EXISTS (SELECT 1 FROM answers a WHERE a.question_id = q.id)"
ORIGINALS_ANSWER_SQL = """EXISTS (WITH RECURSIVE originals(id) AS (SELECT q.id UNION SELECT l.target
    FROM links l JOIN originals o ON l.source = o.id WHERE l.kind = 'duplicate')
    SELECT 1 FROM answers a JOIN originals o ON o.id = a.question_id)"""

FAULTS: Mapping[str, tuple[str, str, str]] = {
    "unanswered_questions": ("id", "questions q WHERE TRUE", f"""EXISTS (SELECT 1 FROM answers)
        AND NOT {OWN_ANSWER_SQL} AND NOT {ORIGINALS_ANSWER_SQL} ORDER BY number"""),
    "absent_accepted_answers": ("id", "questions q WHERE accepted_answer_id IS NOT NULL",
        "NOT EXISTS (SELECT 1 FROM answers a WHERE a.id = q.accepted_answer_id) ORDER BY number"),
    "answers_without_question": ("id", "answers a WHERE TRUE",
        "NOT EXISTS (SELECT 1 FROM questions q WHERE q.id = a.question_id) ORDER BY number"),
    "broken_duplicate_links": ("source || ' → ' || target", "links WHERE kind = 'duplicate'", f"({BROKEN_LINK_SQL})"),
    "broken_related_links": ("source || ' → ' || target", "links WHERE kind = 'related'", f"({BROKEN_LINK_SQL})"),
    "broken_judgements": ("j.split || ': ' || j.query_id || ' → ' || j.document_id", "judgements j WHERE TRUE", """
        (NOT EXISTS (SELECT 1 FROM queries x WHERE x.split = j.split AND x.id = j.query_id) OR CASE j.record_type
        WHEN 'answers' THEN NOT EXISTS (SELECT 1 FROM answers x WHERE x.id = j.document_id)
        ELSE NOT EXISTS (SELECT 1 FROM questions q WHERE q.id = j.document_id) END)"""),
    "related_duplicates": ("l.source || ' → ' || l.target", f"{BOTH_ENDS_SQL} 'duplicate'",
        f"({RELATED_SQL.format('source', 'target')} OR {RELATED_SQL.format('target', 'source')})"),
    "unknown_languages": ("id", "questions WHERE TRUE", "language IS NULL ORDER BY number"),
}  # fmt: skip
"""Name of a fault → SQL for a row's name, the rows that can have the fault, and its condition."""


class Matches(NamedTuple):
    """Number of rows that satisfy a condition, number of all rows, and a few of their ids."""

    matching: int
    total: int
    examples: tuple[str, ...]


def find_faults(database: Database, fault: str, limit: int) -> Matches:
    """Return the number of rows with one of FAULTS, and the names of the first."""
    row_name, rows, condition = FAULTS[fault]
    count = fetch_int(database, f"SELECT COUNT(*) FROM {rows} AND {condition}")
    named = database._connection.execute(f"SELECT {row_name} FROM {rows} AND {condition} LIMIT {limit}")
    total = fetch_int(database, f"SELECT COUNT(*) FROM {rows}")
    return Matches(count, total, tuple(str(name) for (name,) in named))


def question_in_language(database: Database, language: str, default: str | None) -> str | None:
    """Return the id of the first question in a language; `default` is the language of questions without one."""
    sql = "SELECT id FROM questions WHERE COALESCE(language, ?) = ? ORDER BY number LIMIT 1"
    row = database._connection.execute(sql, (default, language)).fetchone()
    return row[0] if row else None


def find_identical_questions(database: Database) -> Iterator[list[str]]:
    """Yield the sorted ids of each group of questions with the same title (ignoring case) and the same body."""
    sql = """SELECT json_group_array(id) FROM questions GROUP BY lower(trim(title)), trim(body)
        HAVING COUNT(*) > 1 ORDER BY MIN(number)"""
    for (ids,) in database._connection.execute(sql):
        yield sorted(json.loads(ids))
