"""The labels in an archive: splits with their judgements, partitions of them, and clusters of duplicates."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from askalike.core.records import DocumentKind, LinkKind, Question, Split
from askalike.core.values import now
from askalike.store.database import Database, WritableDatabase, execute, fetch_int, write_transaction

ANSWERS_SPLIT = "answers"
"""The split whose queries are the archive's own questions, and whose documents are its answers."""
TYPED_SPLIT = re.compile(r"(.+?)(?=[:@])(?::title)?(?:@([1-9][0-9]?|100))?")
"""`SPLIT:title`, `SPLIT@PERCENT` or `SPLIT:title@PERCENT`: a split by its titles, or by their first words."""
SPLIT_ORDER = {"train": 0, "dev": 1, "test": 2}
TEXT_ID_SQL = "COALESCE(q.id, x.split || char(10) || x.id)"
OWN_QUESTION_SQL = "LEFT JOIN questions q ON q.id = x.id AND q.title = x.title"
"""A query of a set is a question of the archive if both id and text are equal: equal ids alone mean nothing."""
IMPORTED_LABELS_SQL = f"""SELECT x.id, {TEXT_ID_SQL}, j.document_id FROM queries x {OWN_QUESTION_SQL}
    LEFT JOIN judgements j ON j.split = x.split AND j.query_id = x.id AND j.record_type = 'questions'
    AND j.relevance > 0 WHERE x.split = ? ORDER BY x.rowid"""
DERIVED_LABELS_SQL: Mapping[str, str] = {
    "duplicates": """SELECT l.source, l.source, l.target FROM links l JOIN questions s ON s.id = l.source
        JOIN questions t ON t.id = l.target WHERE l.kind = 'duplicate' AND l.source != l.target
        ORDER BY s.number, t.number""",
    "rephrasings": """SELECT q.id || '#' || (e.key + 1), q.id, q.id FROM questions q, json_each(q.rephrasings) e
        WHERE q.rephrasings != '[]' ORDER BY q.number, e.key""",
    "answers": """SELECT id, id, id FROM questions q WHERE EXISTS (SELECT 1 FROM answers a WHERE a.question_id = q.id
        AND TRIM(a.body) != '' AND COALESCE(a.label, 'Good') = 'Good') ORDER BY number""",
}
"""Name of a derived split → SQL for its labels, with the columns of `RelevanceLabel`."""


class RelevanceLabel(NamedTuple):
    """A query and a question relevant to it; None if the query has no relevant question.

    `text_id` is the query's id among the texts: that of the question that it is, or is a phrasing of; for an external
    query an id that no question has.
    """

    query_id: str
    text_id: str
    relevant_id: str | None


class PartitionDefinition(NamedTuple):
    """The source split of a partition, the splitter's name, and the splitter's settings as JSON."""

    source_split: str
    method: str
    settings_json: str

    @property
    def settings(self) -> Mapping[str, Any]:
        """The splitter's settings."""
        return dict(json.loads(self.settings_json))


class PartitionPart(NamedTuple):
    """A part of a partition; `source_split` is the split that was divided."""

    partition: str
    name: str
    source_split: str


@dataclass(frozen=True, slots=True)
class Clusters:
    """The duplicate clusters of an archive, and the names of those with labels in held-out splits.

    Every duplicate link and every positive judgement joins two texts, including those in held-out splits and those via
    a deleted question. Therefore no label joins two texts of different clusters.
    name_by_text: text id → its cluster's name, the smallest id in it. A text without an entry is its own cluster.
    """

    name_by_text: Mapping[str, str]
    held_out: frozenset[str] = frozenset()

    @classmethod
    def read(cls, database: Database, held_out_splits: Sequence[str] = (), held_out_ids: Iterable[str] = ()) -> Self:
        """Read the clusters of an archive; 200,000 labels take about a second.

        held_out_ids: texts whose clusters are held out in addition to those of the splits.
        """
        edges = list(database._connection.execute("SELECT source, target FROM links WHERE kind = 'duplicate'"))
        for split in imported_splits(database):
            edges += [(text, relevant) for _, text, relevant in read_labels(database, split) if relevant is not None]
        names = connected_components(edges)
        texts = (label.text_id for split in held_out_splits for label in read_labels(database, split))
        return cls(names, frozenset(names.get(text, text) for text in (*texts, *held_out_ids)))

    @property
    def visible_names(self) -> Mapping[str, str]:
        """Text id → cluster name, for the clusters of at least two texts that are not held out."""
        sizes = Counter(self.name_by_text.values())
        return {text: name for text, name in self.name_by_text.items() if sizes[name] > 1 and name not in self.held_out}

    def cluster_of(self, text_id: str) -> str:
        """Return the name of a text's cluster."""
        return self.name_by_text.get(text_id, text_id)

    def is_held_out(self, *text_ids: str) -> bool:
        """Return whether the cluster of any of these texts is held out."""
        return any(self.cluster_of(text) in self.held_out for text in text_ids)


