"""Runs an experiment: one declaration in, one folder out."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from askalike import rankers
from askalike.archive.check import check
from askalike.archive.findings import Finding
from askalike.archive.store import Archive
from askalike.errors import SettingsError
from askalike.evaluation.comparison import Comparison
from askalike.evaluation.significance import compare
from askalike.experiment import joints
from askalike.experiment.cells import Bench, Cell, finished
from askalike.experiment.folder import Folder
from askalike.experiment.names import file_name
from askalike.experiment.outcome import Outcome
from askalike.experiment.outcome import System as Row
from askalike.experiment.provenance import provenance
from askalike.experiment.record import as_dict
from askalike.experiment.resolving import resolved, seeds_of
from askalike.experiment.settings import Experiment, System
from askalike.experiment.task import Task
from askalike.experiment.watching import Watch, tracked, unwatched


def run(
    experiment: Experiment, folder: Path, *, resume: bool = False, force: bool = False, watch: Watch = unwatched
) -> Outcome:
    """Ranks and measures every system with every seed, and writes all of it into a folder.

    The same experiment on the same data writes the same run files. resume: cells whose run is there are not repeated.
    force: an experiment that is there is thrown away. Raises SettingsError where the folder is refused, and where
    resuming would mix runs of two states of the archive.
    """
    with Archive.open(experiment.archive) as archive:
        experiment = resolved(experiment, archive)
        place = Folder(folder)
        place.begin(declared(experiment), resume=resume, force=force)
        origin = _begun(place, archive)
        if experiment.partition:
            joints.cut(archive, experiment.partition)
        findings = check(archive, track=tracked(watch))
        task = Task.on(archive, experiment.task)
        bench = Bench(experiment, archive, place, task.labels(experiment.split), task)
        cells = _cells(bench, watch)
    outcome = _outcome(bench, cells, findings, origin)
    place.keep("report.json", as_dict(outcome))
    joints.write_report(outcome)
    place.log("finished")
    return outcome


def declared(experiment: Experiment) -> dict[str, Any]:
    """An experiment as the TOML file that declares it, without what is not given."""
    values = experiment.model_dump(mode="json", by_alias=True, exclude_none=True)
    values["system"] = [{k: v for k, v in system.items() if v not in ({}, False)} for system in values["system"]]
    return values


def _begun(place: Folder, archive: Archive) -> dict[str, Any]:
    """Where the numbers come from, as it was when the experiment was begun."""
    now, before = provenance(archive), place.kept("started.json")
    if before is None:
        place.keep("started.json", now)
    elif before["data"] != now["data"]:
        raise SettingsError(
            f"{place.path}: the archive has changed since this was begun (its data was {before['data']}, is "
            f"{now['data']}); begin anew with --force, or choose another folder with -o"
        )
    place.log(f"{'begun' if before is None else 'resumed'}: {now['versions']}, commit {now['commit']}")
    return before or now


def _cells(bench: Bench, watch: Watch) -> dict[str, dict[int, Cell]]:
    """System → seed → its cell. A system without chance has one, under the first seed."""
    experiment = bench.experiment
    wanted = [(system, seed) for system in experiment.system for seed in seeds_of(experiment, system)]
    cells: dict[str, dict[int, Cell]] = {}
    with watch("systems") as report:
        for done, (system, seed) in enumerate(wanted):
            if report:
                report(done, len(wanted))
            settings = _settings(bench, system, watch)
            with watch(system.label) as indexing:
                cell = finished(bench, system.label, system.ranker, settings, seed, indexing)
            cells.setdefault(system.label, {})[experiment.seeds[0] if seed is None else seed] = cell
    return cells


def _settings(bench: Bench, system: System, watch: Watch) -> dict[str, Any]:
    """The settings that a system is run with; those that tuning chooses are kept, and chosen once."""
    if not system.tune:
        return system.settings
    return {**system.settings, **_tuned(bench, system, watch)["settings"]}


def _tuned(bench: Bench, system: System, watch: Watch = unwatched) -> dict[str, Any]:
    """What tuning chose, and by what: `settings`, `measure` and its `value` on `split`, `tried`."""
    name = f"cells/{file_name(system.label)}.tuned.json"
    kept = bench.folder.kept(name)
    if kept is None:
        kept = _tune(bench, system, watch)
        bench.folder.keep(name, kept)
        bench.folder.log(f"{system.label}: tuned in {kept['seconds']:.2f} s to {kept['settings']}")
    return kept


def _tune(bench: Bench, system: System, watch: Watch) -> dict[str, Any]:
    experiment, started = bench.experiment, time.perf_counter()
    grids = system.tune if isinstance(system.tune, tuple) else ()
    measure = system.tune_measure or experiment.measures[0]
    labels = bench.task.labels(experiment.dev)
    dev = (experiment.dev, labels)
    with watch(f"{system.label}: tuning") as report:
        chosen, value, tried = joints.tuned(
            bench.task, system.ranker, grids, system.settings, dev, measure, experiment.rule, report
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


def _outcome(
    bench: Bench, cells: Mapping[str, Mapping[int, Cell]], findings: Sequence[Finding], origin: Mapping[str, Any]
) -> Outcome:
    experiment = bench.experiment
    rows = [_row(bench, system, cells[system.label]) for system in experiment.system]
    return Outcome(
        title=experiment.title,
        folder=bench.folder.path,
        archive=experiment.archive,
        split=experiment.split,
        task=experiment.task,
        labels=bench.labels,
        measures=experiment.measures,
        rule=experiment.rule,
        systems=rows,
        comparisons=_comparisons(rows, experiment.measures),
        findings=findings,
        paper={system.label: system.paper for system in experiment.system if system.paper},
        known_differences=experiment.known_differences,
        provenance={**origin, "seeds": list(experiment.seeds), "seconds": _seconds(bench, cells)},
        samples={label: first.samples for label, of in cells.items() if (first := next(iter(of.values()))).samples},
        typing={label: typing for label, of_seeds in cells.items() if (typing := _mean_typing(of_seeds))},
    )


def _row(bench: Bench, system: System, cells: Mapping[int, Cell]) -> Row:
    trials = {seed: cell.trial for seed, cell in cells.items()}
    settings = rankers.build(system.ranker, _settings(bench, system, unwatched), bench.archive.path).values
    if not system.tune:
        return Row(system.label, system.ranker, settings, trials)
    kept = _tuned(bench, system)
    chosen_by = f"{kept['measure']} on {kept['split']} (n = {kept['n']})"
    return Row(system.label, system.ranker, settings, trials, {**kept["settings"], chosen_by: kept["value"]})


def _comparisons(rows: Sequence[Row], measures: Sequence[str]) -> dict[str, Comparison]:
    if len(rows) < 2:
        return {}
    evaluations = {row.label: [trial.evaluation for trial in row.trials.values()] for row in rows}
    return {measure: compare(evaluations, measure) for measure in measures}


def _seconds(bench: Bench, cells: Mapping[str, Mapping[int, Cell]]) -> dict[str, Any]:
    """System → what was done → how long it took, over all its seeds."""
    found = {label: {str(seed): dict(cell.seconds) for seed, cell in of.items()} for label, of in cells.items()}
    tuning = {system.label: _tuned(bench, system)["seconds"] for system in bench.experiment.system if system.tune}
    return {label: {**({"tune": tuning[label]} if label in tuning else {}), **of} for label, of in found.items()}


def _mean_typing(cells: Mapping[int, Cell]) -> dict[str, dict[str, float]]:
    """Share of the words → measure → the mean over seeds."""
    curves = [cell.typing for cell in cells.values()]
    return {
        share: {measure: float(np.mean([curve[share][measure] for curve in curves])) for measure in of_share}
        for share, of_share in curves[0].items()
    }
