"""Partitions: a split divided once into parts, which are stored in the archive with seed and settings."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from askalike.core.errors import ArchiveError, SettingsError
from askalike.labels.splits import KNOWN_SPLIT, default_split, document_kind, load_split
from askalike.labels.splitters import SplitQuery, create_splitter
from askalike.store import Archive, Clusters, imported_splits, labels, read_labels
from askalike.store.labels import DERIVED_LABELS_SQL, RelevanceLabel

NAME_PATTERN = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True, slots=True)
class PartSize:
    """The size of the split `PARTITION/PART`. links: (query, relevant document). largest: cluster size in queries."""

    split: str
    queries: int
    clusters: int
    links: int
    largest: int


@dataclass(frozen=True, slots=True)
class Partition:
    """A split, divided into parts by the method of a splitter with its settings; `left_out` queries are in no part."""

    name: str
    source_split: str
    method: str
    settings: Mapping[str, Any]
    parts: tuple[PartSize, ...]
    left_out: int

    @property
    def description(self) -> str:
        """A description of the division."""
        settings = ", ".join(f"{key} {_format_value(x)}" for key, x in self.settings.items() if x is not None)
        return f"{self.source_split} by {self.method}, {settings}"

    @property
    def remark_on_training(self) -> str:
        """A sentence on the parts that training leaves out from now on; "" if there are none."""
        held_out = [part.split for part in self.parts if part.split.endswith(("/dev", "/test"))]
        return f"askalike train never learns from {', '.join(held_out)}" if held_out else ""


def create_partition(
    archive: Archive,
    method: str,
    settings: Mapping[str, Any] | None = None,
    *,
    source_split: str | None = None,
    name: str | None = None,
    replace: bool = False,
) -> Partition:
    """Divide a split into parts and store these as a partition; return the partition.

    method: cluster, category, tag, time or folds. settings: those of that splitter. source_split: the archive's first
    split if None. name: the method's name if None. A second call with the same arguments changes nothing.
    Raises SettingsError for wrong settings or an invalid name. Raises ArchiveError if another partition has the name
    (unless `replace`), if there is nothing to divide, and if a part would be empty.
    """
    splitter = create_splitter(method, settings or {})
    name = _check_name(archive, method if name is None else name)
    source_split = source_split or default_split(archive)
    if source_split is None:
        raise ArchiveError(f"{archive.path}: nothing to divide; import an evaluation set or duplicate links")
    _refuse_cycle(archive, name, source_split)
    definition = labels.PartitionDefinition(source_split, method, json.dumps(splitter.model_dump()))
    stored = labels.partition_definition(archive, name)
    if stored == definition:
        return get_partition(archive, name)
    if stored and not replace:
        raise ArchiveError(
            f"{archive.path}: partition {name!r} exists: {get_partition(archive, name).description}; "
            "keep both with --name NAME, or replace it with --force"
        )
    parts = splitter.assign_parts(_split_queries(archive, source_split))
    sizes = Counter(parts.values())
    _refuse_empty(archive, source_split, {part: sizes[part] for part in splitter.part_names})
    labels.store_partition(archive, name, definition, parts)
    return get_partition(archive, name)


def list_partitions(archive: Archive) -> list[Partition]:
    """Return all partitions, by name."""
    names = labels.partition_names(archive)
    clusters = Clusters.read(archive) if names else None
    return [get_partition(archive, name, clusters) for name in names]


def get_partition(archive: Archive, name: str, clusters: Clusters | None = None) -> Partition:
    """Return a partition with its current sizes. Raises ArchiveError if there is none with that name."""
    definition = labels.partition_definition(archive, name)
    if definition is None:
        raise ArchiveError(f"{archive.path}: no partition is called {name!r}; create it with: askalike split")
    parts = labels.part_by_query(archive, name)
    labels_by_part: dict[str | None, list[RelevanceLabel]] = defaultdict(list)
    for label in read_labels(archive, definition.source_split):
        labels_by_part[parts.get(label.query_id)].append(label)
    clusters = clusters or Clusters.read(archive)
    members = ((split, part) for split, part in labels.partition_parts(archive).items() if part.partition == name)
    sizes = tuple(_measure_part(split, labels_by_part[part.name], clusters) for split, part in members)
    left_out = len({label.query_id for label in labels_by_part[None]})
    return Partition(name, definition.source_split, definition.method, definition.settings, sizes, left_out)


def _measure_part(split: str, part_labels: Sequence[RelevanceLabel], clusters: Clusters) -> PartSize:
    queries = {label.query_id: clusters.cluster_of(label.text_id) for label in part_labels}
    sizes = Counter(queries.values())
    links = sum(label.relevant_id is not None for label in part_labels)
    return PartSize(split, len(queries), len(sizes), links, max(sizes.values(), default=0))


def _split_queries(archive: Archive, source_split: str) -> list[SplitQuery]:
    queries = load_split(archive, source_split, document_kind(archive, source_split)).queries
    clusters = Clusters.read(archive)
    texts = {label.query_id: label.text_id for label in read_labels(archive, source_split)}
    known = ((id, clusters.cluster_of(text), queries[id]) for id, text in texts.items() if id in queries)
    return [SplitQuery(id, cluster, query.created_at, query.category, query.tags) for id, cluster, query in known]


def _check_name(archive: Archive, name: str) -> str:
    if not NAME_PATTERN.fullmatch(name):
        raise SettingsError(f"--name {name!r}: expected letters, digits, '-', '_' and '.'")
    if name in (*imported_splits(archive), *DERIVED_LABELS_SQL, KNOWN_SPLIT):
        raise SettingsError(f"--name {name!r}: a split already has that name; choose another")
    return name


def _refuse_cycle(archive: Archive, name: str, source_split: str) -> None:
    parts = labels.partition_parts(archive)
    while part := parts.get(source_split):
        if part.partition == name:
            problem = f"{source_split} is a part of it; choose another name"
            raise SettingsError(f"--name {name!r}: {problem}")
        source_split = part.source_split


def _refuse_empty(archive: Archive, source_split: str, sizes: Mapping[str, int]) -> None:
    if not all(sizes.values()):
        counts = ", ".join(f"{part} {size:,}" for part, size in sizes.items())
        raise ArchiveError(
            f"{archive.path}: a part of {source_split} would have no queries ({counts}); "
            "choose other shares, dates or folds, or a split with more queries; by time these need dates"
        )


def _format_value(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
