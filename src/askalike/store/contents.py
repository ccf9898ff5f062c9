"""Reads an archive's contents in bulk: counts, faults, groups, whole tables for exports, a hash, and seeded samples.

Samples are for statistics that would be slow in full."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal, NamedTuple

import numpy as np

from askalike.core.records import Answer, Question
from askalike.core.values import format_count
from askalike.store.archive import Archive
from askalike.store.database import IN_JSON_SQL, Database, fetch_int, select_in_chunks
from askalike.store.labels import BOTH_ENDS_SQL, count_links
from askalike.store.records import ANSWER_COLUMNS, ANSWER_SQL, QUESTION_SQL, answer_from_row, question_from_row
from askalike.store.view import View

MIN_UNTUNED = 75
"""Number of duplicate links from which votes are chosen nearly always; see experiments/votes.py."""
TUNED_KEY = "tuned_at"
"""The key in the archive's metadata of the time of the last tuning."""
Attribute = Literal["tag", "category", "language", "license"]


@dataclass(frozen=True, slots=True)
class ArchiveSummary:
    """The contents of an archive. Only duplicate links with both ends count; `rejected`, `notes`: the last import's.

    `finished` is False if the last import was interrupted or is still running. An import returns the name of its source
    as `source`, and its effect as `changes`: record type → added, updated, unchanged, removed → count.
    """

    questions: int
    answers: int
    duplicate_links: int
    rejected: int
    queries: int = 0
    judgements: int = 0
    finished: bool = True
    notes: Mapping[str, int] = field(default_factory=dict)
    source: str | None = None
    changes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def __str__(self) -> str:
        return "\n".join((self.counts, *(f"{what}: {count:,}" for what, count in self.notes.items())))

    @property
    def counts(self) -> str:
        """The numbers of records and of rejected rows, in one line."""
        texts = f"{format_count(self.questions, 'question')}, {format_count(self.answers, 'answer')}"
        return f"{texts}, {format_count(self.duplicate_links, 'duplicate link')}, {self.rejected} rejected"


@dataclass(frozen=True, slots=True)
class SplitSize:
    """The size of an imported split: queries, judged pairs, relevant pairs, and candidates."""

    split: str
    queries: int
    judged: int
    relevant: int
    candidates: int


def summarise_archive(database: Database) -> ArchiveSummary:
    """Return a summary of the archive's current state."""
    sql = "SELECT rejected_count, finished_at IS NOT NULL, notes FROM imports ORDER BY number DESC LIMIT 1"
    rejected, finished, notes = database._connection.execute(sql).fetchone() or (0, True, "{}")
    return ArchiveSummary(
        questions=fetch_int(database, "SELECT COUNT(*) FROM questions"),
        answers=fetch_int(database, "SELECT COUNT(*) FROM answers"),
        duplicate_links=count_links(database, "duplicate"),
        rejected=rejected,
        queries=fetch_int(database, "SELECT COUNT(*) FROM queries"),
        judgements=fetch_int(database, "SELECT COUNT(*) FROM judgements"),
        finished=bool(finished),
        notes=json.loads(notes),
    )


def unfinished_import(database: Database) -> str | None:
    """Return the source of the last import if it was interrupted or is still running, else None."""
    sql = "SELECT paths, finished_at FROM imports ORDER BY number DESC LIMIT 1"
    row = database._connection.execute(sql).fetchone()
    return str(row[0]) if row and row[1] is None else None


class ContentCounts(NamedTuple):
    """Numbers of questions with an answer, of rephrasings and of distinct tags; the dates of the oldest and newest
    question, None if no question has a date."""

    answered_questions: int
    rephrasings: int
    distinct_tags: int
    first_date: str | None
    last_date: str | None


def count_content(database: Database) -> ContentCounts:
    """Return numbers of the archive's content."""
    sql = """SELECT (SELECT COUNT(DISTINCT question_id) FROM answers),
        (SELECT COALESCE(SUM(json_array_length(rephrasings)), 0) FROM questions WHERE rephrasings != '[]'),
        (SELECT COUNT(DISTINCT tag) FROM question_tags), MIN(created_at), MAX(created_at) FROM questions"""
    return ContentCounts(*database._connection.execute(sql).fetchone())


def count_questions_by(
    database: Database, attribute: Attribute, limit: int | None = None, *, default: str | None = None
) -> dict[str, int]:
    """Map each tag, category, language or licence to its number of questions, by descending number, then by name.

    default: the value of questions without one; None leaves them out. limit: the number of values; None for all.
    """
    name, table = ("tag", "question_tags") if attribute == "tag" else (attribute, "questions")
    value = name if default is None else f"COALESCE({name}, ?1)"
    sql = f"SELECT {value}, COUNT(*) FROM {table} WHERE {value} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?2"
    return dict(database._connection.execute(sql, (default, -1 if limit is None else limit)).fetchall())


