"""Drafts: proposed FAQ entries, hidden until a moderator accepts them; chat conversations are imported as such."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Literal

from askalike.core.errors import InputError
from askalike.core.iteration import chunks_before_error
from askalike.core.records import Answer, Link, Markup, Place, Question, RejectedRow
from askalike.core.values import format_count, hash_texts, now
from askalike.store.archive import Archive
from askalike.store.candidate_pairs import AlreadyDecidedError
from askalike.store.contents import ArchiveSummary, summarise_archive
from askalike.store.database import (
    change_transaction,
    execute,
    fetch_int,
    read_transaction,
    storage_errors,
    write_transaction,
)
from askalike.store.editing import MissingRecordError
from askalike.store.import_pass import REJECTS_FILE, VERBS, ArchiveSink, RecordSource, RejectLog
from askalike.store.records import check_record, decode_strings, encode_strings
from askalike.store.retention import ASKED_ORIGIN, NO_TEXTS, overwrite_deleted, require_keeping
from askalike.store.sources import check_source_name, plan_source
from askalike.store.writer import ArchiveWriter
from askalike.text.clean import collapse_spaces, readable_text

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
QUOTED_CHARACTERS = 30
"""A text with at least this many characters in a row of another one is from it and keeps its author and licence."""
ThreadEffect = Literal["added", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposed FAQ entry. A decided one has no texts: if it was accepted, `question_id` has them.

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
    def is_asked(self) -> bool:
        """Whether somebody posted it as a question, without an answer."""
        return (self.origin or "").startswith(ASKED_ORIGIN)

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
    """Store a draft for a thread, or update its open draft; return the effect. Raises KeepsNothingError."""
    require_keeping(archive)
    values = thread.title, thread.body, thread.answer, thread.url, origin, now()
    before = fetch_int(archive, "SELECT COUNT(*) FROM drafts WHERE origin = ?", origin)
    is_written = execute(archive, UPSERT_THREAD_SQL, *values).rowcount > 0
    return "unchanged" if not is_written else "updated" if before else "added"


def put_asked(archive: Archive, title: str, body: str) -> ThreadEffect:
    """Store a draft without an answer for a question that somebody posted; the same text is stored once.

    Raises KeepsNothingError.
    """
    id = hash_texts(title, body)
    return put_thread(archive, f"{ASKED_ORIGIN}{id}", ThreadDraft(id, title, body, ""))


def add_drafts(archive: Archive, drafts: Iterable[Draft]) -> int:
    """Store drafts, except those that share a source with a stored draft, decided or not; return the number stored."""
    n_new = 0
    with write_transaction(archive) as connection:
        known = {id for (ids,) in connection.execute("SELECT source_ids FROM drafts") for id in json.loads(ids)}
        for draft in drafts:
            if known.isdisjoint(draft.source_ids):
                texts = draft.title, encode_strings(draft.rephrasings), draft.answer, draft.markup
                connection.execute(INSERT_SQL, (*texts, encode_strings(draft.source_ids), now()))
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
    """Make a draft a question of the archive with its answer, the original of its sources; return the question.

    title, answer, body, rephrasings: replacements for the draft's; without `rephrasings` the draft's own and its title
    are kept. The answer keeps author, address and licence of the one that it is taken from, also if it was edited; the
    question has the tags of its sources, and is shown instead of them. Everything is one transaction.
    Raises MissingRecordError, AlreadyDecidedError.
    """
    with storage_errors(archive.path), change_transaction(archive._connection) as change:
        draft = _decide(archive, number, "accepted", by)
        at = now()
        id = draft.question_id
        wordings = (draft.title, *draft.rephrasings) if rephrasings is None else rephrasings
        title = title or draft.title
        stored = Answer(f"{id}-a", id, answer or draft.answer, "text" if answer else draft.markup, created_at=at)
        if (copied := find_source_answer(archive, draft)) and _is_taken_from(_one_line(stored), _one_line(copied)):
            stored = replace(stored, author=copied.author, url=copied.url, license=copied.license)
        others = tuple(wording for wording in dict.fromkeys(wordings) if wording != title)
        text = draft.body if body is None else body
        questions = archive.view().get_questions(draft.source_ids)
        sources = [questions[id] for id in draft.source_ids if id in questions]
        question = _with_origin(Question(id, title, text, accepted_answer_id=stored.id, rephrasings=others), sources)
        question = replace(question, url=question.url or draft.url, created_at=at)
        links = [Link(source.id, id, "duplicate", at) for source in sources]
        _write_records(archive, [question, stored, *links], change)
    overwrite_deleted(archive)
    return question


def find_source_answer(archive: Archive, draft: Draft) -> Answer | None:
    """Return the answer that a draft's is taken from; None for a chat thread, or if it was deleted.

    It is the one with the same text; if it has been edited since, the first of the question with the answer.
    """
    answers = archive.view().get_answers_to(draft.source_ids)
    candidates = [answer for id in draft.source_ids for answer in answers.get(id, ())]
    same = (answer for answer in candidates if answer.body == draft.answer)
    return next(same, None) or next((a for a in candidates if a.question_id == draft.source_ids[0]), None)


def _one_line(answer: Answer) -> str:
    return collapse_spaces(readable_text(answer.body, answer.markup))


def _is_taken_from(text: str, source: str) -> bool:
    """Return whether a text has QUOTED_CHARACTERS in a row of its source, or all of a shorter one's."""
    length = min(QUOTED_CHARACTERS, len(source))
    quotable = {source[n : n + length] for n in range(len(source) - length + 1)}
    return any(text[n : n + length] in quotable for n in range(len(text) - length + 1))


