"""The ways to cut a split into parts, one class each: its settings, and which query goes where.

Whichever way, no cluster is in two parts, and the parts depend on ids, dates, settings and the seed alone, not on the
order in which anything was imported.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, NamedTuple, Protocol, Self

from pydantic import Field, model_validator

from askalike.config import Settings
from askalike.labels.clusters import connected_components
from askalike.store.samples import shuffle_names

TRAIN_DEV_TEST = ("train", "dev", "test")
TRAIN_TEST = ("train", "test")
IsoDate = Annotated[str, Field(pattern=r"^\d{4}(-\d\d(-\d\d([T ].*)?)?)?$")]


class SplitQuery(NamedTuple):
    """A query as a cut sees it. `created_at`: an ISO 8601 date, or None where it is not known."""

    id: str
    cluster: str
    created_at: str | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()


class Splitter(Protocol):
    """A way to cut."""

    @property
    def part_names(self) -> Sequence[str]:
        """The parts' names."""

    def assign_parts(self, queries: Iterable[SplitQuery]) -> Mapping[str, str]:
        """Query id → the name of its part. A query that is in none is left out."""


class ClusterSplitter(Settings):
    """Whole duplicate clusters, in a seeded order, to train, dev and test; with two shares to train and test."""

    shares: tuple[float, ...] = Field((0.8, 0.1, 0.1), description="of the queries, of train, dev, test")
    seed: int = Field(0, ge=0, description="of the order in which clusters are dealt out")

    @model_validator(mode="after")
    def _check_shares(self) -> Self:
        if len(self.shares) not in (2, 3) or min(self.shares) <= 0 or abs(sum(self.shares) - 1) > 1e-6:
            raise ValueError("expected two or three shares above 0 that add up to 1, as in 0.8,0.1,0.1")
        return self

    @property
    def part_names(self) -> Sequence[str]:
        """See Way.parts."""
        return TRAIN_DEV_TEST if len(self.shares) == 3 else TRAIN_TEST

    def assign_parts(self, queries: Iterable[SplitQuery]) -> Mapping[str, str]:
        """See Way.divide. Parts come as near to their shares as clusters can: the one that lacks most has the next."""
        return _deal_clusters(queries, dict(zip(self.part_names, self.shares, strict=True)), self.seed)


class CategorySplitter(ClusterSplitter):
    """Whole categories, each with the duplicate clusters that reach into it: none is in two parts.

    A query without a category goes with its cluster alone.
    """

    def assign_parts(self, queries: Iterable[SplitQuery]) -> Mapping[str, str]:
        """See Way.divide."""
        return super().assign_parts(
            _merge_clusters(list(queries), lambda query: [query.category] if query.category else [])
        )


class TagSplitter(ClusterSplitter):
    """Queries that share a tag, directly or by a chain, go together: no tag is in two parts."""

    def assign_parts(self, queries: Iterable[SplitQuery]) -> Mapping[str, str]:
        """See Way.divide."""
        return super().assign_parts(_merge_clusters(list(queries), lambda query: query.tags))


class FoldSplitter(Settings):
    """Parts `1`, `2`, … of about as many queries each, of whole duplicate clusters."""

    folds: int = Field(5, ge=2, le=1000, description="how many")
    seed: int = Field(0, ge=0, description="of the order in which clusters are dealt out")

    @property
    def part_names(self) -> Sequence[str]:
        """See Way.parts."""
        return [str(n) for n in range(1, self.folds + 1)]

    def assign_parts(self, queries: Iterable[SplitQuery]) -> Mapping[str, str]:
        """See Way.divide."""
        return _deal_clusters(queries, dict.fromkeys(self.part_names, 1.0), self.seed)


class TimeSplitter(Settings):
    """Queries asked before one date to train, from another (or the same) on to test, those between to dev.

    An older query whose cluster is asked about later again is left out, so that no part knows of the next one's
    clusters. So is a query without a date.
    """

    before: IsoDate | None = Field(None, description="train ends before this date")
    after: IsoDate | None = Field(None, description="test begins at this date")

    @model_validator(mode="after")
    def _check_dates(self) -> Self:
        if not (self.before or self.after):
            raise ValueError("expected a date: before, after or both")
        if self.before and self.after and self.after < self.before:
            raise ValueError(f"after={self.after} is earlier than before={self.before}; test follows train")
        return self

    @property
    def part_names(self) -> Sequence[str]:
        """See Way.parts."""
        return TRAIN_DEV_TEST if self.before and self.after and self.before < self.after else TRAIN_TEST

    def assign_parts(self, queries: Iterable[SplitQuery]) -> Mapping[str, str]:
        """See Way.divide."""
        placed = [(query, self._part_index(query.created_at)) for query in queries if query.created_at]
        latest: dict[str, int] = defaultdict(int)
        for query, part in placed:
            latest[query.cluster] = max(latest[query.cluster], part)
        return {query.id: TRAIN_DEV_TEST[part] for query, part in placed if part == latest[query.cluster]}

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


def _merge_clusters(
    queries: Sequence[SplitQuery], group_names: Callable[[SplitQuery], Sequence[str]]
) -> Iterator[SplitQuery]:
    """The queries with clusters so large that no name is in two of them."""
    edges = ((f"cluster {query.cluster}", f"name {name}") for query in queries for name in group_names(query))
    groups = connected_components(edges)
    for query in queries:
        own = f"cluster {query.cluster}"
        yield query._replace(cluster=groups.get(own, own))


def _deal_clusters(queries: Iterable[SplitQuery], shares: Mapping[str, float], seed: int) -> dict[str, str]:
    """Each cluster in turn, in an order that the seed decides, to the part that is the farthest below its share."""
    members: dict[str, list[str]] = defaultdict(list)
    for query in queries:
        members[query.cluster].append(query.id)
    filled = dict.fromkeys(shares, 0)
    found: dict[str, str] = {}
    for cluster in shuffle_names(members, seed):
        part = min(shares, key=lambda name: filled[name] / shares[name])
        filled[part] += len(members[cluster])
        found |= dict.fromkeys(members[cluster], part)
    return found
