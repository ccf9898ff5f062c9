"""Partitions: a split cut into parts once, kept in the archive with its seed and settings, and found by name."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from askalike.archive.clusters import Clusters
from askalike.archive.labels import DERIVED_SQL, Label, labels, parts
from askalike.archive.splits import documents_of, given, split, uncut
from askalike.archive.store import Archive, storage_errors
from askalike.archive.ways import WAYS, Asked
from askalike.archive.writer import atomic
from askalike.clock import now
from askalike.config import validated
from askalike.errors import ArchiveError, SettingsError

NAME = re.compile(r"\w[\w.-]*")


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
    def made(self) -> str:
        """How it was made, in words."""
        settings = ", ".join(f"{key} {_words(value)}" for key, value in self.settings.items() if value is not None)
        return f"{self.of} by {self.by}, {settings}"


def cut(
    archive: Archive,
    by: str,
    settings: Mapping[str, Any] | None = None,
    *,
    of: str | None = None,
    name: str | None = None,
    replace: bool = False,
) -> Partition:
    """Cuts the split `of` (the archive's first if None) into parts and keeps these under `name` (or else `by`).

    by: cluster, category, tag, time or folds; `settings` are those of that way. The same again changes nothing. Raises
    SettingsError for wrong settings or an unusable name, ArchiveError where another partition has the name (and not
    `replace`), where there is nothing to cut, and where a part would be empty.
    """
    if by not in WAYS:
        raise SettingsError(f"a split cannot be cut by {by!r}; it can by: {', '.join(WAYS)}")
    way = validated(WAYS[by], settings or {}, f"split by {by}")
    name, of = _free(archive, by if name is None else name), of or _first(archive)
    _refuse_circle(archive, name, of)
    wanted = (of, by, json.dumps(way.model_dump()))
    kept = archive.connection.execute("SELECT of, way, settings FROM partitions WHERE name = ?", (name,)).fetchone()
    if kept == wanted:
        return partition(archive, name)
    if kept and not replace:
        raise ArchiveError(
            f"{archive.path}: a partition {name!r} is there, of {partition(archive, name).made}; "
            "keep both with --name NAME, or cut it anew with --replace"
        )
    divided = way.divide(_asked(archive, of))
    sizes = Counter(divided.values())
    _refuse_empty(archive, of, {part: sizes[part] for part in way.parts})
    _keep(archive, name, wanted, divided)
    return partition(archive, name)


def forget(archive: Archive, name: str) -> None:
    """Removes a partition, where there is one of that name."""
    with storage_errors(archive.path), atomic(archive.connection):
        archive.connection.execute("DELETE FROM partitions WHERE name = ?", (name,))


def partitions(archive: Archive) -> list[Partition]:
    """All that are kept, by name."""
    names = [name for (name,) in archive.connection.execute("SELECT name FROM partitions ORDER BY name")]
    clusters = Clusters.read(archive.connection) if names else None
    return [partition(archive, name, clusters) for name in names]


def partition(archive: Archive, name: str, clusters: Clusters | None = None) -> Partition:
    """The one of that name, counted as the archive is now. Raises ArchiveError where there is none."""
    sql = "SELECT of, way, settings FROM partitions WHERE name = ?"
    row = archive.connection.execute(sql, (name,)).fetchone()
    if row is None:
        raise ArchiveError(f"{archive.path}: no partition is called {name!r}; make it with: askalike split")
    of, by, settings = row
    place = dict(archive.connection.execute("SELECT query_id, part FROM parts WHERE partition = ?", (name,)))
    known: dict[str | None, list[Label]] = defaultdict(list)
    for label in labels(archive.connection, of):
        known[place.get(label.query)].append(label)
    clusters = clusters or Clusters.read(archive.connection)
    own = {key: known[part.name] for key, part in parts(archive.connection).items() if part.partition == name}
    sizes = tuple(_size(key, labelled, clusters) for key, labelled in own.items())
    return Partition(name, of, by, json.loads(settings), sizes, len({label.query for label in known[None]}))


def _size(split: str, own: Sequence[Label], clusters: Clusters) -> PartSize:
    queries = {label.query: clusters.of(label.text) for label in own}
    sizes = Counter(queries.values())
    links = sum(label.relevant is not None for label in own)
    return PartSize(split, len(queries), len(sizes), links, max(sizes.values(), default=0))


def _asked(archive: Archive, of: str) -> list[Asked]:
    queries = split(archive, of, documents_of(archive, of)).queries
    clusters = Clusters.read(archive.connection)
    texts = {label.query: label.text for label in labels(archive.connection, of)}
    return [
        Asked(id, clusters.of(text), queries[id].created_at, queries[id].category, queries[id].tags)
        for id, text in texts.items()
        if id in queries
    ]


def _first(archive: Archive) -> str:
    names = uncut(archive)
    if not names:
        raise ArchiveError(f"{archive.path}: nothing to cut; import an evaluation set, or duplicate links")
    return names[0]


def _free(archive: Archive, name: str) -> str:
    if not NAME.fullmatch(name):
        raise SettingsError(f"--name {name!r}: expected letters, digits, '-', '_' and '.'")
    if name in (*given(archive), *DERIVED_SQL):
        raise SettingsError(f"--name {name!r}: a split has that name; choose another")
    return name


def _refuse_circle(archive: Archive, name: str, of: str) -> None:
    known = parts(archive.connection)
    while part := known.get(of):
        if part.partition == name:
            raise SettingsError(f"--name {name!r}: {of} is a part of it and cannot be cut into it; choose another name")
        of = part.of


def _refuse_empty(archive: Archive, of: str, sizes: Mapping[str, int]) -> None:
    if not all(sizes.values()):
        found = ", ".join(f"{part} {size:,}" for part, size in sizes.items())
        raise ArchiveError(
            f"{archive.path}: a part of {of} would be without a query ({found}); choose other shares, dates or folds, "
            "or a split with more queries; by time these need dates"
        )


def _keep(archive: Archive, name: str, made: tuple[str, str, str], divided: Mapping[str, str]) -> None:
    with storage_errors(archive.path), atomic(archive.connection):
        archive.connection.execute("DELETE FROM partitions WHERE name = ?", (name,))
        archive.connection.execute("INSERT INTO partitions VALUES (?, ?, ?, ?, ?)", (name, *made, now()))
        rows = [(name, query, part) for query, part in divided.items()]
        archive.connection.executemany("INSERT INTO parts VALUES (?, ?, ?)", rows)


def _words(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
