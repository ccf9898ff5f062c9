"""Divides queries into parts or folds by whole clusters; only ids, dates, settings and the seed determine the parts."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from askalike.core.config import DateText, NumberList, Settings, validate_settings
from askalike.core.errors import SettingsError
from askalike.core.types import Qrels
from askalike.store import connected_components, shuffle_names

TRAIN_DEV_TEST = ("train", "dev", "test")
TRAIN_TEST = ("train", "test")


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


def assign_folds(queries: Iterable[str], cluster_of: Mapping[str, str], n_folds: int, seed: int = 0) -> list[list[str]]:
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


def deal_clusters(sizes: Iterable[int], shares: Sequence[float]) -> Iterator[int]:
    """Yield the part of each cluster, given their sizes in queries: the part that is farthest below its share."""
    filled = [0] * len(shares)
    for size in sizes:
        part = min(range(len(shares)), key=lambda n: filled[n] / shares[n])
        filled[part] += size
        yield part
