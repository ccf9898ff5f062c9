"""What people said of pairs: that a question shown to them asks what they asked, or does not; and what moderators did.

Some of it is held out: never learned from, so that rankers can be compared on it.
"""

import csv
import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from askalike.archive.store import Archive
from askalike.errors import InputError
from askalike.types import Question, Split

COLUMNS = ("query_id", "query", "candidate_id", "candidate", "label", "verdict", "given_at")
"""Of an export; the reader `pairs` takes the first five."""
HELD_OUT = 3
"""One in so many questions of the archive: what was said of it is held out."""
VERDICTS_SQL = """
    SELECT 'asked-' || MIN(number) OVER (PARTITION BY title, body), title, body, document, verdict, given_at FROM (
        SELECT number, title, body, chosen AS document, verdict, given_at FROM feedback
        WHERE verdict IN ('accept', 'reject')
        UNION ALL SELECT number, title, body, each.value, verdict, given_at FROM feedback, json_each(shown) each
        WHERE verdict = 'none_of_these'
    ) ORDER BY given_at, number
"""
DECISIONS_SQL = """
    SELECT q.id, q.title, q.body, p.other, p.state, p.decided_at FROM proposals p JOIN questions q ON q.id = p.question
    WHERE p.state IN ('accepted', 'rejected') ORDER BY p.decided_at, p.number
"""
RIGHT = ("accept", "accepted")


class Verdict(NamedTuple):
    """What somebody said once of a pair: the text that was asked, a question of the archive, whether it is the same."""

    query: Question
    document: str
    right: bool
    verdict: str


@dataclass(frozen=True, slots=True)
class Judged:
    """All that was said of a pair taken together: right where more said so than did not."""

    query: Question
    document: str
    right: bool


def verdicts(connection: sqlite3.Connection, decisions: bool = True) -> Iterator[Verdict]:
    """All that was said, the oldest first; then, with `decisions`, what moderators decided on likely duplicates.

    A text that was asked has an id of its own, `asked-N`, the same each time, and as its date when that was said.
    """
    for sql in (VERDICTS_SQL, DECISIONS_SQL) if decisions else (VERDICTS_SQL,):
        for id, title, body, document, verdict, at in connection.execute(sql):
            yield Verdict(Question(id, title, body, created_at=at), document, verdict in RIGHT, verdict)


def judged(connection: sqlite3.Connection, before: str | None = None) -> list[Judged]:
    """The pairs of an asked text and a question that most called right, or wrong; none where they are at odds.

    `before`: only what was said before that date.
    """
    votes: dict[tuple[str, str], int] = {}
    queries: dict[str, Question] = {}
    for verdict in verdicts(connection, decisions=False):
        if before is None or (verdict.query.created_at or "") < before:
            pair = verdict.query.id, verdict.document
            votes[pair] = votes.get(pair, 0) + (1 if verdict.right else -1)
            queries[verdict.query.id] = verdict.query
    return [Judged(queries[query], document, sum_ > 0) for (query, document), sum_ in votes.items() if sum_]


def held_out(document: str) -> bool:
    """Whether what was said of a question of the archive, by its id, is never learned from."""
    return hashlib.blake2b(document.encode(), digest_size=1).digest()[0] % HELD_OUT == 0


def to_learn(connection: sqlite3.Connection, before: str | None = None) -> list[Judged]:
    """What may be learned from: nothing of a text that is among those to compare on."""
    return [j for j, kept in _with_place(judged(connection, before)) if not kept]


def to_compare(archive: Archive) -> Split:
    """The texts held out, with the questions that are right for them; those without one in the archive are left out."""
    queries: dict[str, Question] = {}
    qrels: dict[str, dict[str, int]] = {}
    there = archive.view()
    found = [j for j, kept in _with_place(judged(archive.connection)) if kept and j.right]
    known = there.numbers({j.document for j in found})
    for one in found:
        if one.document in known:
            queries[one.query.id] = one.query
            qrels.setdefault(one.query.id, {})[one.document] = 1
    return Split(queries, qrels)


def rejected(connection: sqlite3.Connection) -> Mapping[str, list[str]]:
    """Asked text, or question, by its id → questions that people said are not the same; nothing that is held out."""
    found: dict[str, list[str]] = {}
    for one in to_learn(connection):
        if not one.right:
            found.setdefault(one.query.id, []).append(one.document)
    for verdict in verdicts(connection):
        if verdict.verdict == "rejected":
            found.setdefault(verdict.query.id, []).append(verdict.document)
    return found


def export(archive: Archive, path: Path) -> int:
    """Writes every verdict whose question is there as a row of CSV that `import pairs` reads; returns how many.

    Label 1 is right and 0 wrong. Raises InputError where the file cannot be written.
    """
    view, rows = archive.view(), 0
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(COLUMNS)
            for query, document, right, verdict in verdicts(archive.connection):
                for text in view.get([document]).values():
                    row = (query.id, query.title, document, text.title, int(right), verdict, query.created_at)
                    table.writerow(row)
                    rows += 1
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; expected a place that can be written to") from None
    return rows


def _with_place(found: Iterable[Judged]) -> Iterator[tuple[Judged, bool]]:
    """Each with whether it is held out: an asked text is, where anything right for it is."""
    listed = list(found)
    kept = {j.query.id for j in listed if j.right and held_out(j.document)}
    return ((j, j.query.id in kept) for j in listed)
