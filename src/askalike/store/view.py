"""What rankers see of texts: the snapshot that they need, and the view of an archive, which also has links."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from askalike.core.arrays import Ints
from askalike.core.filters import Filter
from askalike.core.records import Answer, DocumentKind, Link, LinkKind, Question, Split
from askalike.store.database import CHUNK_ROWS, IN_JSON_SQL, SharedConnection, select_in_chunks
from askalike.store.labels import Clusters
from askalike.store.records import (
    ACCEPTED_SQL,
    ANSWER_COLUMNS,
    ANSWER_SQL,
    QUESTION_SQL,
    answer_from_row,
    question_from_row,
    select_filtered_docids,
)

MAPPED_ROWS = 1_000  # from so many ids on the file is mapped: 27 instead of 47 ms for 18,000
MAPPED_BYTES = 1 << 40
REMEMBERED_FILTERS = 4


class Snapshot(Protocol):
    """Questions (or answers) by docid at one point in time; see `View`."""

    __slots__ = ()

    @property
    def path(self) -> Path:
        """The directory of the archive."""

    @property
    def kind(self) -> DocumentKind:
        """Whether the documents are questions or answers."""

    @property
    def before(self) -> str | None:
        """The date before which they were created; None for all."""

    @property
    def group(self) -> str | None:
        """The data set that they belong to; None for all."""

    @property
    def engine(self) -> str | None:
        """The address of the engine that holds the indexes; None for the archive's directory."""

    @property
    def language(self) -> str | None:
        """The language of all of them; None if there are several or it is unknown."""

    @property
    def languages(self) -> Sequence[str]:
        """Their languages, if there are several."""

    @property
    def change(self) -> int:
        """The change number up to which indexes are updated: the last one; 0 for an empty archive."""

    @property
    def last_change(self) -> int:
        """The number of the last change, indexed or not; 0 for an empty archive."""

    @property
    def labels_version(self) -> tuple[int, int]:
        """The number of links and the number of the last import, which change when labels are added."""

    def __len__(self) -> int: ...

    def require_in_place(self) -> None:
        """Raise ArchiveError if the directory was moved."""

    def change_date(self, change: int) -> str | None:
        """Return the time of a change (ISO 8601, UTC), which differs between archives; None if it never happened."""

    def count_changed(self, since: int = 0) -> int:
        """Return the number of documents added or changed after change `since`."""

    def deleted_docids(self, since: int = 0) -> list[int]:
        """Return the docids removed after change `since`: deleted, or with a new date after the end of the snapshot."""

    def questions(self, since: int = 0, with_answers: bool = False) -> Iterator[tuple[int, Question]]:
        """Yield docid and question of those changed after change `since`, by docid, reading a few at a time.

        with_answers: also those whose accepted answer has changed.
        """

    def questions_by_docid(self, docids: Iterable[int]) -> dict[int, Question]:
        """Return the questions with these docids, by docid."""

    def answers(self, since: int = 0) -> Iterator[tuple[int, Answer]]:
        """Yield docid and answer of those changed after change `since`, by docid, reading a few at a time."""

    def get_answers(self, ids: Iterable[str]) -> dict[str, Answer]:
        """Return the answers with these ids, by id."""

    def accepted_answers(self, question_docids: Iterable[int]) -> dict[int, Answer]:
        """Map the docid of each question with an accepted answer to that answer."""

    def titles(self) -> Iterator[tuple[int, str, str]]:
        """Yield docid, id and title of every question, by docid."""

    @property
    def logged_count(self) -> int:
        """The number of queries that were ever logged."""

    def logged_titles(self, count: int) -> Sequence[str]:
        """Return the titles of logged queries, the latest first, up to a number."""

    def ids(self, docids: Iterable[int]) -> dict[int, str]:
        """Map each existing docid to its id."""

    def docids(self, ids: Iterable[str]) -> dict[str, int]:
        """Map each existing id to its docid."""

    def ids_of(self, docids: Sequence[int]) -> list[str | None]:
        """Return the id of each docid, None for one that does not exist."""

    def votes(self, docids: Iterable[int]) -> Mapping[int, int]:
        """Map each existing docid to its votes, if these are not 0."""

    def filtered_docids(self, filter: Filter) -> Ints:
        """Return the docids of the questions that satisfy a filter, or of the answers to them, ascending."""

    def clusters(self) -> Clusters:
        """Return the duplicate clusters of the whole archive, with those of held-out splits marked."""


