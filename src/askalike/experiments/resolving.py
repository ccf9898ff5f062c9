"""An experiment with nothing left open: the archive's full path, every setting, every value that is tried."""

from typing import Any

from askalike import rankers
from askalike.errors import SettingsError
from askalike.experiments import steps as joints
from askalike.experiments.settings import Experiment, SystemSettings
from askalike.store.archive import Archive


def resolve(experiment: Experiment, archive: Archive) -> Experiment:
    """The same experiment, to be run again by a version with other defaults and from another folder."""
    systems = tuple(_resolve_system(experiment, system, archive) for system in experiment.system)
    return experiment.model_copy(update={"archive": experiment.archive.expanduser().resolve(), "system": systems})


def system_seeds(experiment: Experiment, system: SystemSettings) -> tuple[int | None, ...]:
    """The seeds that a system is run with: those of the experiment if its ranker has a setting `seed`, else None."""
    try:
        rankers.create(system.ranker, {**system.settings, "seed": experiment.seeds[0]}, experiment.archive)
    except SettingsError:
        return (None,)
    return experiment.seeds


def _resolve_system(experiment: Experiment, system: SystemSettings, archive: Archive) -> SystemSettings:
    given = experiment.ranker_settings(system)
    grids = _tuning_grids(system, given, archive)
    tried = {name for grid in grids for name in grid}
    values = rankers.create(system.ranker, given, archive.path).values
    settings = {k: v for k, v in values.items() if k not in tried and v is not None}
    measure = system.tune_measure or experiment.measures[0]
    changes: dict[str, Any] = {"tune": grids, "tune_measure": measure} if grids else {"tune_measure": None}
    return system.model_copy(update={"settings": settings, **changes})


def _tuning_grids(
    system: SystemSettings, settings: dict[str, Any], archive: Archive
) -> tuple[dict[str, tuple[Any, ...]], ...]:
    """What is tried, one grid after the other; none where the system is not tuned."""
    if system.tune is True:
        grids = joints.default_grids(archive, system.ranker, settings)
        return tuple({name: tuple(values) for name, values in grid.items()} for grid in grids)
    return system.tune or ()
