"""Partitions: a split divided once into parts or folds, which are stored in the archive with seed and settings.

Queries are divided by whole clusters; only ids, dates, settings and the seed determine the parts.
"""

import json
import re
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from askalike.core.config import DateText, NumberList, Settings, validate_settings
from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.records import Qrels
from askalike.labels.splits import KNOWN_SPLIT, default_split, document_kind, load_split
from askalike.store import Archive, Clusters, connected_components, imported_splits, labels, read_labels, shuffle_names
from askalike.store.labels import DERIVED_LABELS_SQL, RelevanceLabel

TRAIN_DEV_TEST = ("train", "dev", "test")
TRAIN_TEST = ("train", "test")
NESTED_FOLDS = 5


class SplitQuery(NamedTuple):
    """The input of splitters for a query. `created_at` is an ISO 8601 date, or None if unknown."""

    id: str
    cluster: str
    created_at: str | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()


class Splitter(Settings, ABC):
    """Divides the queries of a split into parts."""

    @property
    @abstractmethod
    def part_names(self) -> Sequence[str]:
        """The names of the parts, in order."""

    @abstractmethod
    def assign_parts(self, queries: Iterable[SplitQuery]) -> Mapping[str, str]:
        """Map query ids to the names of their parts. A query that belongs to no part has no entry."""


class ClusterSplitter(Splitter):
    """Assigns whole duplicate clusters, in seeded order, to train, dev and test, as near to the shares as possible."""

    shares: NumberList = Field((0.8, 0.1, 0.1), description="shares of the queries in train, dev and test")
    seed: int = Field(0, ge=0, description="seed of the order in which clusters are assigned")

    @model_validator(mode="after")
    def _check_shares(self) -> Self:
        if len(self.shares) not in (2, 3) or min(self.shares) <= 0 or abs(sum(self.shares) - 1) > 1e-6:
            raise ValueError("expected two or three shares above 0 that add up to 1, as in 0.8,0.1,0.1")
        return self

    @property
    def part_names(self) -> Sequence[str]:
        return TRAIN_DEV_TEST if len(self.shares) == 3 else TRAIN_TEST

    def assign_parts(self, queries: Iterable[SplitQuery]) -> Mapping[str, str]:
        return _assign_clusters(queries, dict(zip(self.part_names, self.shares, strict=True)), self.seed)


class CategorySplitter(ClusterSplitter):
    """Assigns whole categories, joined if they share a cluster; a query without a category follows its cluster."""

    def assign_parts(self, queries: Iterable[SplitQuery]) -> Mapping[str, str]:
        return super().assign_parts(_join_clusters(list(queries), lambda q: [q.category] if q.category else []))


class TagSplitter(ClusterSplitter):
    """Keeps queries together that share a tag, directly or transitively, so that no tag is in two parts."""

    def assign_parts(self, queries: Iterable[SplitQuery]) -> Mapping[str, str]:
        return super().assign_parts(_join_clusters(list(queries), lambda query: query.tags))


class FoldSplitter(Splitter):
    """Assigns whole duplicate clusters to parts `1`, `2`, … of about equal size."""

    folds: int = Field(5, ge=2, le=1000, description="number of folds")
    seed: int = Field(0, ge=0, description="seed of the order in which clusters are assigned")

    @property
    def part_names(self) -> Sequence[str]:
        return [str(n) for n in range(1, self.folds + 1)]

    def assign_parts(self, queries: Iterable[SplitQuery]) -> Mapping[str, str]:
        return _assign_clusters(queries, dict.fromkeys(self.part_names, 1.0), self.seed)


class TimeSplitter(Splitter):
    """Assigns queries before one date to train, those from another (or the same) date on to test, the rest to dev.

    A query is left out if a later part has a query of the same cluster, so that parts share no cluster. Queries without
    a date are left out, too.
    """

    before: DateText | None = Field(None, description="train ends before this date")
    after: DateText | None = Field(None, description="test begins on this date")

    @model_validator(mode="after")
    def _check_dates(self) -> Self:
        if not (self.before or self.after):
            raise ValueError("expected a date: before, after or both")
        if self.before and self.after and self.after < self.before:
            raise ValueError(f"after={self.after} is earlier than before={self.before}; test follows train")
        return self

    @property
    def part_names(self) -> Sequence[str]:
        return TRAIN_DEV_TEST if self.before and self.after and self.before < self.after else TRAIN_TEST

    def assign_parts(self, queries: Iterable[SplitQuery]) -> Mapping[str, str]:
        dated = [(query, self._part_index(query.created_at)) for query in queries if query.created_at]
        last_part: dict[str, int] = defaultdict(int)
        for query, part in dated:
            last_part[query.cluster] = max(last_part[query.cluster], part)
        return {query.id: TRAIN_DEV_TEST[part] for query, part in dated if part == last_part[query.cluster]}

    def _part_index(self, date: str) -> int:
        before, after = self.before or self.after or "", self.after or self.before or ""
        return 0 if date < before else 1 if date < after else 2