Content = Literal["bodies", "code", "tags", "answers", "votes"]
CONTENT_SQL: Mapping[Content, str] = {
    "bodies": "questions WHERE body != ''",
    "code": "questions WHERE markup = 'html' AND (body LIKE '%<code%' OR body LIKE '%<pre%')",
    "tags": "question_tags",
    "answers": "answers WHERE TRIM(body) != ''",
    "votes": "questions WHERE votes > 0",
}


def has_content(database: Database, content: Content) -> bool:
    """Return whether any question has a body, code in it, a tag or a positive number of votes, or any answer a text."""
    return bool(fetch_int(database, f"SELECT EXISTS (SELECT 1 FROM {CONTENT_SQL[content]})"))


def count_untuned(view: View) -> int:
    """Return the number of duplicate links if `tune` would probably find a better ranker by them and has not run.

    That needs votes, which the default ranker does not use, and MIN_UNTUNED links; else it is 0.
    """
    n = count_links(view, "duplicate")
    is_untried = n >= MIN_UNTUNED and has_content(view, "votes") and TUNED_KEY not in view.meta
    return n if is_untried else 0


def pending_changes(database: Database, since: int) -> tuple[int, str | None]:
    """Return the number of changes after change `since`, and the time of the first of them."""
    sql = "SELECT COUNT(*), MIN(committed_at) FROM changes WHERE number > ?"
    return database._connection.execute(sql, (since,)).fetchone()  # type: ignore[no-any-return]


def latest_questions(database: Database, limit: int) -> list[Question]:
    """Return the questions of the archive with the latest dates, latest first."""
    rows = database._connection.execute(f"{QUESTION_SQL} ORDER BY created_at DESC LIMIT ?", (limit,))
    return [question_from_row(row) for row in rows]


def groups_sharing(view: View, attribute: Literal["tag", "category"]) -> Iterator[tuple[str, list[str]]]:
    """Yield each tag (or category) with the ids of its questions in the view, by docid."""
    clauses, values = view._conditions("q.")
    where = f" WHERE {' AND '.join(clauses)}" if clauses else ""
    tags = "t.tag, q.id FROM question_tags t JOIN questions q ON q.number = t.question_number"
    columns = {"tag": tags, "category": "q.category, q.id FROM questions q"}[attribute]
    rows = view._connection.execute(f"SELECT {columns}{where} ORDER BY 1, q.number", values)
    for key, members in groupby(rows, itemgetter(0)):
        if key is not None:
            yield key, [id for _, id in members]


def split_sizes(database: Database) -> list[SplitSize]:
    """Return the size of each imported split, by name."""
    sql = """SELECT s.split, (SELECT COUNT(*) FROM queries q WHERE q.split = s.split), COUNT(j.relevance),
        COALESCE(SUM(j.relevance > 0), 0), COUNT(j.position) FROM (SELECT split FROM queries UNION SELECT split
        FROM judgements) s LEFT JOIN judgements j ON j.split = s.split GROUP BY s.split ORDER BY s.split"""
    return [SplitSize(*row) for row in database._connection.execute(sql)]


HASHED_TABLES = ("questions", "answers", "links", "queries", "judgements")
BOOKKEEPING_COLUMNS = ("number", "import_number", "change")
"""Bookkeeping columns of a row, which are not hashed."""
HASHED_META_KEYS = ("language", "languages", "groups")
"""Metadata that affects the indexing or the evaluation of an archive."""

HASH_BITS = 128


def content_hash(archive: Archive) -> str:
    """Return 32 hexadecimal digits, equal for the same questions, answers, links, queries and judgements in any order.

    It is the sum of the BLAKE2b hashes of all rows, modulo 2^128. Imports, indexes and partitions do not count. The
    archive is read once, at about 200,000 rows per second.
    """
    total = sum(_row_hash("meta", [key, archive.meta.get(key)]) for key in HASHED_META_KEYS)
    for table in HASHED_TABLES:
        columns = [name for _, name, *_ in archive._connection.execute(f"PRAGMA table_info({table})")]
        hashed = ", ".join(f'"{name}"' for name in columns if name not in BOOKKEEPING_COLUMNS)
        total += sum(_row_hash(table, row) for row in archive._connection.execute(f"SELECT {hashed} FROM {table}"))
    return f"{total % 2**HASH_BITS:0{HASH_BITS // 4}x}"


def _row_hash(table: str, row: object) -> int:
    text = json.dumps([table, row], ensure_ascii=False)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=HASH_BITS // 8).digest())


SAMPLE_SIZE = 20_000


def sample_questions(view: View, size: int = SAMPLE_SIZE, seed: int = 0) -> Iterator[Question]:
    """Draw at most `size` questions of the archive without replacement; yield them by docid."""
    return map(question_from_row, _sample_rows(view, f"{QUESTION_SQL} WHERE number", "questions", size, seed))


