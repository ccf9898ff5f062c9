"""Changes that keep an archive in sync with a site: atomic, and durable when they return."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from askalike.core.errors import ArchiveError
from askalike.core.records import Answer, Link, Question
from askalike.store.archive import Archive
from askalike.store.database import IN_JSON_SQL, atomic, change_transaction, storage_errors, write_transaction
from askalike.store.languages import detect_text_language
from askalike.store.records import ACCEPTED_SQL, ANSWER_SQL, answer_from_row, check_record
from askalike.store.writer import ArchiveWriter

MAX_RECORDS = 1_000
"""Maximum number of records in one call. A writer's buffer is larger, so that a call is one transaction."""


class MissingRecordError(ArchiveError):
    """A record refers to questions that the archive does not have."""


class ChangedRecordError(ArchiveError):
    """A record is no longer as it was read: somebody has changed or deleted it in the meantime."""


@dataclass(frozen=True, slots=True)
class EditResult:
    """The number of a change, and the number of its new records."""

    change: int
    created: int


def write_together(archive: Archive, writes: Sequence[Callable[[Archive], Any]]) -> list[Any]:
    """Return the result of each write, or the exception that it raised; all others are durable.

    They are made in this order and in one transaction, since each transaction waits for the disk and makes every
    process read again what it has read of the archive. Raises ArchiveError if nothing could be written.
    """
    results: list[Any] = []
    with write_transaction(archive) as connection:
        for write in writes:
            try:
                with atomic(connection):
                    results.append(write(archive))
            except Exception as error:
                if not connection.in_transaction:
                    raise
                results.append(error)
    return results


def put_records(archive: Archive, records: Sequence[Question | Answer | Link], edited_by: str = "") -> EditResult:
    """Add at most MAX_RECORDS records of one kind, replacing those with the same id; changes are stored as revisions.

    edited_by: the id of the key used, "" if none was needed. In an archive with several languages the language of each
    question is detected. Raises MissingRecordError if an answer's question, or an end of a link, does not exist;
    ArchiveError if the archive cannot be written.
    """
    writer = _buffer_records(archive, records, edited_by)
    referenced = {id for record in records for id in _referenced_question_ids(record)}
    with storage_errors(archive.path), change_transaction(archive._connection) as change:
        if missing := sorted(referenced - archive.view().docids(referenced).keys()):
            raise MissingRecordError(f"no question {', '.join(map(repr, missing[:5]))}: add it first")
        return EditResult(change, sum(len(difference.new) for difference in writer.write_buffered(change)))


def replace_record(archive: Archive, before: Question | Answer, after: Question | Answer, edited_by: str = "") -> None:
    """Replace a record that is still as it was read; what changes is kept as a revision. edited_by: see put_records.

    Raises ChangedRecordError where it is not; ArchiveError where the archive cannot be written.
    """
    writer = _buffer_records(archive, [after], edited_by)
    with storage_errors(archive.path), change_transaction(archive._connection) as change:
        view = archive.view()
        stored = view.get_questions([before.id]) if isinstance(before, Question) else view.get_answers([before.id])
        if stored.get(before.id) != before:
            raise ChangedRecordError(f"{before.id}: was changed or deleted in the meantime; read it again and repeat")
        writer.write_buffered(change)


def _buffer_records(archive: Archive, records: Sequence[Question | Answer | Link], edited_by: str) -> ArchiveWriter:
    """Return a writer that holds the records, each checked, ready to be written in one transaction."""
    complete = [_with_detected_language(archive, r) if isinstance(r, Question) else r for r in records]
    writer = ArchiveWriter(archive._connection, edited_by=edited_by)
    for record in complete:
        check_record(record)
        writer.put(record)
    return writer


def put_question_with_answer(archive: Archive, question: Question, answer: Answer) -> int:
    """Add a question and an answer to it in one transaction; return the number of the change."""
    return archive.upsert([_with_detected_language(archive, question), answer])


