"""Partitions: a split cut into parts once, kept in the archive with its seed and settings, and found by name."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from askalike.clock import now
from askalike.config import validate_settings
from askalike.errors import ArchiveError, SettingsError
from askalike.labels.clusters import Clusters
from askalike.labels.splits import document_kind, imported_splits, load_split, uncut_splits
from askalike.labels.splitters import SPLITTERS, SplitQuery
from askalike.store.archive import Archive, storage_errors
from askalike.store.labels import DERIVED_LABELS_SQL, RelevanceLabel, partition_parts, read_labels
from askalike.store.writer import atomic

NAME_PATTERN = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True, slots=True)
class PartSize:
    """A part `PARTITION/PART`: its queries, the clusters they are in, relevant pairs, and queries of one cluster."""

    split: str
    queries: int
    clusters: int
    links: int
    largest: int
    """How many queries the largest cluster has."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A split (`of`) that was cut in a way (`by`) with these settings. `left_out` counts its queries in no part."""

    name: str
    of: str
    by: str
    settings: Mapping[str, Any]
    parts: tuple[PartSize, ...]
    left_out: int

    @property
    def description(self) -> str:
        """How it was made, in words."""
        settings = ", ".join(
            f"{key} {_format_value(value)}" for key, value in self.settings.items() if value is not None
        )
        return f"{self.of} by {self.by}, {settings}"


def create_partition(
    archive: Archive,
    method: str,
    settings: Mapping[str, Any] | None = None,
    *,
    source_split: str | None = None,
    name: str | None = None,
    replace: bool = False,
) -> Partition:
    """Cuts the split `of` (the archive's first if None) into parts and keeps these under `name` (or else `by`).

    by: cluster, category, tag, time or folds; `settings` are those of that way. The same again changes nothing. Raises
    SettingsError for wrong settings or an unusable name, ArchiveError where another partition has the name (and not
    `replace`), where there is nothing to cut, and where a part would be empty.
    """
    if method not in SPLITTERS:
        raise SettingsError(f"a split cannot be cut by {method!r}; it can by: {', '.join(SPLITTERS)}")
    way = validate_settings(SPLITTERS[method], settings or {}, f"split by {method}")
    name, source_split = _check_name(archive, method if name is None else name), source_split or _default_split(archive)
    _refuse_cycle(archive, name, source_split)
    wanted = (source_split, method, json.dumps(way.model_dump()))
    kept = archive.connection.execute("SELECT of, way, settings FROM partitions WHERE name = ?", (name,)).fetchone()
    if kept == wanted:
        return get_partition(archive, name)
    if kept and not replace:
        raise ArchiveError(
            f"{archive.path}: a partition {name!r} is there, of {get_partition(archive, name).description}; "
            "keep both with --name NAME, or cut it anew with --replace"
        )
    divided = way.assign_parts(_split_queries(archive, source_split))
    sizes = Counter(divided.values())
    _refuse_empty(archive, source_split, {part: sizes[part] for part in way.part_names})
    _store_partition(archive, name, wanted, divided)
    return get_partition(archive, name)


def delete_partition(archive: Archive, name: str) -> None:
    """Removes a partition, where there is one of that name."""
    with storage_errors(archive.path), atomic(archive.connection):
        archive.connection.execute("DELETE FROM partitions WHERE name = ?", (name,))


def list_partitions(archive: Archive) -> list[Partition]:
    """All that are kept, by name."""
    names = [name for (name,) in archive.connection.execute("SELECT name FROM partitions ORDER BY name")]
    clusters = Clusters.read(archive.connection) if names else None
    return [get_partition(archive, name, clusters) for name in names]


def get_partition(archive: Archive, name: str, clusters: Clusters | None = None) -> Partition:
    """The one of that name, counted as the archive is now. Raises ArchiveError where there is none."""
    sql = "SELECT of, way, settings FROM partitions WHERE name = ?"
    row = archive.connection.execute(sql, (name,)).fetchone()
    if row is None:
        raise ArchiveError(f"{archive.path}: no partition is called {name!r}; make it with: askalike split")
    of, by, settings = row
    place = dict(archive.connection.execute("SELECT query_id, part FROM parts WHERE partition = ?", (name,)))
    known: dict[str | None, list[RelevanceLabel]] = defaultdict(list)
    for label in read_labels(archive.connection, of):
        known[place.get(label.query_id)].append(label)
    clusters = clusters or Clusters.read(archive.connection)
    own = {key: known[part.name] for key, part in partition_parts(archive.connection).items() if part.partition == name}
    sizes = tuple(_measure_part(key, labelled, clusters) for key, labelled in own.items())
    return Partition(name, of, by, json.loads(settings), sizes, len({label.query_id for label in known[None]}))


def _measure_part(split: str, part_labels: Sequence[RelevanceLabel], clusters: Clusters) -> PartSize:
    queries = {label.query_id: clusters.cluster_of(label.text_id) for label in part_labels}
    sizes = Counter(queries.values())
    links = sum(label.relevant_id is not None for label in part_labels)
    return PartSize(split, len(queries), len(sizes), links, max(sizes.values(), default=0))


def _split_queries(archive: Archive, source_split: str) -> list[SplitQuery]:
    queries = load_split(archive, source_split, document_kind(archive, source_split)).queries
    clusters = Clusters.read(archive.connection)
    texts = {label.query_id: label.text_id for label in read_labels(archive.connection, source_split)}
    return [
        SplitQuery(id, clusters.cluster_of(text), queries[id].created_at, queries[id].category, queries[id].tags)
        for id, text in texts.items()
        if id in queries
    ]


def _default_split(archive: Archive) -> str:
    names = uncut_splits(archive)
    if not names:
        raise ArchiveError(f"{archive.path}: nothing to cut; import an evaluation set, or duplicate links")
    return names[0]


def _check_name(archive: Archive, name: str) -> str:
    if not NAME_PATTERN.fullmatch(name):
        raise SettingsError(f"--name {name!r}: expected letters, digits, '-', '_' and '.'")
    if name in (*imported_splits(archive), *DERIVED_LABELS_SQL):
        raise SettingsError(f"--name {name!r}: a split has that name; choose another")
    return name


def _refuse_cycle(archive: Archive, name: str, source_split: str) -> None:
    known = partition_parts(archive.connection)
    while part := known.get(source_split):
        if part.partition == name:
            raise SettingsError(
                f"--name {name!r}: {source_split} is a part of it and cannot be cut into it; choose another name"
            )
        source_split = part.source_split


def _refuse_empty(archive: Archive, source_split: str, sizes: Mapping[str, int]) -> None:
    if not all(sizes.values()):
        found = ", ".join(f"{part} {size:,}" for part, size in sizes.items())
        raise ArchiveError(
            f"{archive.path}: a part of {source_split} would be without a query ({found}); choose other shares, dates or folds, "
            "or a split with more queries; by time these need dates"
        )


def _store_partition(
    archive: Archive, name: str, definition: tuple[str, str, str], part_by_query: Mapping[str, str]
) -> None:
    with storage_errors(archive.path), atomic(archive.connection):
        archive.connection.execute("DELETE FROM partitions WHERE name = ?", (name,))
        archive.connection.execute("INSERT INTO partitions VALUES (?, ?, ?, ?, ?)", (name, *definition, now()))
        rows = [(name, query, part) for query, part in part_by_query.items()]
        archive.connection.executemany("INSERT INTO parts VALUES (?, ?, ?)", rows)


def _format_value(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
