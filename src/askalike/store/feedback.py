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

from askalike.errors import InputError
from askalike.store.archive import Archive
from askalike.types import Question, Split

EXPORT_COLUMNS = ("query_id", "query", "candidate_id", "candidate", "label", "verdict", "given_at")
"""Of an export; the reader `pairs` takes the first five."""
HELD_OUT_ONE_IN = 3
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
POSITIVE_VERDICTS = ("accept", "accepted")


class PairVerdict(NamedTuple):
    """What somebody said once of a pair: the text that was asked, a question of the archive, whether it is the same."""

    query: Question
    document_id: str
    relevant: bool
    verdict: str


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """All that was said of a pair taken together: right where more said so than did not."""

    query: Question
    document_id: str
    relevant: bool


def read_verdicts(connection: sqlite3.Connection, include_decisions: bool = True) -> Iterator[PairVerdict]:
    """All that was said, the oldest first; then, with `decisions`, what moderators decided on likely duplicates.

    A text that was asked has an id of its own, `asked-N`, the same each time, and as its date when that was said.
    """
    for sql in (VERDICTS_SQL, DECISIONS_SQL) if include_decisions else (VERDICTS_SQL,):
        for id, title, body, document, verdict, at in connection.execute(sql):
            yield PairVerdict(Question(id, title, body, created_at=at), document, verdict in POSITIVE_VERDICTS, verdict)


def judged_pairs(connection: sqlite3.Connection, before: str | None = None) -> list[JudgedPair]:
    """The pairs of an asked text and a question that most called right, or wrong; none where they are at odds.

    `before`: only what was said before that date.
    """
    votes: dict[tuple[str, str], int] = {}
    queries: dict[str, Question] = {}
    for verdict in read_verdicts(connection, include_decisions=False):
        if before is None or (verdict.query.created_at or "") < before:
            pair = verdict.query.id, verdict.document_id
            votes[pair] = votes.get(pair, 0) + (1 if verdict.relevant else -1)
            queries[verdict.query.id] = verdict.query
    return [JudgedPair(queries[query], document, sum_ > 0) for (query, document), sum_ in votes.items() if sum_]


def is_held_out(document_id: str) -> bool:
    """Whether what was said of a question of the archive, by its id, is never learned from."""
    return hashlib.blake2b(document_id.encode(), digest_size=1).digest()[0] % HELD_OUT_ONE_IN == 0


def training_pairs_from_feedback(connection: sqlite3.Connection, before: str | None = None) -> list[JudgedPair]:
    """What may be learned from: nothing of a text that is among those to compare on."""
    return [j for j, kept in _mark_held_out(judged_pairs(connection, before)) if not kept]


def held_out_feedback_split(archive: Archive) -> Split:
    """The texts held out, with the questions that are right for them; those without one in the archive are left out."""
    queries: dict[str, Question] = {}
    qrels: dict[str, dict[str, int]] = {}
    there = archive.view()
    found = [j for j, kept in _mark_held_out(judged_pairs(archive.connection)) if kept and j.relevant]
    known = there.docids({j.document_id for j in found})
    for one in found:
        if one.document_id in known:
            queries[one.query.id] = one.query
            qrels.setdefault(one.query.id, {})[one.document_id] = 1
    return Split(queries, qrels)


def rejected_documents(connection: sqlite3.Connection) -> Mapping[str, list[str]]:
    """Asked text, or question, by its id → questions that people said are not the same; nothing that is held out."""
    found: dict[str, list[str]] = {}
    for one in training_pairs_from_feedback(connection):
        if not one.relevant:
            found.setdefault(one.query.id, []).append(one.document_id)
    for verdict in read_verdicts(connection):
        if verdict.verdict == "rejected":
            found.setdefault(verdict.query.id, []).append(verdict.document_id)
    return found


def export_feedback(archive: Archive, path: Path) -> int:
    """Writes every verdict whose question is there as a row of CSV that `import pairs` reads; returns how many.

    Label 1 is right and 0 wrong. Raises InputError where the file cannot be written.
    """
    view, rows = archive.view(), 0
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(EXPORT_COLUMNS)
            for query, document, right, verdict in read_verdicts(archive.connection):
                for text in view.get_questions([document]).values():
                    row = (query.id, query.title, document, text.title, int(right), verdict, query.created_at)
                    table.writerow(row)
                    rows += 1
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; expected a place that can be written to") from None
    return rows


def _mark_held_out(pairs: Iterable[JudgedPair]) -> Iterator[tuple[JudgedPair, bool]]:
    """Each with whether it is held out: an asked text is, where anything right for it is."""
    listed = list(pairs)
    kept = {j.query.id for j in listed if j.relevant and is_held_out(j.document_id)}
    return ((j, j.query.id in kept) for j in listed)