SPLITTERS: Mapping[str, type[ClusterSplitter] | type[TimeSplitter] | type[FoldSplitter]] = {
    "cluster": ClusterSplitter,
    "category": CategorySplitter,
    "tag": TagSplitter,
    "time": TimeSplitter,
    "folds": FoldSplitter,
}


def create_splitter(method: str, settings: Mapping[str, Any]) -> Splitter:
    """Return the splitter for a method with its settings. Raises SettingsError."""
    if method not in SPLITTERS:
        raise SettingsError(f"no splitter is called {method!r}; there are: {', '.join(SPLITTERS)}")
    return validate_settings(SPLITTERS[method], settings, f"split by {method}")


def _join_clusters(queries: Sequence[SplitQuery], names: Callable[[SplitQuery], Sequence[str]]) -> Iterator[SplitQuery]:
    """Yield the queries with clusters joined that share a name, such as a tag."""
    edges = ((f"cluster {query.cluster}", f"name {name}") for query in queries for name in names(query))
    groups = connected_components(edges)
    for query in queries:
        node = f"cluster {query.cluster}"
        yield query._replace(cluster=groups.get(node, node))


def _assign_clusters(queries: Iterable[SplitQuery], shares: Mapping[str, float], seed: int) -> dict[str, str]:
    """Map query ids to the names of their parts; clusters are assigned in a seeded order."""
    members: dict[str, list[str]] = defaultdict(list)
    for query in queries:
        members[query.cluster].append(query.id)
    clusters = [members[name] for name in shuffle_names(members, seed)]
    part_names = list(shares)
    dealt = zip(clusters, deal_clusters(map(len, clusters), list(shares.values())), strict=True)
    return {query_id: part_names[part] for cluster, part in dealt for query_id in cluster}


def clusters_from_qrels(qrels: Qrels) -> dict[str, str]:
    """Map each query and each relevant document to its cluster, which contains all documents relevant to a query."""
    pairs = ((query, document) for query, grades in qrels.items() for document, grade in grades.items() if grade > 0)
    loops = ((query, query) for query in qrels)
    return connected_components((*pairs, *loops))


def assign_folds(queries: Iterable[str], cluster_of: Mapping[str, str], n_folds: int, seed: int) -> list[list[str]]:
    """Divide queries into folds of about equal size, by whole clusters; the seed orders clusters of equal size."""
    members: dict[str, list[str]] = {}
    for query in queries:
        members.setdefault(cluster_of.get(query, query), []).append(query)
    clusters = list(members.values())
    order = np.random.default_rng(seed).permutation(len(clusters))
    largest_first = sorted((clusters[i] for i in order), key=len, reverse=True)
    folds: list[list[str]] = [[] for _ in range(n_folds)]
    for cluster, fold in zip(largest_first, deal_clusters(map(len, largest_first), [1.0] * n_folds), strict=True):
        folds[fold].extend(cluster)
    return folds


def nested_folds(query_ids: Iterable[str], qrels: Qrels, seed: int) -> Iterator[tuple[list[str], list[str]]]:
    """Yield each non-empty fold and all other queries, in their order. Duplicate clusters stay whole."""
    queries = list(query_ids)
    for fold in assign_folds(queries, clusters_from_qrels(qrels), NESTED_FOLDS, seed):
        if fold:
            members = set(fold)
            yield fold, [query for query in queries if query not in members]


def deal_clusters(sizes: Iterable[int], shares: Sequence[float]) -> Iterator[int]:
    """Yield the part of each cluster, given their sizes in queries: the part that is farthest below its share."""
    filled = [0] * len(shares)
    for size in sizes:
        part = min(range(len(shares)), key=lambda n: filled[n] / shares[n])
        filled[part] += size
        yield part


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
