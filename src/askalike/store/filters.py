"""The rows that a filter selects, and the tags that it may name."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from askalike.core.arrays import Ints
from askalike.core.errors import SettingsError
from askalike.core.filters import Filter, LeftOut
from askalike.core.records import DocumentKind
from askalike.store.database import Database, fetch_int

HAS_ORIGINAL_SQL = """SELECT s.number FROM links l JOIN questions s ON s.id = l.source
    JOIN questions t ON t.id = l.target WHERE l.kind = 'duplicate' AND l.source != l.target"""
"""SQL for the docids of duplicates whose original is in the archive."""
LEFT_OUT_SQL: dict[LeftOut, str] = {
    "closed": """(instr(q.marks, '"closed"') OR (q.marks = '[]' AND (q.closed_at IS NOT NULL)))""",
    "locked": """instr(q.marks, '"locked"')""",
    "outdated": """instr(q.marks, '"outdated"')""",
    "unanswered": """NOT (instr(q.marks, '"answered"') OR (q.accepted_answer_id IS NOT NULL))""",
}
"""Excluded state → SQL condition, consistent with `Question.states`.

A duplicate with its original in the archive is never left out: the original is shown instead, and its states count.
"""


def select_filtered_docids(database: Database, kind: DocumentKind, filter: Filter) -> Ints:
    """Return the docids of the questions that satisfy a filter, or of the answers to them, ascending (int64)."""
    values: list[Any] = []
    sql = "SELECT q.number FROM questions q WHERE 1"
    if kind == "answers":
        sql = "SELECT a.number FROM answers a JOIN questions q ON q.id = a.question_id WHERE 1"
    for tag in filter.tags:
        sql += " AND q.number IN (SELECT question_number FROM question_tags WHERE tag = ?)"
        values.append(escape_surrogates(tag))
    for sign, date in ((">=", filter.after), ("<", filter.before)):
        if date:
            sql += f" AND q.created_at {sign} ?"
            values.append(escape_surrogates(date))
    for left_out in filter.without:
        sql += f" AND (NOT ({LEFT_OUT_SQL[left_out]}) OR q.number IN ({HAS_ORIGINAL_SQL}))"
    rows = database._connection.execute(f"{sql} ORDER BY 1", values)
    return np.fromiter((n for (n,) in rows), np.int64)


def escape_surrogates(text: str) -> str:
    """Escape lone surrogates, which SQLite rejects and no stored text contains."""
    return text.encode(errors="backslashreplace").decode()


class UnknownTagError(SettingsError):
    """A filter requires a tag that no question of the archive has."""


def require_tags(database: Database, tags: Sequence[str]) -> None:
    """Raise UnknownTagError for a tag that no question of the archive has."""
    for tag in tags:
        sql = "SELECT EXISTS (SELECT 1 FROM question_tags WHERE tag = ?)"
        if not fetch_int(database, sql, escape_surrogates(tag)):
            known = [name for (name,) in database._connection.execute("SELECT DISTINCT tag FROM question_tags")]
            similar = get_close_matches(tag.lower(), known, 3)
            advice = f"; similar ones: {', '.join(similar)}" if similar else ""
            raise UnknownTagError(f"tag {tag!a}: no question has it{advice}")
