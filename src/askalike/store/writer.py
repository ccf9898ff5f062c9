"""Writes records in batches, each in one transaction with a change number of its own."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from askalike.store.database import IN_JSON_SQL, change_transaction
from askalike.types import Answer, EvaluationQuery, Judgement, Link, Question

BATCH_SIZE = 5_000
encode_json = json.JSONEncoder(ensure_ascii=False).encode

QUESTION_COLUMNS = (
    "title", "body", "markup", "tags", "category", "language", "created_at", "closed_at", "author", "url", "license",
    "votes", "accepted_answer_id", "rephrasings",
)  # fmt: skip
ANSWER_COLUMNS = ("question_id", "body", "markup", "created_at", "author", "url", "license", "votes", "label")
COLUMNS = {"questions": QUESTION_COLUMNS, "answers": ANSWER_COLUMNS}

Row = tuple[Any, ...]
Rows = Mapping[str, Row]


class ArchiveWriter:
    """Buffers records and commits them batch by batch.

    An import writes the first record of each id: for every later one of the same import `on_repeat` is called. Outside
    an import the last record of an id is written.
    """

    def __init__(self, connection: sqlite3.Connection, import_number: int | None = None) -> None:
        self._connection = connection
        self._import_number = import_number
        self._buffers: dict[type, list[Any]] = {t: [] for t in (Question, Answer, Link, EvaluationQuery, Judgement)}
        self._buffered = 0
        self.on_repeat: Callable[[Question | Answer], None] = lambda record: None

    def put(self, record: Question | Answer | Link | EvaluationQuery | Judgement) -> None:
        """Buffer a record. It is on disk after the next flush, at the latest after BATCH_SIZE records."""
        self._buffers[type(record)].append(record)
        self._buffered += 1
        if self._buffered >= BATCH_SIZE:
            self.flush()

    def flush(self) -> None:
        """Commit the buffered records, or none of them after an error."""
        if not self._buffered:
            return
        with change_transaction(self._connection) as change:
            self._put_questions(self._buffers[Question], change)
            self._put_answers(self._buffers[Answer], change)
            self._put_links_queries_judgements()
        for buffer in self._buffers.values():
            buffer.clear()
        self._buffered = 0

    def delete(self, ids: Sequence[str]) -> int:
        """Delete questions with their answers, links and tags; return how many existed."""
        wanted = json.dumps(ids)
        execute = self._connection.execute
        with change_transaction(self._connection) as change:
            for table, column in (("questions", "id"), ("answers", "question_id")):
                sql = f"INSERT INTO deletions SELECT ?, ?, number FROM {table} WHERE {column} {IN_JSON_SQL}"
                execute(sql, (change, table, wanted))
            for table, column in (("answers", "question_id"), ("links", "source"), ("links", "target")):
                execute(f"DELETE FROM {table} WHERE {column} {IN_JSON_SQL}", (wanted,))
            return execute(f"DELETE FROM questions WHERE id {IN_JSON_SQL}", (wanted,)).rowcount

    def _put_questions(self, questions: Sequence[Question], change: int) -> None:
        known = self._existing_rows("questions", questions, ", tags")
        retagged: list[tuple[str, int]] = []
        untagged: list[tuple[str, int]] = []
        for q, number in self._upsert("questions", questions, known, question_row, change):
            before = decode_strings(known[q.id][2]) if q.id in known else ()
            retagged += [(tag, number) for tag in q.tags if tag not in before]
            untagged += [(tag, number) for tag in before if tag not in q.tags]
        self._connection.executemany("INSERT OR IGNORE INTO question_tags VALUES (?, ?)", retagged)
        self._connection.executemany("DELETE FROM question_tags WHERE tag = ? AND question = ?", untagged)

    def _put_answers(self, answers: Sequence[Answer], change: int) -> None:
        known = self._existing_rows("answers", answers)
        list(self._upsert("answers", answers, known, answer_row, change))

    def _put_links_queries_judgements(self) -> None:
        links = [(x.source, x.target, x.kind, x.created_at) for x in self._buffers[Link]]
        self._connection.executemany("INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?)", links)
        queries = [query_row(x) for x in self._buffers[EvaluationQuery]]
        self._connection.executemany("INSERT OR REPLACE INTO queries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", queries)
        judged = [(x.split, x.query_id, x.document_id, x.relevance, x.position, x.of) for x in self._buffers[Judgement]]
        self._connection.executemany("INSERT OR REPLACE INTO judgements VALUES (?, ?, ?, ?, ?, ?)", judged)

    def _existing_rows(self, table: str, records: Sequence[Any], more_columns: str = "") -> Rows:
        sql = f"SELECT id, number, import{more_columns} FROM {table} WHERE id {IN_JSON_SQL}"
        ids = json.dumps([r.id for r in records])
        return {row[0]: (row[1], *row[2:]) for row in self._connection.execute(sql, (ids,))}

    def _upsert(
        self, table: str, records: Sequence[Any], existing: Rows, row_of: Callable[[Any], Row], change: int
    ) -> Iterator[tuple[Any, int]]:
        """Insert new records and update existing ones, then yield each with its docid."""
        columns = COLUMNS[table]
        by_id = {r.id: r for r in self._drop_repeats(records, existing)}
        top = self._connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
        new = [r for r in by_id.values() if r.id not in existing]
        docids = {r.id: n for n, r in enumerate(new, (top[0] if top else 0) + 1)}
        inserts = [(docids[r.id], r.id, *row_of(r), self._import_number, change) for r in new]
        self._connection.executemany(insert_sql(table, columns), inserts)
        old = [(row_of(r), existing[r.id][0]) for r in by_id.values() if r.id in existing]
        updates = [(*row, *row, change, self._import_number, docid) for row, docid in old]
        self._connection.executemany(update_sql(table, columns), updates)
        for record in by_id.values():
            yield record, docids[record.id] if record.id in docids else existing[record.id][0]

    def _drop_repeats(self, records: Sequence[Any], existing: Rows) -> Iterator[Any]:
        """Yield the records; within an import those whose id it has not written before."""
        if self._import_number is None:
            yield from records
            return
        seen: set[str] = {id for id, row in existing.items() if row[1] == self._import_number}
        for record in records:
            if record.id in seen:
                self.on_repeat(record)
            else:
                seen.add(record.id)
                yield record


def insert_sql(table: str, columns: Sequence[str]) -> str:
    """Return the INSERT of a row: docid and id, then the columns, then the numbers of the import and the change."""
    names = ("number", "id", *columns, "import", "change")
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"


def update_sql(table: str, columns: Sequence[str]) -> str:
    """Return an UPDATE that moves the change number only where a column really changes.

    Its values are those of the columns twice, then the change, the import and the docid.
    """
    holes = ", ".join("?" * len(columns))
    assigned = ", ".join(f"{c} = ?" for c in columns)
    same = f"({', '.join(columns)}) IS ({holes})"
    return f"""UPDATE {table} SET {assigned}, change = CASE WHEN {same} THEN change ELSE ? END, import = ?
        WHERE number = ?"""


def question_row(q: Question) -> Row:
    """Return the values of QUESTION_COLUMNS."""
    return (
        q.title, q.body, q.markup, encode_strings(q.tags), q.category, q.language, q.created_at, q.closed_at, q.author,
        q.url, q.license, q.votes, q.accepted_answer_id, encode_strings(q.rephrasings),
    )  # fmt: skip


def answer_row(a: Answer) -> Row:
    """Return the values of ANSWER_COLUMNS."""
    return (a.question_id, a.body, a.markup, a.created_at, a.author, a.url, a.license, a.votes, a.label)


def query_row(q: EvaluationQuery) -> Row:
    """Return a row of the table `queries`."""
    x = q.question
    return (q.split, x.id, x.title, x.body, x.markup, x.language, x.category, x.created_at)


def encode_strings(tags: Sequence[str]) -> str:
    """Return tags, or rephrasings, as one JSON text."""
    return encode_json(tags) if tags else "[]"


def decode_strings(text: str) -> tuple[str, ...]:
    """Return the tags, or rephrasings, in a text that `encode_strings` made."""
    return tuple(json.loads(text)) if text != "[]" else ()
