"""The sources of records. Each import belongs to a source, and each record to the import that last wrote it.

Records written in the archive itself, over HTTP or by a moderator, have no import and so no source. A source's
records have their own ids in an archive, or these with the source's prefix.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, NamedTuple

from askalike.core.errors import SettingsError
from askalike.core.records import Answer, DocumentKind, EvaluationQuery, Judgement, Link, Question
from askalike.store.database import Database, WritableDatabase, fetch_int, write_transaction
from askalike.store.records import TABLES, StoredRecord
from askalike.store.view import View

MAX_NAME_LENGTH = 200
FILE_SUFFIXES = re.compile(r"(-(Posts|PostLinks))?\.7z$|\.(csv|tsv|tab|txt|jsonl?|xml|gz|bz2|parquet|xlsx)\b.*$")
IMPORTS_OF_SOURCE_SQL = "(SELECT number FROM imports WHERE source_number IS ?)"


class Source(NamedTuple):
    """A source by its number and name; both are None for records written in the archive itself.

    prefix: put before `/` and an id that another source has, too.
    """

    number: int | None
    name: str | None
    prefix: str


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """The records of a source. name: None for records that were written in the archive itself."""

    name: str | None
    questions: int
    answers: int
    imported_at: str | None
    """The time at which its last import finished."""


def check_source_name(name: str) -> str:
    """Return a source's name without surrounding white space. Raises SettingsError for an invalid name."""
    stripped = name.strip()
    if not stripped or len(stripped) > MAX_NAME_LENGTH or not stripped.isprintable():
        raise SettingsError(f"source {name!r}: expected a name of 1 to {MAX_NAME_LENGTH} printable characters")
    return stripped


def source_name(reader: str, paths: str) -> str:
    """Return the source name for these paths, as readers name it: without file suffixes."""
    name = PurePath(paths.partition(", ")[0]).name
    name = name.partition(".")[0] if reader in ("table", "pairs") else re.sub(FILE_SUFFIXES, "", name)
    return name or "archive"


def id_prefix(name: str) -> str:
    """Return a source's name as an id prefix: without white space, `/` and `#`."""
    return re.sub(r"[\s/#]+", "-", name).strip("-") or "source"


def find_source(database: Database, name: str) -> Source | None:
    """Return the source with that name; None if nothing has been imported from it."""
    row = database._connection.execute("SELECT number, name, prefix FROM sources WHERE name = ?", (name,)).fetchone()
    return Source(*row) if row else None


def plan_source(database: Database, name: str, prefix: str | None = None) -> Source:
    """Return the source with that name, or the one that would be added.

    prefix: for a new source, as in an exported archive; None for one that no id of the archive begins with.
    """
    if known := find_source(database, name):
        return known
    number = fetch_int(database, "SELECT COALESCE(MAX(number), 0) + 1 FROM sources")
    prefix = wanted = prefix or id_prefix(name)
    for n in range(2, number + 1_000):
        if not _is_prefix_taken(database, prefix):
            break
        prefix = f"{wanted}-{n}"
    return Source(number, name, prefix)


def add_source(archive: WritableDatabase, name: str, prefix: str) -> int:
    """Add a planned source unless one with its name exists; return its number.

    Number and prefix differ from the plan if another import has taken them in the meantime.
    """
    with write_transaction(archive) as connection:
        source = plan_source(archive, name, prefix)
        connection.execute("INSERT INTO sources VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING", source)
    return source.number or 0


def source_prefixes(database: Database) -> dict[str, str]:
    """Map the name of each source to its prefix."""
    return dict(database._connection.execute("SELECT name, prefix FROM sources ORDER BY number"))


def import_numbers(database: Database, source: Source) -> frozenset[int]:
    """Return the numbers of a source's imports."""
    rows = database._connection.execute("SELECT number FROM imports WHERE source_number IS ?", (source.number,))
    return frozenset(number for (number,) in rows)


def count_records(database: Database, source: Source, table: str) -> int:
    """Return the number of a source's rows in a table."""
    sql = f"SELECT COUNT(*) FROM {table} WHERE import_number IN {IMPORTS_OF_SOURCE_SQL}"
    return fetch_int(database, sql, source.number)


