"""Counts of an archive's content, a hash of it, and seeded samples for statistics that would be slow in full."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from askalike.core.types import Answer, LinkKind, Question
from askalike.core.values import format_count
from askalike.store.archive import Archive
from askalike.store.database import Database, fetch_int
from askalike.store.view import ANSWER_SQL, CHUNK_ROWS, QUESTION_SQL, View, answer_from_row, question_from_row

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


def count_links(database: Database, kind: LinkKind) -> int:
    """Return the number of links of a kind with both ends in the archive."""
    sql = """SELECT COUNT(*) FROM links l JOIN questions s ON s.id = l.source JOIN questions t ON t.id = l.target
        WHERE l.kind = ?"""
    return fetch_int(database, sql, kind)


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
    for start in range(0, len(docids), CHUNK_ROWS):
        chunk = json.dumps(docids[start : start + CHUNK_ROWS].tolist())
        yield from view._connection.execute(f"{sql} IN (SELECT value FROM json_each(?)) ORDER BY 1", (chunk,))