def _with_origin(question: Question, sources: Sequence[Question]) -> Question:
    """Return the question with the tags, category and language of its sources, and the origin of its title."""
    if not sources:
        return question
    titled = next((source for source in sources if source.title.strip() == question.title), None)
    return replace(
        question,
        tags=tuple(dict.fromkeys(tag for source in sources for tag in source.tags)),
        category=next((source.category for source in sources if source.category), None),
        language=sources[0].language,
        author=titled.author if titled else None,
        url=(titled or sources[0]).url,
        license=titled.license if titled else None,
    )


def reject_draft(archive: Archive, number: int, by: str = "") -> None:
    """Reject a draft and delete its texts; no other draft from any of its sources will be proposed.

    Raises MissingRecordError, AlreadyDecidedError.
    """
    _decide(archive, number, "rejected", by)
    overwrite_deleted(archive)


def get_draft(archive: Archive, number: int) -> Draft:
    """Return a draft, decided or not. Raises MissingRecordError if there is none with that number."""
    row = archive._connection.execute(f"SELECT {COLUMNS} FROM drafts WHERE number = ?", (number,)).fetchone()
    if row is None:
        raise MissingRecordError(f"no draft {number}; see: askalike drafts {archive.path}")
    return _draft_from_row(row)


def _decide(archive: Archive, number: int, state: DraftState, by: str) -> Draft:
    """Decide on an open draft, and return it with the texts that are then deleted.

    Raises MissingRecordError, AlreadyDecidedError.
    """
    draft = get_draft(archive, number)
    sql = f"UPDATE drafts SET state = ?, decided_at = ?, decided_by = ?, {NO_TEXTS} WHERE number = ? AND state = 'open'"
    if not execute(archive, sql, state, now(), by, number).rowcount:
        decided = get_draft(archive, number)
        raise AlreadyDecidedError(f"draft {number} was {decided.state} on {decided.decided_at}; expected an open one")
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


BATCH_SIZE = 500


def import_drafts(
    archive: Archive,
    reader: str,
    paths: Sequence[Path],
    source: RecordSource,
    threads: Iterator[LocatedThread],
    *,
    source_name: str | None = None,
    strict: bool = False,
    dry_run: bool = False,
) -> ArchiveSummary:
    """Store a draft for each conversation; return a summary of the archive, with the drafts among `changes`.

    A conversation that was imported before is updated, unless its draft has been decided on.
    source: the reader's information about its files. source_name: None for the reader's name. dry_run: write nothing.
    Raises InputError if the rest of a file cannot be read (the drafts before it are stored), KeepsNothingError.
    """
    require_keeping(archive)
    first = list(islice(threads, 1))  # the reader knows the source's name after the first record
    name = check_source_name(source_name or str(source.facts.get("name") or reader))
    sink = ArchiveSink(archive, reader, ", ".join(map(str, paths)))
    counts = dict.fromkeys(VERBS, 0)
    with RejectLog(None if dry_run else archive.path / REJECTS_FILE) as rejects:

        def finish(finished: bool) -> None:
            if not dry_run:
                sink.finish(rejects.count, source.notes, finished=finished)

        if not dry_run:
            sink.begin(plan_source(archive, name))
        try:
            for batch in chunks_before_error(_select_threads(chain(first, threads), rejects, strict), BATCH_SIZE):
                with (read_transaction if dry_run else write_transaction)(archive):
                    for thread in batch:
                        counts[put_thread(archive, f"{name}/{thread.id}", thread)] += 1
        except InputError as error:
            finish(False)
            written = counts["added"] + counts["updated"]
            kept = f"; kept the {format_count(written, 'draft')} before it" if written else ""
            raise InputError(f"{error}{kept}") from None
        finish(True)
        summary = replace(summarise_archive(archive), rejected=rejects.count, notes=dict(source.notes))
    return replace(summary, source=name, changes={"drafts": counts})


def _select_threads(threads: Iterable[LocatedThread], rejects: RejectLog, strict: bool) -> Iterator[ThreadDraft]:
    """Yield the conversations; add other rows to `rejects`. Raises InputError at the first of these if `strict`."""
    for record, _ in threads:
        if isinstance(record, ThreadDraft):
            yield record
            continue
        rejects.add(record)
        if strict:
            rejects.require_none()
