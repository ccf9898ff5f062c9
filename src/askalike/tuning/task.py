"""The task of a tuning run: the queries to choose a ranker on, and those to measure it on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from askalike.core.errors import ArchiveError
from askalike.core.records import Split
from askalike.core.values import format_count
from askalike.labels import partitions
from askalike.labels.splits import load_split, sample_queries, uncut_splits
from askalike.store import Archive, content_hash, imported_splits
from askalike.store.labels import delete_partition
from askalike.tuning.pseudo_queries import MIN_QUERIES, make_pseudo_queries

MIN_UNNESTED = 500
"""With fewer labelled queries, all of them are used to choose and to measure, in nested folds."""
MIN_LABELLED = 10
"""With fewer labelled queries, pseudo-queries are used instead."""
MIN_MEANINGFUL = 30
"""With fewer labelled queries, any choice is within noise."""
MAX_DEV_QUERIES = 1_000
"""Maximum number of queries to choose on if others measure."""
PARTITION = "tune"
PARTITION_HASH_KEY = "tune_cut_of"
"""The key in the archive's metadata of the content hash at the time of the division."""
LABEL_SHARES = (0.5, 0.25, 0.25)
"""The shares of train, dev and test, for labels that are not divided by an evaluation set."""
TRAIN_SHARES = (0.9, 0.1)
"""The shares of train and test into which a given train split is divided if there is no other split to choose on."""


@dataclass(frozen=True, slots=True)
class TuningTask:
    """The queries to choose on (`dev`) and to measure on (`test`; None: both on dev, in nested folds).

    held_out_splits: splits that are not used for training. full_calibration_split: the split to calibrate on;
    held_out_calibration_split is the one for rankers that have learned from labels; both None without labels.
    has_pseudo_queries: whether queries made from the archive's texts replace labels. fixed: settings of every ranker
    while it is tried. seed: that of the nested folds.
    """

    name: str
    dev: Split
    test: Split | None = None
    held_out_splits: tuple[str, ...] = ()
    held_out_calibration_split: str | None = None
    full_calibration_split: str | None = None
    has_pseudo_queries: bool = False
    fixed: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    @property
    def evaluation_split(self) -> Split:
        """The queries to measure on."""
        return self.test or self.dev

    @property
    def excluded_ids(self) -> frozenset[str]:
        """The ids of queries, or of the questions that pseudo-queries were made from: not used for training."""
        splits = (self.dev, self.evaluation_split)
        if self.has_pseudo_queries:
            return frozenset(id for split in splits for grades in split.qrels.values() for id in grades)
        return frozenset(query.id for split in splits for query in split.queries.values())

    @property
    def remarks(self) -> Sequence[str]:
        """Caveats about the figures: that they are from pseudo-queries, or from few queries."""
        if self.has_pseudo_queries:
            what = f"no labels: chosen and measured on pseudo-queries, {self.name}; real questions may differ."
            return [f"{what} Duplicate links, rephrasings or an evaluation set would tell more"]
        n = len(self.evaluation_split.qrels)
        text = f"{format_count(n, 'labelled query')}: the choice is within noise; at least {MIN_MEANINGFUL} are needed"
        return [text] if n < MIN_MEANINGFUL else []


def make_task(archive: Archive, seed: int = 0) -> TuningTask:
    """Return the task of an evaluation set's splits, else of labels by cluster or in folds, else of pseudo-queries.

    Makes the partition `tune` if labels must be divided. Raises ArchiveError if there is nothing to tune on.
    """
    names = uncut_splits(archive)
    if "train" in names and len(names) > 1:
        return _task_from_given_splits(archive, names, seed)
    splits = [(name, load_split(archive, name)) for name in names]
    name, labels = max(splits, key=lambda split: _count_labelled(split[1]), default=("", Split({}, {})))
    if _count_labelled(labels) < MIN_LABELLED:
        return _make_pseudo_task(archive, seed)
    if _count_labelled(labels) < MIN_UNNESTED:
        return TuningTask(f"{name}, nested folds", labels, None, (name,), name, name, seed=seed)
    _cut_partition(archive, name, LABEL_SHARES, seed)
    dev, test = f"{PARTITION}/dev", f"{PARTITION}/test"
    return TuningTask(name, _sample_dev(archive, dev, seed), load_split(archive, test), (dev, test), test, name)


def _task_from_given_splits(archive: Archive, names: Sequence[str], seed: int) -> TuningTask:
    """Measure on test, or on dev without one. Choose on dev, or on a tenth of train if dev is used to measure."""
    test = "test" if "test" in names else next(name for name in names if name != "train")
    if "dev" in names and test != "dev":
        dev = "dev"
    else:
        _cut_partition(archive, "train", TRAIN_SHARES, seed)
        dev = f"{PARTITION}/test"
    held_out = tuple(dict.fromkeys([dev, *(name for name in imported_splits(archive) if name != "train")]))
    chosen_on = _sample_dev(archive, dev, seed)
    measured_on = load_split(archive, test)
    for name, split in ((dev, chosen_on), (test, measured_on)):
        if not _count_labelled(split):
            raise ArchiveError(
                f"{archive.path}: split {name}: no query has a relevant document, so that all rankers would be equal; "
                "import judgements of it with grades above 0"
            )
    return TuningTask(f"{dev}, measured on {test}", chosen_on, measured_on, held_out, test, test)


def _count_labelled(split: Split) -> int:
    """Return the number of queries with a relevant document."""
    return sum(max(grades.values(), default=0) > 0 for grades in split.qrels.values())


def _sample_dev(archive: Archive, name: str, seed: int) -> Split:
    """Return at most MAX_DEV_QUERIES queries: more make each trial slower, and hardly change the choice."""
    return sample_queries(load_split(archive, name), MAX_DEV_QUERIES, seed)


def _cut_partition(archive: Archive, split_name: str, shares: Sequence[float], seed: int) -> None:
    """Divide a split, again if the archive has changed since then, as an old division lacks new queries."""
    content = content_hash(archive)
    if archive.meta.get(PARTITION_HASH_KEY) != content:
        delete_partition(archive, PARTITION)
    settings = {"shares": list(shares), "seed": seed}
    partitions.create_partition(archive, "cluster", settings, source_split=split_name, name=PARTITION, replace=True)
    archive.set_meta(**{PARTITION_HASH_KEY: content})


def _make_pseudo_task(archive: Archive, seed: int) -> TuningTask:
    """Return the task of the first pseudo-queries for which the archive has enough texts."""
    for pseudo in make_pseudo_queries(archive, seed):
        return TuningTask(pseudo.name, pseudo.dev, pseudo.test, has_pseudo_queries=True, fixed=pseudo.fixed, seed=seed)
    raise ArchiveError(
        f"{archive.path}: nothing to tune on: no labels, and fewer than {MIN_QUERIES} questions with an answer, a body "
        "or a title of several words"
    )