def has_records(database: Database, source: Source) -> bool:
    """Return whether the archive has any records of a source."""
    if not import_numbers(database, source):
        return False
    sql = f"import_number IN {IMPORTS_OF_SOURCE_SQL}"
    return any(
        fetch_int(database, f"SELECT EXISTS (SELECT 1 FROM {table.name} WHERE {sql})", source.number)
        for table in TABLES.values()
    )


def summarise_sources(database: Database) -> list[SourceSummary]:
    """Return a summary per source, by first import, followed by records written in the archive itself, if any."""
    counts: dict[str, dict[int | None, int]] = {}
    for table in ("questions", "answers"):
        sql = f"""SELECT i.source_number, COUNT(*) FROM {table} t LEFT JOIN imports i ON i.number = t.import_number
            GROUP BY 1"""
        counts[table] = dict(database._connection.execute(sql).fetchall())
    sql = """SELECT s.number, s.name, MAX(i.finished_at) FROM sources s LEFT JOIN imports i
        ON i.source_number = s.number GROUP BY 1 ORDER BY 1"""
    rows: list[tuple[int | None, str | None, str | None]] = list(database._connection.execute(sql))
    if any(None in of for of in counts.values()):
        rows.append((None, None, None))
    questions, answers = counts["questions"], counts["answers"]
    return [SourceSummary(name, questions.get(n, 0), answers.get(n, 0), at) for n, name, at in rows]


def last_imports(database: Database) -> dict[str, tuple[str, int]]:
    """Map the name of each source to the reader of its last import, and the number of rows that this rejected."""
    sql = """SELECT s.name, i.reader, i.rejected_count FROM imports i JOIN sources s ON s.number = i.source_number
        WHERE i.number IN (SELECT MAX(number) FROM imports GROUP BY source_number)"""
    return {name: (reader, rejected) for name, reader, rejected in database._connection.execute(sql)}


def source_names(view: View, ids: Iterable[str]) -> dict[str, str]:
    """Map each id to the name of the source that its question (or answer) came from.

    Records written in the archive itself, over HTTP or by a moderator, have none and are left out.
    """
    sql = f"""SELECT t.id, s.name FROM json_each(?) k CROSS JOIN {view.kind} t ON t.id = k.value
        JOIN imports i ON i.number = t.import_number JOIN sources s ON s.number = i.source_number"""
    return dict(view._connection.execute(sql, (json.dumps(list(ids)),)))


def _is_prefix_taken(database: Database, prefix: str) -> bool:
    """Return whether a source has the prefix, or an id of the archive begins with it."""
    of_source = fetch_int(database, "SELECT EXISTS (SELECT 1 FROM sources WHERE prefix = ?)", prefix)
    return bool(of_source) or _has_prefixed_ids(database, prefix)


def _has_prefixed_ids(database: Database, prefix: str) -> bool:
    sql = "SELECT EXISTS (SELECT 1 FROM {} WHERE id >= ?1 || '/' AND id < ?1 || '0')"
    return any(fetch_int(database, sql.format(table), prefix) for table in ("questions", "answers"))


OWN_PREFIXED_SQL = """SELECT k.value FROM json_each(?1) k CROSS JOIN {table} t ON t.id = ?2 || '/' || k.value
    JOIN imports i ON i.number = t.import_number WHERE i.source_number IS ?3"""
OTHERS_SQL = """SELECT k.value, i.source_number IS NULL, {text} FROM json_each(?1) k CROSS JOIN {table} t
    ON t.id = k.value LEFT JOIN imports i ON i.number = t.import_number WHERE i.source_number IS NOT ?2"""
OTHERS_REFERENCES_SQL = """WITH others(number) AS (
        SELECT number FROM imports WHERE source_number IS NOT NULL AND source_number IS NOT ?2
    ) SELECT k.value FROM json_each(?1) k WHERE
    EXISTS (SELECT 1 FROM links l WHERE l.source = k.value AND l.import_number IN others) OR
    EXISTS (SELECT 1 FROM links l WHERE l.target = k.value AND l.import_number IN others) OR
    EXISTS (SELECT 1 FROM answers a WHERE a.question_id = k.value AND a.import_number IN others) OR
    EXISTS (SELECT 1 FROM queries q WHERE q.split IN (SELECT DISTINCT split FROM queries) AND q.id = k.value
        AND q.import_number IN others)"""