@dataclass(frozen=True, slots=True)
class View(Snapshot):
    """The questions (or answers) of the archive at `path`, optionally only those before a date or of one group.

    Every row has a docid, assigned once and never reused; rows are returned, and ties are broken, in docid order.

    before: ISO date; only rows and links created earlier are in the view. group: the name of one of several data sets
    in the archive (a forum of CQADupStack), whose ids begin with `GROUP/`.
    held_out_splits: splits to evaluate on. The view has all texts, but no links of clusters in such a split.
    held_out_ids: texts whose clusters are hidden in the same way.
    engine: the address of the engine that holds the indexes; None if they are in the archive's directory.
    Other methods are described at `Snapshot`.
    """

    _connection: SharedConnection
    path: Path = field()  # else Snapshot's property would be its default
    kind: DocumentKind = "questions"
    before: str | None = None
    group: str | None = None
    held_out_splits: tuple[str, ...] = ()
    held_out_ids: frozenset[str] = frozenset()
    engine: str | None = field(default=None, kw_only=True)
    _filtered: dict[Filter, tuple[int, Ints]] = field(default_factory=dict, kw_only=True, compare=False, repr=False)

    def require_in_place(self) -> None:
        """See Archive.require_in_place."""
        self._connection.require_in_place()

    @property
    def change(self) -> int:
        return self.last_change

    @property
    def last_change(self) -> int:
        return int(self._connection.execute("SELECT COALESCE(MAX(number), 0) FROM changes").fetchone()[0])

    @property
    def data_version(self) -> tuple[int, int]:
        """Numbers of which one changes with every write to the archive's database, of this connection or another."""
        [(others,)] = self._connection.read("PRAGMA data_version")
        return others, self._connection.total_changes

    @property
    def labels_version(self) -> tuple[int, int]:
        sql = "SELECT (SELECT COUNT(*) FROM links), (SELECT COALESCE(MAX(number), 0) FROM imports)"
        return self._connection.execute(sql).fetchone()  # type: ignore[no-any-return]

    @property
    def state(self) -> Sequence[Any]:
        """Everything except the ranker that determines search results, as JSON values: the view's state and limits."""
        partitions = self._connection.execute("SELECT * FROM partitions ORDER BY name").fetchall()
        archive = [self.change, self.change_date(self.change), self.labels_version, partitions]
        hidden = [self.held_out_splits, sorted(self.held_out_ids)]
        return [*archive, self.language, self.languages, self.kind, self.before, self.group, self.engine, *hidden]

    @property
    def meta(self) -> Mapping[str, Any]:
        """Metadata of the archive: name, language, license, source and others."""
        return {key: json.loads(value) for key, value in self._connection.execute("SELECT key, value FROM meta")}

    @property
    def latest_date(self) -> str | None:
        """The date of the newest question, answer or link before the view's end; None if none has a date."""
        tables = " UNION ALL ".join(f"SELECT created_at FROM {table}" for table in ("questions", "answers", "links"))
        sql = f"SELECT MAX(created_at) FROM ({tables}) WHERE created_at < COALESCE(?, '9999')"
        return self._connection.execute(sql, (self.before,)).fetchone()[0]  # type: ignore[no-any-return]

    def change_date(self, change: int) -> str | None:
        row = self._connection.execute("SELECT committed_at FROM changes WHERE number = ?", (change,)).fetchone()
        return row[0] if row else None

    @property
    def language(self) -> str | None:
        """The language of the whole archive; None if it has several or an unknown one."""
        return self._meta_value("language")  # type: ignore[no-any-return]

    @property
    def languages(self) -> Sequence[str]:
        return self._meta_value("languages") or ()

    def count_changed(self, since: int = 0) -> int:
        where, values = self._conditions()
        if since:  # in any order, so that the index of changes suffices
            where.append("change > ?")
            values.append(since)
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        return int(self._connection.execute(f"SELECT COUNT(*) FROM {self.kind}{condition}", values).fetchone()[0])

    def __len__(self) -> int:
        return self.count_changed()

    def questions(self, since: int = 0, with_answers: bool = False) -> Iterator[tuple[int, Question]]:
        for row in self._stream_rows("questions", QUESTION_SQL, since, with_answers=with_answers):
            yield row[0], question_from_row(row)

    def titles(self) -> Iterator[tuple[int, str, str]]:
        """Yield docid, id and title of every question of the archive, by docid."""
        yield from self._connection.execute("SELECT number, id, title FROM questions ORDER BY number")

    @property
    def logged_count(self) -> int:
        return int(self._connection.execute("SELECT COALESCE(MAX(number), 0) FROM query_log").fetchone()[0])

    def logged_titles(self, count: int) -> Sequence[str]:
        sql = "SELECT title FROM query_log WHERE created_at < COALESCE(?, '9999') ORDER BY number DESC LIMIT ?"
        return [title for (title,) in self._connection.execute(sql, (self.before, count))]

    def answers(self, since: int = 0) -> Iterator[tuple[int, Answer]]:
        for row in self._stream_rows("answers", ANSWER_SQL, since, "a."):
            yield row[0], answer_from_row(row)

    def deleted_docids(self, since: int = 0) -> list[int]:
        sql = f"""SELECT number FROM deletions WHERE record_type = ?1 AND change > ?2
            UNION SELECT number FROM {self.kind} WHERE change > ?2 AND (created_at < ?3) IS NOT TRUE
            AND ?3 IS NOT NULL"""
        return [n for (n,) in self._connection.execute(sql, (self.kind, since, self.before))]

    def ids(self, docids: Iterable[int]) -> dict[int, str]:
        docids = list(docids)
        return {docid: id for docid, id in zip(docids, self.ids_of(docids), strict=True) if id is not None}

    def ids_of(self, docids: Sequence[int]) -> list[str | None]:
        """Return the id of each docid, None for one that does not exist.

        The pages of many are mapped into memory, which spares a call for each.
        """
        if len(docids) >= MAPPED_ROWS:
            self._connection.read(f"PRAGMA mmap_size = {MAPPED_BYTES}")
        sql = f"SELECT json_group_array(q.id) FROM json_each(?) d LEFT JOIN {self.kind} q ON q.number = d.value"
        return [id for [ids] in select_in_chunks(self, sql, docids) for id in json.loads(ids)]

    def docids(self, ids: Iterable[str]) -> dict[str, int]:
        sql = f"SELECT json_group_array(id), json_group_array(number) FROM {self.kind} WHERE id {IN_JSON_SQL}"
        columns = select_in_chunks(self, sql, ids)  # lists of JSON are faster than many rows
        return {id: docid for own in columns for id, docid in zip(*map(json.loads, own), strict=True)}

    def votes(self, docids: Iterable[int]) -> dict[int, int]:
        sql = f"SELECT number, votes FROM {self.kind} WHERE votes != 0 AND number {IN_JSON_SQL}"
        return dict(select_in_chunks(self, sql, docids))

    def get_questions(self, ids: Iterable[str]) -> dict[str, Question]:
        """Return the questions in the view with these ids, by id."""
        return {question.id: question for _, question in self._select_questions("id", ids)}

    def questions_by_docid(self, docids: Iterable[int]) -> dict[int, Question]:
        return dict(self._select_questions("number", docids))

    def get_answers(self, ids: Iterable[str]) -> dict[str, Answer]:
        """Return the answers of the archive with these ids, by id."""
        rows = select_in_chunks(self, f"{ANSWER_SQL} WHERE a.id {IN_JSON_SQL}", ids)
        return {row[1]: answer_from_row(row) for row in rows}

    def get_answers_to(self, question_ids: Iterable[str]) -> dict[str, list[Answer]]:
        """Map each question id to its answers: accepted first, then by votes, then by docid."""
        answers_to: dict[str, list[Answer]] = {id: [] for id in question_ids}
        for row in select_in_chunks(self, f"{ANSWER_SQL} WHERE a.question_id {IN_JSON_SQL}", answers_to):
            answers_to[row[2]].append(answer_from_row(row))
        for answers in answers_to.values():
            answers.sort(key=lambda a: (not a.accepted, -(a.votes or 0)))
        return answers_to

    def accepted_answers(self, question_docids: Iterable[int]) -> dict[int, Answer]:
        sql = f"""SELECT q.number, a.number, a.id, {", ".join("a." + c for c in ANSWER_COLUMNS)}, 1 FROM questions q
            JOIN answers a ON {ACCEPTED_SQL} WHERE q.number {IN_JSON_SQL} AND (? IS NULL OR a.created_at < ?)"""
        rows = select_in_chunks(self, sql, question_docids, [self.before] * 2)
        return {row[0]: answer_from_row(row[1:]) for row in rows}

    def clusters(self) -> Clusters:
        return Clusters.read(self, self.held_out_splits, self.held_out_ids)

    def links(self, kind: LinkKind = "duplicate") -> Iterator[Link]:
        """Yield the links of a kind with both ends in the view, by these ends' docids, without held-out clusters."""
        (source_clauses, source_values), (target_clauses, target_values) = map(self._conditions, ("s.", "t."))
        where = " AND ".join(["l.kind = ?", *source_clauses, *target_clauses])
        values = [kind, *source_values, *target_values]
        if self.before:
            where += " AND (l.created_at < ? OR l.created_at IS NULL)"
            values.append(self.before)
        sql = f"""SELECT l.source, l.target, l.kind, l.created_at FROM links l JOIN questions s ON s.id = l.source
            JOIN questions t ON t.id = l.target WHERE {where} ORDER BY s.number, t.number"""
        clusters = self.clusters() if self.held_out_splits or self.held_out_ids else None
        for row in self._connection.execute(sql, values):
            if clusters is None or not clusters.is_held_out(row[0], row[1]):
                yield Link(*row)

    def filtered_docids(self, filter: Filter) -> Ints:
        """Return the docids of the questions that satisfy a filter, or of the answers to them, ascending (int64).

        They are cached until the archive changes: a service often searches with the same filter.
        """
        change = self.last_change
        remembered = self._filtered.get(filter)
        if remembered is None or remembered[0] != change:
            if len(self._filtered) >= REMEMBERED_FILTERS:
                self._filtered.clear()
            remembered = self._filtered[filter] = change, select_filtered_docids(self, self.kind, filter)
        return remembered[1]

    def _meta_value(self, key: str) -> Any:
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else None

    def _conditions(self, prefix: str = "") -> tuple[list[str], list[Any]]:
        """Return the SQL conditions for rows of the view, with their values."""
        where: list[str] = []
        values: list[Any] = []
        if self.before:
            where.append(f"{prefix}created_at < ?")
            values.append(self.before)
        if self.group:
            where.append(f"{prefix}id > ? AND {prefix}id < ?")  # '0' is the character after '/'
            values += [f"{self.group}/", f"{self.group}0"]
        return where, values

    def _stream_rows(
        self, kind: DocumentKind, sql: str, since: int, prefix: str = "", with_answers: bool = False
    ) -> Iterator[tuple[Any, ...]]:
        where, values = self._conditions(prefix)
        if since:  # keeps rows in number order, for which SQLite would otherwise read the whole table
            changed = f"SELECT number FROM {kind} WHERE change > ?"
            values.append(since)
            if with_answers:
                joined = f"answers a JOIN questions q ON {ACCEPTED_SQL}"
                changed += f" UNION SELECT q.number FROM {joined} WHERE a.change > ?"
                values.append(since)
            where.append(f"{prefix}number IN ({changed})")
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        cursor = self._connection.execute(f"{sql}{condition} ORDER BY {prefix}number", values)
        while rows := cursor.fetchmany(CHUNK_ROWS):
            yield from rows

    def _select_questions(self, column: str, keys: Iterable[str | int]) -> Iterator[tuple[int, Question]]:
        clauses, values = self._conditions()
        where = " AND ".join([f"{column} {IN_JSON_SQL}", *clauses])
        for row in select_in_chunks(self, f"{QUESTION_SQL} WHERE {where}", keys, values):
            yield row[0], question_from_row(row)


@dataclass(frozen=True, slots=True)
class TrainingView(View):
    """A view for training rankers, with explicitly held-out splits.

    Created only by `Archive.training_view`. excluded_ids: questions that will be queries; training does not use them at
    all, not even a title with its body. dev: the queries that choose the best epoch; their clusters are held out, too.
    """

    excluded_ids: frozenset[str] = frozenset()
    dev: Split | None = field(default=None, compare=False)

    @property
    def digest(self) -> str:
        """A digest of what determines a model trained on this view: the archive's state and the held-out data."""
        parts: list[Any] = [self.change, self.labels_version, self.kind, self.before, self.group, self.held_out_splits]
        parts += [sorted(self.held_out_ids), sorted(self.excluded_ids), sorted(self.dev.queries) if self.dev else None]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class CommittedView(View):
    """All questions as last indexed: a ranker opens its last commit without applying changes."""

    @property
    def change(self) -> int:
        return 0