def labelled_ids(split: Split, kind: DocumentKind = "questions") -> Iterator[str]:
    """Yield the id of each query of a split and, if documents are questions, of each relevant document."""
    yield from (query.id for query in split.queries.values())
    if kind == "questions":
        yield from (id for grades in split.qrels.values() for id, grade in grades.items() if grade > 0)


def connected_components(edges: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Map every node of an undirected graph to the smallest node of its component, independent of the edges' order."""
    parent: dict[str, str] = {}

    def root(node: str) -> str:
        while parent.setdefault(node, node) != node:
            parent[node] = node = parent[parent[node]]
        return node

    for left, right in edges:
        low, high = sorted((root(left), root(right)))
        parent[high] = low
    return {node: root(node) for node in parent}


def imported_splits(database: Database) -> list[str]:
    """Return the names of the imported splits: train, dev, test, then the others by name."""
    names = [name for (name,) in database._connection.execute("SELECT DISTINCT split FROM queries")]
    return sorted(names, key=lambda name: (SPLIT_ORDER.get(name, len(SPLIT_ORDER)), name))


def judged_splits(database: Database, kind: DocumentKind) -> set[str]:
    """Return the names of the imported splits with judgements or candidates that are questions (or answers)."""
    sql = "SELECT DISTINCT split FROM judgements WHERE record_type = ?"
    return {name for (name,) in database._connection.execute(sql, (kind,))}


def imported_queries(database: Database, split: str) -> dict[str, Question]:
    """Return the queries of an imported split by id, in the order of import.

    The question has the `text_id` of its labels: that of the equal question of the archive, else an id that none has.
    """
    columns = "title, body, markup, language, category, created_at"
    sql = f"""SELECT x.id, {TEXT_ID_SQL}, {", ".join(f"x.{column}" for column in columns.split(", "))}
        FROM queries x {OWN_QUESTION_SQL} WHERE x.split = ? ORDER BY x.rowid"""
    return {
        id: Question(text_id, title, body, markup, category=category, language=language, created_at=created_at)
        for id, text_id, title, body, markup, language, category, created_at in database._connection.execute(
            sql, (split,)
        )
    }


def imported_qrels(database: Database, split: str, kind: DocumentKind) -> Iterator[tuple[str, str, int]]:
    """Yield the query id, document id and relevance of each judgement of an imported split, ordered by the ids."""
    sql = """SELECT query_id, document_id, relevance FROM judgements WHERE split = ? AND record_type = ?
        AND relevance IS NOT NULL ORDER BY query_id, document_id"""
    yield from database._connection.execute(sql, (split, kind))


def imported_candidates(database: Database, split: str, kind: DocumentKind) -> Iterator[tuple[str, str]]:
    """Yield the query id and document id of each candidate of an imported split: by query, then in the given order."""
    sql = """SELECT query_id, document_id FROM judgements WHERE split = ? AND record_type = ? AND position IS NOT NULL
        ORDER BY query_id, position, document_id"""
    yield from database._connection.execute(sql, (split, kind))


def irrelevant_judgements(database: Database, before: str | None) -> Iterator[tuple[str, str, str]]:
    """Yield split, the query's text id and document id of each question judged irrelevant, ordered by these.

    before: only those of queries from before this date; None for all.
    """
    sql = f"""SELECT x.split, {TEXT_ID_SQL}, j.document_id FROM judgements j JOIN queries x ON x.split = j.split
        AND x.id = j.query_id {OWN_QUESTION_SQL} WHERE j.record_type = 'questions' AND j.relevance <= 0
        AND (?1 IS NULL OR x.created_at < ?1) ORDER BY 1, 2, 3"""
    yield from database._connection.execute(sql, (before,))


def parse_typed_split(name: str) -> tuple[str, float]:
    """Return the split that a typed split is made from, and the share of a title's words that have been typed.

    The share is 0 for any other split, whose queries stay whole.
    """
    match = TYPED_SPLIT.fullmatch(name)
    return (match[1], int(match[2] or 100) / 100) if match else (name, 0.0)


def read_labels(database: Database, split: str) -> Iterator[RelevanceLabel]:
    """Yield the labels of a split in the order of its queries; none if no split has that name."""
    if fetch_int(database, "SELECT EXISTS (SELECT 1 FROM queries WHERE split = ?)", split):
        yield from map(RelevanceLabel._make, database._connection.execute(IMPORTED_LABELS_SQL, (split,)))
    elif split in DERIVED_LABELS_SQL:
        yield from map(RelevanceLabel._make, database._connection.execute(DERIVED_LABELS_SQL[split]))
    elif part := partition_parts(database).get(split):
        query_ids = part_query_ids(database, part)
        yield from (label for label in read_labels(database, part.source_split) if label.query_id in query_ids)
    elif (source := parse_typed_split(split)[0]) != split:
        yield from read_labels(database, source)


def ranks_answers(database: Database, split: str) -> bool:
    """Return whether the documents of a split are answers, as for `answers` and its parts."""
    parts = partition_parts(database)
    while (split := parse_typed_split(split)[0]) in parts:
        split = parts[split].source_split
    return split == ANSWERS_SPLIT


def split_exists(database: Database, split: str) -> bool:
    """Return whether a split of that name has a query."""
    return next(read_labels(database, split), None) is not None


def partition_names(database: Database) -> list[str]:
    """Return the names of all partitions, sorted."""
    return [name for (name,) in database._connection.execute("SELECT name FROM partitions ORDER BY name")]


def partition_definition(database: Database, name: str) -> PartitionDefinition | None:
    """Return the definition of a partition; None if there is none with that name."""
    sql = "SELECT source_split, method, settings FROM partitions WHERE name = ?"
    return next(map(PartitionDefinition._make, database._connection.execute(sql, (name,))), None)


def part_by_query(database: Database, name: str) -> dict[str, str]:
    """Map the id of each query in a partition to the name of its part."""
    return dict(
        database._connection.execute("SELECT query_id, part FROM partition_queries WHERE partition = ?", (name,))
    )


def store_partition(archive: WritableDatabase, name: str, cut: PartitionDefinition, parts: Mapping[str, str]) -> None:
    """Store a partition, replacing one with the same name. parts: query id → part."""
    rows = [(name, query, part) for query, part in parts.items()]
    with write_transaction(archive) as connection:
        connection.execute("DELETE FROM partitions WHERE name = ?", (name,))
        connection.execute("INSERT INTO partitions VALUES (?, ?, ?, ?, ?)", (name, *cut, now()))
        connection.executemany("INSERT INTO partition_queries VALUES (?, ?, ?)", rows)


def delete_partition(archive: WritableDatabase, name: str) -> None:
    """Delete a partition, if there is one with that name."""
    execute(archive, "DELETE FROM partitions WHERE name = ?", name)


def partition_parts(database: Database) -> dict[str, PartitionPart]:
    """Return the parts of all partitions as `PARTITION/PART` → part, by name; train, dev, test and folds in order."""
    sql = """SELECT DISTINCT p.name, x.part, p.source_split FROM partitions p
        JOIN partition_queries x ON x.partition = p.name"""
    parts = [PartitionPart(*row) for row in database._connection.execute(sql)]
    parts.sort(key=lambda part: (part.partition, SPLIT_ORDER.get(part.name, 0), len(part.name), part.name))
    return {f"{part.partition}/{part.name}": part for part in parts}


def part_query_ids(database: Database, part: PartitionPart) -> set[str]:
    """Return the ids of the queries in a part."""
    sql = "SELECT query_id FROM partition_queries WHERE partition = ? AND part = ?"
    return {id for (id,) in database._connection.execute(sql, (part.partition, part.name))}


BOTH_ENDS_SQL = "links l JOIN questions s ON s.id = l.source JOIN questions t ON t.id = l.target WHERE l.kind ="
"""Links of a kind with both ends in the archive; only these are labels."""


def count_links(database: Database, kind: LinkKind) -> int:
    """Return the number of links of a kind with both ends in the archive."""
    return fetch_int(database, f"SELECT COUNT(*) FROM {BOTH_ENDS_SQL} ?", kind)


def count_labelled(database: Database) -> int:
    """Return the number of labels of the largest kind: duplicate links, rephrasings, or judged queries."""
    counts = (
        "SELECT COALESCE(SUM(json_array_length(rephrasings)), 0) FROM questions WHERE rephrasings != '[]'",
        "SELECT COUNT(DISTINCT query_id) FROM judgements WHERE relevance > 0",
    )
    return max(count_links(database, "duplicate"), *(fetch_int(database, sql) for sql in counts))