IdMap = Mapping[str, str]
TEXTS: Mapping[DocumentKind, tuple[type[Question | Answer], Sequence[str]]] = {
    "questions": (Question, ("title", "body")),
    "answers": (Answer, ("body",)),
}
"""Table → its type of record, and the columns in which the same record has the same text."""
ID_FIELDS: Mapping[type, Mapping[str, DocumentKind]] = {
    Question: {"id": "questions", "accepted_answer_id": "answers"},
    Answer: {"id": "answers", "question_id": "questions"},
    Link: {"source": "questions", "target": "questions"},
}
"""Type of record → its fields with an id, and what that is the id of; those of a judgement depend on its type."""


class SourceIds:
    """Assigns a source's records ids that no other source has; its links and answers refer to its own questions.

    An id is taken if a record of another source has it or refers to it. A record written in the archive itself with
    the same text is the same record, and belongs to the source from then on. A record keeps its first id.
    """

    def __init__(self, database: Database, source: Source) -> None:
        self._database = database
        self._source = source
        self._is_alone = self._find_out_if_alone()

    def resolve(self, records: Sequence[StoredRecord]) -> Sequence[StoredRecord]:
        """Return the records with their existing or new ids in the archive."""
        if self._is_alone:
            return records
        new_ids = {kind: self._resolve_ids(kind, records) for kind in TEXTS}
        return [_with_ids(record, new_ids) for record in records] if any(new_ids.values()) else records

    def _resolve_ids(self, table: DocumentKind, records: Sequence[StoredRecord]) -> IdMap:
        """Map the ids of questions (or answers) that get the prefix to the prefixed ids."""
        record_type, columns = TEXTS[table]
        texts = {r.id: tuple(getattr(r, c) for c in columns) for r in reversed(records) if isinstance(r, record_type)}
        execute, number = self._database._connection.execute, self._source.number
        wanted = json.dumps(list(dict.fromkeys(_ids_in(records, table))))
        own = execute(OWN_PREFIXED_SQL.format(table=table), (wanted, self._source.prefix, number))
        prefixed = {id for (id,) in own}
        if number is None:  # records written in the archive refer to records of all sources
            wanted = json.dumps(list(texts))
        for id, is_local, *text in execute(OTHERS_SQL.format(table=table, text=", ".join(columns)), (wanted, number)):
            if not is_local or texts.get(id) != tuple(text):
                prefixed.add(id)
        if table == "questions" and number is not None:
            prefixed |= {id for (id,) in execute(OTHERS_REFERENCES_SQL, (wanted, number))}
        return {id: f"{self._source.prefix}/{id}" for id in prefixed}

    def _find_out_if_alone(self) -> bool:
        """Return whether the archive contains only records of this source, all with their own ids."""
        others = "SELECT EXISTS (SELECT 1 FROM imports WHERE source_number IS NOT ?)"
        local = "SELECT EXISTS (SELECT 1 FROM {} WHERE import_number IS NULL)"
        return not (
            fetch_int(self._database, others, self._source.number)
            or any(fetch_int(self._database, local.format(table)) for table in ("questions", "answers"))
            or _has_prefixed_ids(self._database, self._source.prefix)
        )


def _id_fields(record: Any) -> Mapping[str, DocumentKind]:
    """Return the fields of a record with ids of questions, and of answers."""
    if isinstance(record, Judgement):
        return {"query_id": "questions", "document_id": record.record_type}
    return ID_FIELDS[type(record)]


def _ids_in(records: Iterable[StoredRecord], kind: DocumentKind) -> Iterator[str]:
    """Yield the ids of questions (or answers) that the records have, or refer to."""
    for record in records:
        text = record.question if isinstance(record, EvaluationQuery) else record
        for field, of in _id_fields(text).items():
            if of == kind and (id := getattr(text, field)) is not None:
                yield id


def _with_ids(record: Any, new_ids: Mapping[DocumentKind, IdMap]) -> Any:
    """Return a record with the new ids of questions and answers."""
    if isinstance(record, EvaluationQuery):
        return replace(record, question=_with_ids(record.question, new_ids))
    ids = ((field, getattr(record, field), new_ids[kind]) for field, kind in _id_fields(record).items())
    changed = {field: ids_of_kind[id] for field, id, ids_of_kind in ids if id in ids_of_kind}
    return replace(record, **changed) if changed else record
