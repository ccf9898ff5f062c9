"""Stored partitions: which split was cut, how and when, and the part that each of its queries is in."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from askalike.clock import now
from askalike.store.database import Database, WritableDatabase, write_transaction

SPLIT_ORDER = {"train": 0, "dev": 1, "test": 2}


class PartitionDefinition(NamedTuple):
    """The split that a partition was cut from, the splitter's name, and the splitter's settings as JSON."""

    source_split: str
    method: str
    settings_json: str

    @property
    def settings(self) -> Mapping[str, Any]:
        """The splitter's settings."""
        return dict(json.loads(self.settings_json))


class PartitionPart(NamedTuple):
    """A part of a partition; `source_split` is the split that the partition was cut from."""

    partition: str
    name: str
    source_split: str


def partition_names(database: Database) -> list[str]:
    """Return the names of all partitions, sorted."""
    return [name for (name,) in database._connection.execute("SELECT name FROM partitions ORDER BY name")]


def partition_definition(database: Database, name: str) -> PartitionDefinition | None:
    """Return how a partition was cut; None where there is none of that name."""
    sql = "SELECT of, way, settings FROM partitions WHERE name = ?"
    row = database._connection.execute(sql, (name,)).fetchone()
    return PartitionDefinition(*row) if row else None


def partition_date(database: Database, name: str) -> str | None:
    """Return when a partition was cut (ISO 8601, UTC); None where there is none of that name."""
    row = database._connection.execute("SELECT made_at FROM partitions WHERE name = ?", (name,)).fetchone()
    return row[0] if row else None


def part_by_query(database: Database, name: str) -> dict[str, str]:
    """Map the id of each query in a partition to the name of its part."""
    return dict(database._connection.execute("SELECT query_id, part FROM parts WHERE partition = ?", (name,)))


def store_partition(
    archive: WritableDatabase, name: str, definition: PartitionDefinition, parts: Mapping[str, str]
) -> None:
    """Store a partition, its parts given by query id; one of the same name is replaced."""
    with write_transaction(archive) as connection:
        connection.execute("DELETE FROM partitions WHERE name = ?", (name,))
        connection.execute("INSERT INTO partitions VALUES (?, ?, ?, ?, ?)", (name, *definition, now()))
        rows = [(name, query, part) for query, part in parts.items()]
        connection.executemany("INSERT INTO parts VALUES (?, ?, ?)", rows)


def delete_partition(archive: WritableDatabase, name: str) -> None:
    """Delete a partition, if there is one of that name."""
    with write_transaction(archive) as connection:
        connection.execute("DELETE FROM partitions WHERE name = ?", (name,))


def partition_parts(database: Database) -> dict[str, PartitionPart]:
    """Return the parts of all partitions as `PARTITION/PART` → part, by name; train, dev, test and folds in order."""
    sql = "SELECT DISTINCT p.name, x.part, p.of FROM partitions p JOIN parts x ON x.partition = p.name"
    parts = [PartitionPart(*row) for row in database._connection.execute(sql)]
    parts.sort(key=lambda part: (part.partition, SPLIT_ORDER.get(part.name, 0), len(part.name), part.name))
    return {f"{part.partition}/{part.name}": part for part in parts}


def part_query_ids(database: Database, part: PartitionPart) -> set[str]:
    """Return the ids of the queries in a part."""
    sql = "SELECT query_id FROM parts WHERE partition = ? AND part = ?"
    return {id for (id,) in database._connection.execute(sql, (part.partition, part.name))}
