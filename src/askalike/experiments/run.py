"""Runs an experiment: one declaration in, one folder out."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from askalike import rankers
from askalike.errors import SettingsError
from askalike.evaluation.comparison import Comparison
from askalike.evaluation.significance import compare
from askalike.experiments import steps as joints
from askalike.experiments.cells import CellContext, CellResult, run_cell
from askalike.experiments.file_names import file_name
from askalike.experiments.folder import ExperimentFolder
from askalike.experiments.outcome import ExperimentResult
from askalike.experiments.outcome import SystemResult as Row
from askalike.experiments.progress import OpenBar, no_bar, track_with_bars
from askalike.experiments.provenance import collect_provenance
from askalike.experiments.record import as_dict
from askalike.experiments.resolving import resolve, system_seeds
from askalike.experiments.settings import Experiment, SystemSettings
from askalike.experiments.task import RankingTask
from askalike.health.checks import run_checks
from askalike.health.findings import Finding
from askalike.store.archive import Archive


def run_experiment(
    experiment: Experiment, folder: Path, *, resume: bool = False, force: bool = False, open_bar: OpenBar = no_bar
) -> ExperimentResult:
    """Ranks and measures every system with every seed, and writes all of it into a folder.

    The same experiment on the same data writes the same run files. resume: cells whose run is there are not repeated.
    force: an experiment that is there is thrown away. Raises SettingsError where the folder is refused, and where
    resuming would mix runs of two states of the archive.
    """
    with Archive.open(experiment.archive) as archive:
        experiment = resolve(experiment, archive)
        place = ExperimentFolder(folder)
        place.begin(declaration(experiment), resume=resume, force=force)
        origin = _begin(place, archive)
        if experiment.partition:
            joints.cut_partition(archive, experiment.partition)
        findings = run_checks(archive, track=track_with_bars(open_bar))
        task = RankingTask.from_archive(archive, experiment.task)
        bench = CellContext(experiment, archive, place, task.labels(experiment.split), task)
        cells = _run_cells(bench, open_bar)
    outcome = _experiment_result(bench, cells, findings, origin)
    place.write_json("report.json", as_dict(outcome))
    joints.write_report(outcome)
    place.log("finished")
    return outcome


def declaration(experiment: Experiment) -> dict[str, Any]:
    """An experiment as the TOML file that declares it, without what is not given."""
    values = experiment.model_dump(mode="json", by_alias=True, exclude_none=True)
    values["system"] = [{k: v for k, v in system.items() if v not in ({}, False)} for system in values["system"]]
    return values


def _begin(folder: ExperimentFolder, archive: Archive) -> dict[str, Any]:
    """Where the numbers come from, as it was when the experiment was begun."""
    now, before = collect_provenance(archive), folder.read_json("started.json")
    if before is None:
        folder.write_json("started.json", now)
    elif before["data"] != now["data"]:
        raise SettingsError(
            f"{folder.path}: the archive has changed since this was begun (its data was {before['data']}, is "
            f"{now['data']}); begin anew with --force, or choose another folder with -o"
        )
    folder.log(f"{'begun' if before is None else 'resumed'}: {now['versions']}, commit {now['commit']}")
    return before or now


def _run_cells(context: CellContext, open_bar: OpenBar) -> dict[str, dict[int, CellResult]]:
    """System → seed → its cell. A system without chance has one, under the first seed."""
    experiment = context.experiment
    wanted = [(system, seed) for system in experiment.system for seed in system_seeds(experiment, system)]
    cells: dict[str, dict[int, CellResult]] = {}
    with open_bar("systems") as report:
        for done, (system, seed) in enumerate(wanted):
            if report:
                report(done, len(wanted))
            settings = _system_settings(context, system, open_bar)
            with open_bar(system.label) as indexing:
                cell = run_cell(context, system.label, system.ranker, settings, seed, indexing)
            cells.setdefault(system.label, {})[experiment.seeds[0] if seed is None else seed] = cell
    return cells


def _system_settings(context: CellContext, system: SystemSettings, open_bar: OpenBar) -> dict[str, Any]:
    """The settings that a system is run with; those that tuning chooses are kept, and chosen once."""
    if not system.tune:
        return system.settings
    return {**system.settings, **_load_or_tune(context, system, open_bar)["settings"]}


def _load_or_tune(context: CellContext, system: SystemSettings, open_bar: OpenBar = no_bar) -> dict[str, Any]:
    """What tuning chose, and by what: `settings`, `measure` and its `value` on `split`, `tried`."""
    name = f"cells/{file_name(system.label)}.tuned.json"
    kept = context.folder.read_json(name)
    if kept is None:
        kept = _tune_system(context, system, open_bar)
        context.folder.write_json(name, kept)
        context.folder.log(f"{system.label}: tuned in {kept['seconds']:.2f} s to {kept['settings']}")
    return kept


def _tune_system(context: CellContext, system: SystemSettings, open_bar: OpenBar) -> dict[str, Any]:
    experiment, started = context.experiment, time.perf_counter()
    grids = system.tune if isinstance(system.tune, tuple) else ()
    measure = system.tune_measure or experiment.measures[0]
    labels = context.task.labels(experiment.dev)
    dev = (experiment.dev, labels)
    with open_bar(f"{system.label}: tuning") as report:
        chosen, value, tried = joints.tune_system(
            context.task, system.ranker, grids, system.settings, dev, measure, experiment.rule, report
        )
    names = {name for grid in grids for name in grid}
    return {
        "settings": {name: value for name, value in chosen.items() if name in names},
        "measure": measure,
        "value": value,
        "split": experiment.dev,
        "n": len(labels.queries),
        "tried": tried,
        "seconds": round(time.perf_counter() - started, 3),
    }


def _experiment_result(
    context: CellContext,
    cells: Mapping[str, Mapping[int, CellResult]],
    findings: Sequence[Finding],
    provenance_record: Mapping[str, Any],
) -> ExperimentResult:
    experiment = context.experiment
    rows = [_system_result(context, system, cells[system.label]) for system in experiment.system]
    return ExperimentResult(
        title=experiment.title,
        folder=context.folder.path,
        archive=experiment.archive,
        split=experiment.split,
        task=experiment.task,
        labels=context.labels,
        measures=experiment.measures,
        rule=experiment.rule,
        systems=rows,
        comparisons=_compare_systems(rows, experiment.measures),
        findings=findings,
        paper={system.label: system.paper for system in experiment.system if system.paper},
        known_differences=experiment.known_differences,
        provenance={**provenance_record, "seeds": list(experiment.seeds), "seconds": _collect_seconds(context, cells)},
        samples={label: first.samples for label, of in cells.items() if (first := next(iter(of.values()))).samples},
        typing={label: typing for label, of_seeds in cells.items() if (typing := _mean_typing_curve(of_seeds))},
    )


def _system_result(context: CellContext, system: SystemSettings, cells: Mapping[int, CellResult]) -> Row:
    trials = {seed: cell.result for seed, cell in cells.items()}
    settings = rankers.create(system.ranker, _system_settings(context, system, no_bar), context.archive.path).values
    if not system.tune:
        return Row(system.label, system.ranker, settings, trials)
    kept = _load_or_tune(context, system)
    chosen_by = f"{kept['measure']} on {kept['split']} (n = {kept['n']})"
    return Row(system.label, system.ranker, settings, trials, {**kept["settings"], chosen_by: kept["value"]})


def _compare_systems(rows: Sequence[Row], measures: Sequence[str]) -> dict[str, Comparison]:
    if len(rows) < 2:
        return {}
    evaluations = {row.label: [trial.evaluation for trial in row.seed_results.values()] for row in rows}
    return {measure: compare(evaluations, measure) for measure in measures}


def _collect_seconds(context: CellContext, cells: Mapping[str, Mapping[int, CellResult]]) -> dict[str, Any]:
    """System → what was done → how long it took, over all its seeds."""
    found = {label: {str(seed): dict(cell.seconds) for seed, cell in of.items()} for label, of in cells.items()}
    tuning = {
        system.label: _load_or_tune(context, system)["seconds"] for system in context.experiment.system if system.tune
    }
    return {label: {**({"tune": tuning[label]} if label in tuning else {}), **of} for label, of in found.items()}


def _mean_typing_curve(cells: Mapping[int, CellResult]) -> dict[str, dict[str, float]]:
    """Share of the words → measure → the mean over seeds."""
    curves = [cell.typing for cell in cells.values()]
    return {
        share: {measure: float(np.mean([curve[share][measure] for curve in curves])) for measure in of_share}
        for share, of_share in curves[0].items()
    }
