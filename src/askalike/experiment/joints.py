"""Where an experiment meets the parts that tune, cut splits and draw the report: one function each."""

from collections.abc import Mapping, Sequence
from typing import Any

from askalike.archive import partitions
from askalike.archive.store import Archive
from askalike.archive.ways import WAYS
from askalike.config import validated
from askalike.errors import SettingsError
from askalike.experiment import spaces
from askalike.experiment.outcome import Outcome
from askalike.experiment.settings import Partition
from askalike.experiment.task import Task
from askalike.experiment.tuning import Sweep
from askalike.rankers._ranker import Progress
from askalike.types import Split

Grid = Mapping[str, Sequence[Any]]


def default_grids(archive: Archive, ranker: str, settings: Mapping[str, Any]) -> Sequence[Grid]:
    """What `tune = true` tries, what `settings` fix left out."""
    return [dict(grid) for grid in spaces.grids(archive, ranker, settings)]


def tuned(
    task: Task,
    ranker: str,
    grids: Sequence[Grid],
    fixed: Mapping[str, Any],
    dev: tuple[str, Split],
    measure: str,
    rule: str,
    progress: Progress | None,
) -> tuple[dict[str, Any], float, int]:
    """The best settings on a split (its name and labels), their value of the measure, and how many were tried."""
    name, labels = dev
    with Sweep(task.archive, ranker, labels, measure, rule, task=task, split=name) as sweep:
        found = sweep.best(grids, fixed, progress=progress)
    return dict(found.settings), found.value, len(found.trials)


def cut(archive: Archive, partition: Partition) -> None:
    """Cuts a split into parts and keeps them; one that was cut so before is left as it is."""
    partitions.cut(archive, partition.by, partition.settings, of=partition.of, name=partition.name)


def parts(partition: Partition) -> set[str]:
    """The names of the splits that cutting makes. Raises SettingsError where its settings are wrong."""
    if partition.by not in WAYS:
        raise SettingsError(f"a split cannot be cut by {partition.by!r}; it can by: {', '.join(WAYS)}")
    way = validated(WAYS[partition.by], partition.settings, f"cut by {partition.by}")
    return {f"{partition.name or partition.by}/{part}" for part in way.parts}


def write_report(outcome: Outcome) -> None:
    """Draws report.html into the outcome's folder."""
    from askalike.experiment.report import write_report as write  # draws with matplotlib, which takes a second to load

    write(outcome)