def sample_answers(view: View, size: int = SAMPLE_SIZE, seed: int = 0) -> Iterator[Answer]:
    """Draw at most `size` answers of the archive without replacement; yield them by docid."""
    return map(answer_from_row, _sample_rows(view, f"{ANSWER_SQL} WHERE a.number", "answers", size, seed))


def shuffle_names(names: Iterable[str], seed: int) -> list[str]:
    """Return names in a random order that depends only on the seed and the names, not on the given order."""
    return sorted(names, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())


def _sample_rows(view: View, sql: str, table: str, size: int, seed: int) -> Iterator[Sequence[Any]]:
    rows = view._connection.execute(f"SELECT number FROM {table} ORDER BY number")
    docids = np.fromiter((docid for (docid,) in rows), np.int64)
    if len(docids) > size:
        docids = np.sort(np.random.default_rng(seed).choice(docids, size, replace=False))
    return select_in_chunks(view, f"{sql} {IN_JSON_SQL} ORDER BY 1", docids.tolist())


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


TABLE_COLUMNS: Mapping[str, Sequence[str]] = {
    "answers": ("id", *ANSWER_COLUMNS, "imported_from"),
    "links": ("source", "target", "kind", "created_at", "imported_from"),
    "queries": ("split", "id", "title", "body", "markup", "language", "category", "created_at", "imported_from"),
    "judgements": ("split", "query_id", "document_id", "relevance", "position", "record_type"),
}
"""Table → its columns in an export; `imported_from` is the name of the row's source, NULL if it has none."""
ORDERS = {
    "answers": "number",
    "links": "source, target, kind",
    "queries": "rowid",
    "judgements": "split, record_type, query_id, position, document_id",
}
SOURCE_SQL = """(SELECT s.name FROM imports i JOIN sources s ON s.number = i.source_number
    WHERE i.number = import_number) AS imported_from"""
NOT_IN_QRELS_SQL = """position IS NOT NULL OR relevance IS NULL OR record_type != 'questions'
    OR NOT EXISTS (SELECT 1 FROM queries q WHERE q.split = judgements.split AND q.id = judgements.query_id)"""
"""SQL condition: a judgement does not fit into qrels, as a candidate, a judged answer, or one of a missing query."""


def table_rows(database: Database, table: str, condition: str = "TRUE") -> Iterator[tuple[Any, ...]]:
    """Yield TABLE_COLUMNS of the rows of a table, also of links without ends, in the order of ORDERS."""
    columns = ", ".join(SOURCE_SQL if name == "imported_from" else name for name in TABLE_COLUMNS[table])
    yield from database._connection.execute(f"SELECT {columns} FROM {table} WHERE {condition} ORDER BY {ORDERS[table]}")


def duplicate_targets(database: Database, ids: Sequence[str]) -> dict[str, list[str]]:
    """Map each of these questions with a duplicate link to the ids of its originals, sorted."""
    sql = """SELECT source, target FROM links WHERE kind = 'duplicate' AND source IN (SELECT value FROM json_each(?))
        ORDER BY source, target"""
    targets: dict[str, list[str]] = {}
    for source, target in database._connection.execute(sql, (json.dumps(ids),)):
        targets.setdefault(source, []).append(target)
    return targets


def duplicate_links_at(database: Database, ids: Iterable[str]) -> list[tuple[str, str]]:
    """Return source and target of the archive's duplicate links that have one of these questions as an end."""
    sql = """WITH ends(id) AS (SELECT value FROM json_each(?)) SELECT source, target FROM links WHERE
        kind = 'duplicate' AND source != target AND (source IN ends OR target IN ends)"""
    return list(database._connection.execute(sql, (json.dumps(list(ids)),)))


def docids_of_answers(database: Database, question_docids: Iterable[int]) -> dict[int, list[int]]:
    """Map each question's docid to those of its answers: accepted first, then by votes."""
    sql = f"""SELECT q.number, a.number FROM questions q JOIN answers a ON a.question_id = q.id WHERE q.number
        {IN_JSON_SQL} ORDER BY q.accepted_answer_id IS NOT a.id, COALESCE(a.votes, 0) DESC, a.number"""
    answers: dict[int, list[int]] = {}
    for question, answer in select_in_chunks(database, sql, question_docids):
        answers.setdefault(question, []).append(answer)
    return answers


def docids_of_questions(database: Database, answer_docids: Iterable[int]) -> dict[int, int]:
    """Map each answer's docid to that of its question, if the question exists."""
    sql = "SELECT a.number, q.number FROM answers a JOIN questions q ON q.id = a.question_id WHERE a.number"
    return dict(select_in_chunks(database, f"{sql} {IN_JSON_SQL}", answer_docids))


def query_sources(database: Database, split: str) -> dict[str, str]:
    """Map the id of each query of an imported split to the name of its source, if it has one."""
    sql = f"SELECT id, {SOURCE_SQL} FROM queries WHERE split = ?"
    return {id: name for id, name in database._connection.execute(sql, (split,)) if name is not None}
