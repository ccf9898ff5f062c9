"""Where an experiment meets the parts that tune, cut splits and draw the report: one function each."""

from collections.abc import Mapping, Sequence
from typing import Any

from askalike.config import validate_settings
from askalike.errors import SettingsError
from askalike.experiments import grid_search as spaces
from askalike.experiments.grid_search import search_grid
from askalike.experiments.outcome import ExperimentResult
from askalike.experiments.settings import PartitionSettings
from askalike.experiments.task import RankingTask
from askalike.experiments.trials import TrialEvaluator
from askalike.labels import partitions
from askalike.labels.splits import splits_to_hold_out
from askalike.labels.splitters import SPLITTERS
from askalike.store.archive import Archive
from askalike.types import Progress, Split

Grid = Mapping[str, Sequence[Any]]


def default_grids(archive: Archive, ranker: str, settings: Mapping[str, Any]) -> Sequence[Grid]:
    """What `tune = true` tries, what `settings` fix left out."""
    return [dict(grid) for grid in spaces.tuning_grids(archive, ranker, settings)]


def tune_system(
    task: RankingTask,
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
    held_out = splits_to_hold_out(task.archive, name)
    with TrialEvaluator(task, {"dev": labels}, [measure], rule, held_out_splits=held_out) as evaluator:
        found = search_grid(evaluator, ranker, grids, fixed, progress=progress)
    return dict(found.settings), found.value, len(found.trials)


def cut_partition(archive: Archive, partition: PartitionSettings) -> None:
    """Cuts a split into parts and keeps them; one that was cut so before is left as it is."""
    partitions.create_partition(
        archive, partition.by, partition.settings, source_split=partition.of, name=partition.name
    )


def split_names(partition: PartitionSettings) -> set[str]:
    """The names of the splits that cutting makes. Raises SettingsError where its settings are wrong."""
    if partition.by not in SPLITTERS:
        raise SettingsError(f"a split cannot be cut by {partition.by!r}; it can by: {', '.join(SPLITTERS)}")
    way = validate_settings(SPLITTERS[partition.by], partition.settings, f"cut by {partition.by}")
    return {f"{partition.name or partition.by}/{part}" for part in way.part_names}


def write_report(outcome: ExperimentResult) -> None:
    """Draws report.html into the outcome's folder."""
    from askalike.experiments.report import write_report as write  # draws with matplotlib, which takes a second to load

    write(outcome)
