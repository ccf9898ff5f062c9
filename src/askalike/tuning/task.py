"""What an archive has to choose a ranker by: queries that choose, and queries that measure what was chosen, once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from askalike.experiments.nested_estimate import sample_queries
from askalike.labels import partitions
from askalike.labels.splits import imported_splits, load_split, uncut_splits
from askalike.store.archive import Archive
from askalike.store.content import content_hash
from askalike.tuning.proxies import make_proxy_task
from askalike.types import Split

MIN_UNNESTED = 500
"""With fewer labelled queries than that, all of them choose and measure, in nested folds."""
MIN_LABELLED = 10
"""Fewer labelled queries are passed over for a proxy."""
MIN_MEANINGFUL = 30
"""With fewer labelled queries than that, any choice is within noise."""
MAX_DEV_QUERIES = 1_000
"""At most so many queries choose where others measure."""
PARTITION = "tune"
PARTITION_HASH_KEY = "tune_cut_of"
"""Where an archive keeps which content that partition was cut of."""
LABEL_SHARES = (0.5, 0.25, 0.25)
"""Of labelled queries that no evaluation set has divided: what trains, chooses and measures."""
TRAIN_SHARES = (0.9, 0.1)
"""Of train, where nothing else chooses: what trains, and what chooses."""


@dataclass(frozen=True, slots=True)
class TuningTask:
    """The queries that choose (`dev`) and those that measure (`test`; None: dev does, in nested folds)."""

    name: str
    dev: Split
    test: Split | None = None
    held_out_splits: tuple[str, ...] = ()
    """Splits that nothing is learned from."""
    held_out_calibration_split: str | None = None
    """The split that what has learned from labels may be calibrated on,"""
    full_calibration_split: str | None = None
    """and that for what has not."""
    is_proxy: bool = False
    """Whether no person has said what is relevant: the archive's texts stand in."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Settings that every ranker has while it is tried."""
    seed: int = 0
    """Of the folds."""

    @property
    def evaluation_split(self) -> Split:
        """The queries that measure."""
        return self.test or self.dev

    @property
    def excluded_ids(self) -> frozenset[str]:
        """The ids of the questions that are asked, or that queries were made of: nothing is learned of them."""
        splits = (self.dev, self.evaluation_split)
        if self.is_proxy:
            return frozenset(id for split in splits for grades in split.qrels.values() for id in grades)
        return frozenset(id for split in splits for id in split.queries)

    @property
    def remarks(self) -> Sequence[str]:
        """What a reader of the figures must know."""
        found = []
        if self.is_proxy:
            found.append(
                f"no labels: chosen and measured on a proxy, {self.name}; what people ask may differ. Duplicate links, "
                "rephrasings or an evaluation set would tell"
            )
        elif (n := len(self.evaluation_split.qrels)) < MIN_MEANINGFUL:
            found.append(
                f"{n} labelled queries: the choice is within noise; from {MIN_MEANINGFUL} on it begins to mean something"
            )
        return found


def make_task(archive: Archive, seed: int = 0) -> TuningTask:
    """What the archive has: an evaluation set's own parts, else its labels, cut by cluster or in folds, else a proxy.

    Cuts the partition `tune` where labels must be divided. Raises ArchiveError where there is nothing at all.
    """
    names = uncut_splits(archive)
    if "train" in names and len(names) > 1:
        return _task_from_given_splits(archive, names, seed)
    if not names:
        return _task_from_proxy(archive, seed)
    of = max(names, key=lambda name: len(load_split(archive, name).qrels))
    whole = load_split(archive, of)
    if len(whole.qrels) < MIN_LABELLED:
        return _task_from_proxy(archive, seed)
    if len(whole.qrels) < MIN_UNNESTED:
        return TuningTask(f"{of}, nested folds", whole, None, (of,), of, of, seed=seed)
    _cut_partition(archive, of, LABEL_SHARES, seed)
    dev, test = f"{PARTITION}/dev", f"{PARTITION}/test"
    return TuningTask(of, _sample_dev(archive, dev, seed), load_split(archive, test), (dev, test), test, of)


def _task_from_given_splits(archive: Archive, names: Sequence[str], seed: int) -> TuningTask:
    """test measures where it is there, else dev; dev chooses where it does not measure, else a tenth of train."""
    test = "test" if "test" in names else next(name for name in names if name != "train")
    if "dev" in names and test != "dev":
        dev = "dev"
    else:
        _cut_partition(archive, "train", TRAIN_SHARES, seed)
        dev = f"{PARTITION}/test"
    hidden = tuple(dict.fromkeys([dev, *(name for name in imported_splits(archive) if name != "train")]))
    return TuningTask(
        f"{dev}, measured on {test}", _sample_dev(archive, dev, seed), load_split(archive, test), hidden, test, test
    )


def _sample_dev(archive: Archive, name: str, seed: int) -> Split:
    """At most CHOOSE queries: more would make each trial slower and hardly another one the winner."""
    return sample_queries(load_split(archive, name), MAX_DEV_QUERIES, seed)


def _cut_partition(archive: Archive, split_name: str, shares: Sequence[float], seed: int) -> None:
    """Cuts anew where the archive has changed since: a cut of other labels leaves queries out."""
    now = content_hash(archive)
    if archive.meta.get(PARTITION_HASH_KEY) != now:
        partitions.delete_partition(archive, PARTITION)
    partitions.create_partition(
        archive,
        "cluster",
        {"shares": list(shares), "seed": seed},
        source_split=split_name,
        name=PARTITION,
        replace=True,
    )
    archive.set_meta(**{PARTITION_HASH_KEY: now})


def _task_from_proxy(archive: Archive, seed: int) -> TuningTask:
    made = make_proxy_task(archive, seed)
    return TuningTask(made.name, made.dev, made.test, is_proxy=True, fixed=made.fixed)
