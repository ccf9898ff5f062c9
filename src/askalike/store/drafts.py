"""Drafts: proposed FAQ entries, which are hidden until a moderator accepts them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from askalike.core.clock import now
from askalike.core.types import Answer, Link, Markup, Place, Question, RejectedRow
from askalike.store.archive import Archive
from askalike.store.candidate_pairs import AlreadyDecidedError
from askalike.store.checking import check_record
from askalike.store.database import change_transaction, execute, fetch_int, storage_errors, write_transaction
from askalike.store.editing import MissingRecordError
from askalike.store.records import decode_strings, encode_strings
from askalike.store.writer import ArchiveWriter

DraftState = Literal["open", "accepted", "rejected"]
FAQ_ID_PREFIX = "faq-"
COLUMNS = """number, title, rephrasings, answer, markup, source_ids, created_at, state, decided_at, decided_by, body,
    origin, url"""

INSERT_SQL = "INSERT INTO drafts (title, rephrasings, answer, markup, source_ids, created_at) VALUES (?, ?, ?, ?, ?, ?)"
UPSERT_THREAD_SQL = """INSERT INTO drafts
    (title, body, answer, url, origin, created_at, rephrasings, markup, source_ids)
    VALUES (?, ?, ?, ?, ?, ?, '[]', 'text', '[]') ON CONFLICT (origin) DO UPDATE SET title = excluded.title, body =
    excluded.body, answer = excluded.answer, url = excluded.url WHERE state = 'open' AND (title, body, answer, url)
    IS NOT (excluded.title, excluded.body, excluded.answer, excluded.url)"""
ThreadEffect = Literal["added", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposed FAQ entry.

    markup: of the answer. source_ids: the ids of the questions that it is based on, first the one with the answer.
    number, created_at: None before it is stored. decided_at, decided_by: when and by whom it was accepted or rejected.
    body: longer text of the question. origin: for a chat thread, the name of its source and its id there; url: its
    address.
    """

    title: str
    rephrasings: tuple[str, ...]
    answer: str
    markup: Markup
    source_ids: tuple[str, ...]
    number: int | None = None
    created_at: str | None = None
    state: DraftState = "open"
    decided_at: str | None = None
    decided_by: str | None = None
    body: str = ""
    origin: str | None = None
    url: str | None = None

    @property
    def question_id(self) -> str:
        """The id of the question that an accepted draft becomes."""
        return f"{FAQ_ID_PREFIX}draft-{self.number}"


@dataclass(frozen=True, slots=True)
class ThreadDraft:
    """A chat conversation with a question and an answer, as plain text; id: in its source."""

    id: str
    title: str
    body: str
    answer: str
    url: str | None = None


LocatedThread = tuple[ThreadDraft | RejectedRow, Place]
"""The records yielded by readers of chats."""


def put_thread(archive: Archive, origin: str, thread: ThreadDraft) -> ThreadEffect:
    """Store a draft for a thread, or update its open draft; return the effect."""
    values = thread.title, thread.body, thread.answer, thread.url, origin, now()
    before = fetch_int(archive, "SELECT COUNT(*) FROM drafts WHERE origin = ?", origin)
    is_written = execute(archive, UPSERT_THREAD_SQL, *values).rowcount > 0
    return "unchanged" if not is_written else "updated" if before else "added"


def add_drafts(archive: Archive, drafts: Iterable[Draft]) -> int:
    """Store drafts, except those that share a source with a stored draft, decided or not; return the number stored."""
    n_new = 0
    with write_transaction(archive) as connection:
        known = {id for (ids,) in connection.execute("SELECT source_ids FROM drafts") for id in json.loads(ids)}
        for draft in drafts:
            if known.isdisjoint(draft.source_ids):
                row = draft.title, encode_strings(draft.rephrasings), draft.answer, draft.markup
                connection.execute(
                    INSERT_SQL,
                    (*row, encode_strings(draft.source_ids), now()),
                )
                known.update(draft.source_ids)
                n_new += 1
    return n_new


def list_drafts(archive: Archive, state: DraftState = "open") -> list[Draft]:
    """Return the drafts in a state, those with the most sources first."""
    sql = f"SELECT {COLUMNS} FROM drafts WHERE state = ? ORDER BY json_array_length(source_ids) DESC, number"
    return [_draft_from_row(row) for row in archive._connection.execute(sql, (state,))]


def accept_draft(
    archive: Archive,
    number: int,
    by: str = "",
    *,
    title: str | None = None,
    answer: str | None = None,
    body: str | None = None,
    rephrasings: Sequence[str] | None = None,
) -> Question:
    """Make a draft a question of the archive with its answer, related to its sources; return the question.

    title, answer, body, rephrasings: replacements for the draft's; without `rephrasings` the draft's own and its title
    are kept. Everything is one transaction. Raises MissingRecordError, AlreadyDecidedError.
    """
    with storage_errors(archive.path), change_transaction(archive._connection) as change:
        draft = _decide(archive, number, "accepted", by)
        at = now()
        id = draft.question_id
        wordings = (draft.title, *draft.rephrasings) if rephrasings is None else rephrasings
        title = title or draft.title
        stored = Answer(f"{id}-a", id, answer or draft.answer, "text" if answer else draft.markup, created_at=at)
        others = tuple(wording for wording in dict.fromkeys(wordings) if wording != title)
        text = draft.body if body is None else body
        question = Question(id, title, text, created_at=at, accepted_answer_id=stored.id, rephrasings=others)
        present = archive.view().docids(draft.source_ids)
        links = [Link(source, id, "related", at) for source in draft.source_ids if source in present]
        _write_records(archive, [question, stored, *links], change)
    return question


def reject_draft(archive: Archive, number: int, by: str = "") -> None:
    """Reject a draft; no other draft from any of its sources will be proposed.

    Raises MissingRecordError, AlreadyDecidedError.
    """
    _decide(archive, number, "rejected", by)


def get_draft(archive: Archive, number: int) -> Draft:
    """Return a draft, decided or not. Raises MissingRecordError if there is none with that number."""
    row = archive._connection.execute(f"SELECT {COLUMNS} FROM drafts WHERE number = ?", (number,)).fetchone()
    if row is None:
        raise MissingRecordError(f"no draft {number}; see: askalike drafts {archive.path}")
    return _draft_from_row(row)


def _decide(archive: Archive, number: int, state: DraftState, by: str) -> Draft:
    """Decide on an open draft, and return it. Raises MissingRecordError, AlreadyDecidedError."""
    sql = "UPDATE drafts SET state = ?, decided_at = ?, decided_by = ? WHERE number = ? AND state = 'open'"
    is_decided = execute(archive, sql, state, now(), by, number).rowcount > 0
    draft = get_draft(archive, number)
    if not is_decided:
        raise AlreadyDecidedError(f"draft {number} was {draft.state} on {draft.decided_at}; expected an open one")
    return draft


def _write_records(archive: Archive, records: Sequence[Question | Answer | Link], change: int) -> None:
    """Write records within the caller's transaction, with its change number."""
    writer = ArchiveWriter(archive._connection)
    for record in records:
        check_record(record)
        writer.put(record)
    writer.write_buffered(change)


def _draft_from_row(row: Sequence[object]) -> Draft:
    number, title, rephrasings, answer, markup, sources, *others = row
    texts = title, decode_strings(str(rephrasings)), answer, markup, decode_strings(str(sources))
    return Draft(*texts, number, *others)  # type: ignore[arg-type]