def delete_answers(archive: Archive, ids: Sequence[str]) -> int:
    """Delete answers; return how many existed. Questions that had accepted one of them have changed."""
    wanted = json.dumps(ids)
    execute = archive._connection.execute
    with storage_errors(archive.path), change_transaction(archive._connection) as change:
        sql = f"INSERT INTO deletions SELECT ?, 'answers', number FROM answers WHERE id {IN_JSON_SQL}"
        execute(sql, (change, wanted))
        accepting = f"SELECT q.number FROM answers a JOIN questions q ON {ACCEPTED_SQL} WHERE a.id {IN_JSON_SQL}"
        execute(f"UPDATE questions SET change = ? WHERE number IN ({accepting})", (change, wanted))
        return execute(f"DELETE FROM answers WHERE id {IN_JSON_SQL}", (wanted,)).rowcount


def delete_link(archive: Archive, link: Link) -> bool:
    """Delete a link; return whether it existed."""
    with storage_errors(archive.path), change_transaction(archive._connection):
        return delete_link_row(archive._connection, link)


def insert_link_row(connection: sqlite3.Connection, link: Link) -> bool:
    """Add a link within the caller's transaction; return whether it is new."""
    sql = "INSERT OR IGNORE INTO links (source, target, kind, created_at) VALUES (?, ?, ?, ?)"
    return connection.execute(sql, (link.source, link.target, link.kind, link.created_at)).rowcount > 0


def delete_link_row(connection: sqlite3.Connection, link: Link) -> bool:
    """Delete a link within the caller's transaction; return whether it existed."""
    sql = "DELETE FROM links WHERE source = ? AND target = ? AND kind = ?"
    return connection.execute(sql, (link.source, link.target, link.kind)).rowcount > 0


def get_answer(archive: Archive, id: str) -> Answer | None:
    """Return the answer with that id, or None."""
    row = archive._connection.execute(f"{ANSWER_SQL} WHERE a.id = ?", (id,)).fetchone()
    return answer_from_row(row) if row else None


def get_answers(archive: Archive, question_id: str, limit: int = -1, offset: int = 0) -> list[Answer]:
    """Return a question's answers: the accepted one first, then by votes, then in the order in which they were added.

    limit, offset: return at most that many, after the first ones; -1 for no limit.
    """
    sql = f"""{ANSWER_SQL} WHERE a.question_id = ? ORDER BY (q.accepted_answer_id IS a.id) DESC,
        COALESCE(a.votes, 0) DESC, a.number LIMIT ? OFFSET ?"""
    return [answer_from_row(row) for row in archive._connection.read(sql, (question_id, limit, offset))]


def get_links(
    archive: Archive,
    question_id: str,
    kind: Literal["duplicate", "related"] | None = None,
    limit: int = -1,
    offset: int = 0,
) -> list[Link]:
    """Return a question's links with both ends in the archive, of one kind or of all, in the order of the questions.

    limit, offset: return at most that many, after the first ones; -1 for no limit.
    """
    sql = """SELECT l.source, l.target, l.kind, l.created_at FROM links l JOIN questions s ON s.id = l.source
        JOIN questions t ON t.id = l.target WHERE (l.source = ?1 OR l.target = ?1) AND (l.kind = ?2 OR ?2 IS NULL)
        ORDER BY s.number, t.number, l.kind LIMIT ?3 OFFSET ?4"""
    return [Link(*row) for row in archive._connection.read(sql, (question_id, kind, limit, offset))]


def _referenced_question_ids(record: Question | Answer | Link) -> tuple[str, ...]:
    if isinstance(record, Link):
        return (record.source, record.target)
    return (record.question_id,) if isinstance(record, Answer) else ()


def _with_detected_language(archive: Archive, question: Question) -> Question:
    """Return the question with its detected language if it has none and the archive has several."""
    languages = archive.view().languages
    if question.language or not languages:
        return question
    return replace(question, language=detect_text_language(question, languages))
