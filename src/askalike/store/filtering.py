"""Selects the documents that satisfy a filter, and finds the original of a duplicate."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askalike.core.filters import Filter, LeftOut
from askalike.core.types import DocumentKind
from askalike.store.database import Database

TARGETS_SQL = """SELECT l.source, l.target, t.number FROM json_each(?) k
    CROSS JOIN links l ON l.source = k.value AND l.kind = 'duplicate' AND l.target != l.source
    LEFT JOIN questions t ON t.id = l.target ORDER BY l.source, t.number, l.target"""
HAS_ORIGINAL_SQL = """SELECT s.number FROM links l JOIN questions s ON s.id = l.source
    JOIN questions t ON t.id = l.target WHERE l.kind = 'duplicate' AND l.source != l.target"""
"""SQL for the docids of duplicates whose original is in the archive."""


@dataclass(slots=True)
class Originals:
    """The originals of some questions. in_archive: duplicate → original. absent: duplicate → a missing original."""

    in_archive: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)


def find_originals(database: Database, ids: Iterable[str]) -> Originals:
    """Follow the duplicate links of these questions, through duplicates of duplicates, to their originals.

    Of several originals, the first in the archive counts. In a cycle of duplicates, the first one is the original.
    """
    wanted = list(dict.fromkeys(ids))
    targets: dict[str, list[str]] = {}
    docids: dict[str, int] = {}
    originals = Originals()
    unread, read = wanted, set[str]()
    while unread:
        rows = database._connection.read(TARGETS_SQL, (json.dumps(unread),))
        for source, target, docid in rows:
            if docid is None:
                originals.absent.setdefault(source, target)
            else:
                targets.setdefault(source, []).append(target)
                docids[target] = docid
        read.update(unread)
        unread = sorted({target for _, target, docid in rows if docid is not None} - read)
    for id in wanted:
        if id in targets and (original := _first_end(id, targets, docids)) != id:
            originals.in_archive[id] = original
    originals.absent = {id: target for id, target in originals.absent.items() if id not in targets}
    return originals


def _first_end(id: str, targets: dict[str, list[str]], docids: dict[str, int]) -> str:
    """Return the reachable question with the smallest docid that has no original itself; in a cycle the smallest."""
    reached: dict[str, None] = {}
    waiting = list(targets[id])
    while waiting:
        if (target := waiting.pop()) not in reached:
            reached[target] = None
            waiting += targets.get(target, ())
    ends = [target for target in reached if target not in targets] or list(reached)
    return min(ends, key=lambda target: docids[target])


LEFT_OUT_SQL: dict[LeftOut, str] = {
    "closed": """(instr(q.marks, '"closed"') OR (q.marks = '[]' AND (q.closed_at IS NOT NULL)))""",
    "locked": """instr(q.marks, '"locked"')""",
    "outdated": """instr(q.marks, '"outdated"')""",
    "unanswered": """NOT (instr(q.marks, '"answered"') OR (q.accepted_answer_id IS NOT NULL))""",
}
"""Excluded state → SQL condition, consistent with `Question.states`.

A duplicate with its original in the archive is never left out: the original is shown instead, and its states count.
"""


def select_filtered_docids(database: Database, kind: DocumentKind, filter: Filter) -> NDArray[np.int64]:
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
