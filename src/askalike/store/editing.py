"""Changes by those who keep an archive in step with a site: whole or not at all, and on disk when they return."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from askalike.errors import ArchiveError
from askalike.store.archive import Archive
from askalike.store.database import change_transaction, storage_errors
from askalike.store.view import ANSWER_SQL, answer_from_row
from askalike.text.clean import plain_text
from askalike.text.language import detect_language
from askalike.types import Answer, Link, Question

MAX_RECORDS = 1_000
"""Records that are put at a time: fewer than a writer holds, so that they are one transaction."""
LANGUAGE_SAMPLE_CHARS = 1_000
KEY_COLUMNS = {Question: ("questions", "id"), Answer: ("answers", "id"), Link: ("links", "source, target, kind")}
"""The table of each kind of record, and the columns that tell its rows apart."""


class MissingRecordError(ArchiveError):
    """A record refers to questions that the archive does not have."""


@dataclass(frozen=True, slots=True)
class EditResult:
    """What came of a change: its number, at which it is on disk, and how many records were not there before."""

    change: int
    created: int


def put_records(archive: Archive, records: Sequence[Question | Answer | Link]) -> EditResult:
    """Adds at most 1,000 records of one kind, or replaces those with the same id.

    Questions of an archive of several languages get theirs. Raises MissingError where an answer's question, or an end
    of a link, is not there; ArchiveError where the archive cannot be written.
    """
    if absent := _missing_question_ids(archive, _referenced_question_ids(records)):
        raise MissingRecordError(f"no question {', '.join(map(repr, absent[:5]))}: put it first")
    known = _existing_keys(archive, records)
    change = archive.upsert(_with_detected_language(archive, r) if isinstance(r, Question) else r for r in records)
    return EditResult(change, len({_record_key(r) for r in records} - known))


def put_question_with_answer(archive: Archive, question: Question, answer: Answer) -> int:
    """Adds a question with an answer to it, both or neither; returns the change's number."""
    return archive.upsert([_with_detected_language(archive, question), answer])


def delete_answer(archive: Archive, id: str) -> bool:
    """Deletes an answer; whether it was there."""
    with storage_errors(archive.path), change_transaction(archive._connection) as change:
        gone = "INSERT INTO deletions SELECT ?, 'answers', number FROM answers WHERE id = ?"
        archive._connection.execute(gone, (change, id))
        return archive._connection.execute("DELETE FROM answers WHERE id = ?", (id,)).rowcount > 0


def delete_link(archive: Archive, link: Link) -> bool:
    """Deletes a link; whether it was there."""
    with storage_errors(archive.path), change_transaction(archive._connection):
        return delete_link_row(archive._connection, link)


def insert_link_row(connection: sqlite3.Connection, link: Link) -> bool:
    """Adds a link as part of a transaction of the caller's; whether it was not there before."""
    row = (link.source, link.target, link.kind, link.created_at)
    return connection.execute("INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?)", row).rowcount > 0


def delete_link_row(connection: sqlite3.Connection, link: Link) -> bool:
    """Deletes a link as part of a transaction of the caller's; whether it was there."""
    sql = "DELETE FROM links WHERE source = ? AND target = ? AND kind = ?"
    return connection.execute(sql, (link.source, link.target, link.kind)).rowcount > 0


def get_answer(archive: Archive, id: str) -> Answer | None:
    """The answer with that id, if it is there."""
    row = archive._connection.execute(f"{ANSWER_SQL} WHERE a.id = ?", (id,)).fetchone()
    return answer_from_row(row) if row else None


def get_links(archive: Archive, question_id: str, kind: Literal["duplicate", "related"] | None = None) -> list[Link]:
    """The links that a question is an end of, of one kind or of all, where both ends are there."""
    sql = (
        "SELECT l.source, l.target, l.kind, l.created_at FROM links l JOIN questions s ON s.id = l.source "
        "JOIN questions t ON t.id = l.target WHERE (l.source = ?1 OR l.target = ?1) AND (l.kind = ?2 OR ?2 IS NULL) "
        "ORDER BY s.number, t.number, l.kind"
    )
    return [Link(*row) for row in archive._connection.execute(sql, (question_id, kind))]


def _referenced_question_ids(records: Iterable[Question | Answer | Link]) -> set[str]:
    """The ids of the questions that the records refer to."""
    needed: set[str] = set()
    for record in records:
        if isinstance(record, Answer):
            needed.add(record.question_id)
        elif isinstance(record, Link):
            needed |= {record.source, record.target}
    return needed


def _missing_question_ids(archive: Archive, ids: set[str]) -> list[str]:
    return sorted(ids - archive.view().docids(ids).keys()) if ids else []


def _record_key(record: Question | Answer | Link) -> tuple[str, ...]:
    return (record.source, record.target, record.kind) if isinstance(record, Link) else (record.id,)


def _existing_keys(archive: Archive, records: Sequence[Question | Answer | Link]) -> set[tuple[str, ...]]:
    """The keys of those records that are there."""
    table, columns = KEY_COLUMNS[type(records[0])]
    among = json.dumps([_record_key(r)[0] for r in records])
    first = columns.partition(",")[0]
    sql = f"SELECT {columns} FROM {table} WHERE {first} IN (SELECT value FROM json_each(?))"
    return set(archive._connection.execute(sql, (among,)))


def _with_detected_language(archive: Archive, question: Question) -> Question:
    """The question with its language, where the archive has several and nobody says which it is."""
    among = archive.view().languages
    if question.language or not among:
        return question
    text = f"{question.title} {plain_text(question.body[:LANGUAGE_SAMPLE_CHARS], question.markup)}"
    return replace(question, language=detect_language(text, among))
