"""What an archive has to choose a ranker by: queries that choose, and queries that measure what was chosen, once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from askalike.archive import partitions
from askalike.archive.content import content_hash
from askalike.archive.splits import given, split, uncut
from askalike.archive.store import Archive
from askalike.experiment.estimate import sampled
from askalike.tune.proxies import proxy
from askalike.types import Split

NESTED = 500
"""With fewer labelled queries than that, all of them choose and measure, in nested folds."""
FEWEST = 10
"""Fewer labelled queries are passed over for a proxy."""
NOISE = 30
"""With fewer labelled queries than that, any choice is within noise."""
CHOOSE = 1_000
"""At most so many queries choose where others measure."""
PARTITION = "tune"
CUT_OF = "tune_cut_of"
"""Where an archive keeps which content that partition was cut of."""
PARTS = (0.5, 0.25, 0.25)
"""Of labelled queries that no evaluation set has divided: what trains, chooses and measures."""
CHOOSING = (0.9, 0.1)
"""Of train, where nothing else chooses: what trains, and what chooses."""


@dataclass(frozen=True, slots=True)
class Task:
    """The queries that choose (`dev`) and those that measure (`test`; None: dev does, in nested folds)."""

    name: str
    dev: Split
    test: Split | None = None
    hidden: tuple[str, ...] = ()
    """Splits that nothing is learned from."""
    calibrates: str | None = None
    """The split that what has learned from labels may be calibrated on,"""
    whole: str | None = None
    """and that for what has not."""
    proxy: bool = False
    """Whether no person has said what is relevant: the archive's texts stand in."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Settings that every ranker has while it is tried."""
    seed: int = 0
    """Of the folds."""

    @property
    def measures(self) -> Split:
        """The queries that measure."""
        return self.test or self.dev

    @property
    def withheld(self) -> frozenset[str]:
        """The ids of the questions that are asked, or that queries were made of: nothing is learned of them."""
        splits = (self.dev, self.measures)
        if self.proxy:
            return frozenset(id for split in splits for grades in split.qrels.values() for id in grades)
        return frozenset(id for split in splits for id in split.queries)

    @property
    def remarks(self) -> Sequence[str]:
        """What a reader of the figures must know."""
        found = []
        if self.proxy:
            found.append(
                f"no labels: chosen and measured on a proxy, {self.name}; what people ask may differ. Duplicate links, "
                "rephrasings or an evaluation set would tell"
            )
        elif (n := len(self.measures.qrels)) < NOISE:
            found.append(
                f"{n} labelled queries: the choice is within noise; from {NOISE} on it begins to mean something"
            )
        return found


def task_of(archive: Archive, seed: int = 0) -> Task:
    """What the archive has: an evaluation set's own parts, else its labels, cut by cluster or in folds, else a proxy.

    Cuts the partition `tune` where labels must be divided. Raises ArchiveError where there is nothing at all.
    """
    names = uncut(archive)
    if "train" in names and len(names) > 1:
        return _given(archive, names, seed)
    if not names:
        return _proxy(archive, seed)
    of = max(names, key=lambda name: len(split(archive, name).qrels))
    whole = split(archive, of)
    if len(whole.qrels) < FEWEST:
        return _proxy(archive, seed)
    if len(whole.qrels) < NESTED:
        return Task(f"{of}, nested folds", whole, None, (of,), of, of, seed=seed)
    _cut(archive, of, PARTS, seed)
    dev, test = f"{PARTITION}/dev", f"{PARTITION}/test"
    return Task(of, _some(archive, dev, seed), split(archive, test), (dev, test), test, of)


def _given(archive: Archive, names: Sequence[str], seed: int) -> Task:
    """test measures where it is there, else dev; dev chooses where it does not measure, else a tenth of train."""
    test = "test" if "test" in names else next(name for name in names if name != "train")
    if "dev" in names and test != "dev":
        dev = "dev"
    else:
        _cut(archive, "train", CHOOSING, seed)
        dev = f"{PARTITION}/test"
    hidden = tuple(dict.fromkeys([dev, *(name for name in given(archive) if name != "train")]))
    return Task(f"{dev}, measured on {test}", _some(archive, dev, seed), split(archive, test), hidden, test, test)


def _some(archive: Archive, name: str, seed: int) -> Split:
    """At most CHOOSE queries: more would make each trial slower and hardly another one the winner."""
    return sampled(split(archive, name), CHOOSE, seed)


def _cut(archive: Archive, of: str, shares: Sequence[float], seed: int) -> None:
    """Cuts anew where the archive has changed since: a cut of other labels leaves queries out."""
    now = content_hash(archive)
    if archive.meta.get(CUT_OF) != now:
        partitions.forget(archive, PARTITION)
    partitions.cut(archive, "cluster", {"shares": list(shares), "seed": seed}, of=of, name=PARTITION, replace=True)
    archive.set_meta(**{CUT_OF: now})


def _proxy(archive: Archive, seed: int) -> Task:
    made = proxy(archive, seed)
    return Task(made.name, made.dev, made.test, proxy=True, fixed=made.fixed)
