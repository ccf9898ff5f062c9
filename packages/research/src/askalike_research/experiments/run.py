"""Runs an experiment from its declaration into a folder: each system with each seed is a cell, measured once."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from askalike import Archive, Progress, SettingsError, Split, build, compare, run_checks
from askalike.plugin.commands import OpenBar, format_count, has_workers, map_pieces
from askalike.plugin.exports import LogCallback, ProgressTracker
from askalike.plugin.measuring import (
    Comparison,
    Finding,
    TrialEvaluator,
    TrialMemory,
    create_partition,
    describe_choice,
    remove_indexes,
)
from askalike.plugin.training import shorten_setting
from askalike_research.comparing.run_sources import file_name
from askalike_research.experiments.cells import CellContext, CellResult, mean_typing_curve, run_cell
from askalike_research.experiments.declaration import SEED, Experiment, SystemSettings, resolve
from askalike_research.experiments.figures import NO_FIGURES, can_plot
from askalike_research.experiments.folder import ExperimentFolder
from askalike_research.experiments.grid_search import search_grid
from askalike_research.experiments.outcome import ExperimentResult, SystemResult
from askalike_research.experiments.provenance import collect_provenance

T = TypeVar("T")
REPORT_EVERY = 500
QUICK_QUERIES = 100
"""Maximum number of queries that are measured, and that tune."""
QUICK_VALUES = 2
"""Number of values of a setting that tuning tries."""

SystemCells = Mapping[str, Mapping[int, CellResult]]
"""System → seed → its cell. A system that is not random has one cell, under the first seed."""
TuningRecords = Mapping[str, Mapping[str, Any]]
"""System that is tuned → `settings`, the `measure` and its `value` on `split`, …."""


@contextmanager
def no_bar(description: str) -> Iterator[None]:
    """An OpenBar that shows nothing."""
    yield None


def run_experiment(
    experiment: Experiment, folder: Path, *, quick: bool = False, resume: bool = False, force: bool = False,
    open_bar: OpenBar = no_bar, log: LogCallback = lambda line: None, command: str | None = None,
) -> ExperimentResult:  # fmt: skip
    """Rank and measure every system with every seed, and write all results into a folder.

    The same experiment on the same data writes the same run files. quick: try it out, see `shorten`. resume: skip cells
    whose run is already written. force: discard an experiment in the folder. log: called with each line of the log.
    command: the command line, for the report. Raises SettingsError if the folder is refused, or if resuming would mix
    runs of two states of the archive.
    """
    with Archive.open(experiment.archive, experiment.engine) as archive:
        experiment = resolve(experiment, archive)
        experiment = shorten(experiment) if quick else experiment
        place = ExperimentFolder(folder, log)
        remark = _divide(archive, experiment)
        context = CellContext.open(experiment, archive, place)
        experiment = context.experiment
        complete = partial(_complete_declaration, archive)
        place.begin(declaration(experiment), resume=resume, force=force, complete=complete)
        provenance = _begin(place, archive, command)
        if remark:
            place.log(remark)
        findings = run_checks(archive, track=_track_with_bars(open_bar))
        with place.log_training():
            tuned = _tune_systems(context, open_bar)
            cells = _run_cells(context, tuned, open_bar)
        outcome = _experiment_result(context, tuned, cells, findings, provenance)
    place.write_json("report.json", outcome.as_dict())

    from askalike_research.experiments.report import write_report

    write_report(outcome)
    if not can_plot():
        place.log(NO_FIGURES)
    place.log("finished")
    return outcome


def declaration(experiment: Experiment) -> dict[str, Any]:
    """Return the content of the TOML file that declares an experiment, without absent values."""
    values = experiment.model_dump(mode="json", by_alias=True, exclude_none=True)
    values["system"] = [
        {k: v for k, v in system.items() if v not in ({}, False, "", [])} for system in values["system"]
    ]
    return values


def _complete_declaration(archive: Archive, stored: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a stored declaration with missing settings at their defaults; unchanged if it is no longer valid."""
    try:
        experiment = Experiment.model_validate(stored, context={"archive": archive.path})
        return declaration(resolve(experiment, archive))
    except (ValidationError, SettingsError):
        return stored


def _divide(archive: Archive, experiment: Experiment) -> str:
    """Make the experiment's partition; return a remark on the parts that training leaves out from now on."""
    if (cut := experiment.partition) is None:
        return ""
    made = create_partition(archive, cut.method, cut.settings, source_split=cut.source_split, name=cut.name)
    return made.remark_on_training


def system_seeds(experiment: Experiment, system: SystemSettings) -> tuple[int | None, ...]:
    """Return the experiment's seeds if a system's ranker has a setting `seed`, or its run file a name with one."""
    if system.run is not None:
        return experiment.seeds if SEED in str(system.run) else (None,)
    try:
        build(system.ranker, {**system.settings, "seed": experiment.seeds[0]}, experiment.archive)
    except SettingsError:
        return (None,)
    return experiment.seeds


def _begin(folder: ExperimentFolder, archive: Archive, command: str | None) -> dict[str, Any]:
    """Return the provenance from the beginning of the experiment."""
    current = collect_provenance(archive, command)
    saved = folder.read_json("started.json")
    if saved is None:
        folder.write_json("started.json", current)
    elif saved["data"] != current["data"]:
        change = f"the archive has changed since this was begun (its data was {saved['data']}, is {current['data']})"
        raise SettingsError(f"{folder.path}: {change}; start again with --force, or choose another folder with -o")
    begun = "begun" if saved is None else "resumed"
    versions = ", ".join(f"{package} {version}" for package, version in current["versions"].items())
    folder.log(f"{begun}: {versions}, commit {current['commit'] or 'unknown'}")
    return saved or current


def _track_with_bars(open_bar: OpenBar) -> ProgressTracker:
    def track(sequence: Iterable[T], /, *, total: int, description: str) -> Iterable[T]:
        with open_bar(description) as report:
            for done, item in enumerate(sequence, 1):
                yield item
                if report and (done % REPORT_EVERY == 0 or done == total):
                    report(done, total)

    return track


def _run_cells(context: CellContext, tuned: TuningRecords, open_bar: OpenBar) -> SystemCells:
    experiment = context.experiment
    pairs = [(system, seed) for system in experiment.system for seed in system_seeds(experiment, system)]
    settings = {label: record["settings"] for label, record in tuned.items()}
    cells: dict[str, dict[int, CellResult]] = {}
    with open_bar("systems") as report:
        if has_workers():
            ranked = [(system, settings.get(system.label, {}), seed) for system, seed in pairs if system.run is None]
            _write_cells_on_workers(context, ranked, report)
        for done, (system, seed) in enumerate(pairs):
            if report and not has_workers():
                report(done, len(pairs))
            with open_bar(system.label) as indexing:
                cell = run_cell(context, system, settings.get(system.label, {}), seed, indexing)
            cells.setdefault(system.label, {})[experiment.seeds[0] if seed is None else seed] = cell
    return cells


def _tune_systems(context: CellContext, open_bar: OpenBar) -> TuningRecords:
    """Tune systems, each only once. Systems that try the same texts share the indexes made for that."""
    created: set[Path] = set()
    tuned = [system for system in context.experiment.system if system.tune]
    try:
        return {system.label: _load_or_tune(context, system, open_bar, created) for system in tuned}
    finally:
        remove_indexes(created)


Cell = tuple[SystemSettings, Mapping[str, Any], int | None]
"""A system, its tuned settings, and the seed."""


def _write_cells_on_workers(context: CellContext, cells: Sequence[Cell], report: Progress | None) -> None:
    """Write the runs of all cells on the workers; they are then read like those of an interrupted experiment."""
    experiment = context.experiment.model_copy(update={"archive": context.archive.path.resolve()})
    work = partial(_write_cell, experiment, context.folder.path.resolve())
    for done, _ in enumerate(map_pieces(work, cells, long=True), 1):
        if report:
            report(done, len(cells))


def _write_cell(experiment: Experiment, folder: Path, cell: Cell) -> None:
    """Write the run of one cell, in a worker."""
    system, tuned, seed = cell
    with Archive.open(experiment.archive, experiment.engine) as archive:
        run_cell(CellContext.open(experiment, archive, ExperimentFolder(folder)), system, tuned, seed, None)


def _load_or_tune(
    context: CellContext, system: SystemSettings, open_bar: OpenBar, created: set[Path]
) -> Mapping[str, Any]:
    """Return the record of a system's tuning. created: the indexes made for it, which the caller removes."""
    name = f"cells/{file_name(system.label)}.tuned.json"
    record = context.folder.read_json(name)
    if record is None:
        record = _tune_system(context, system, open_bar, TrialMemory(created))
        context.folder.write_json(name, record)
        chosen = ", ".join(f"{name} = {value}" for name, value in record["settings"].items())
        context.folder.log(f"{system.label}: tuned in {record['seconds']:.2f} s to {chosen}")
    return record


def _tune_system(
    context: CellContext, system: SystemSettings, open_bar: OpenBar, memory: TrialMemory
) -> dict[str, Any]:
    experiment = context.experiment
    started = time.perf_counter()
    grids = system.tune if isinstance(system.tune, tuple) else ()
    measure = system.tune_measure or experiment.measures[0]
    labels = context.dev or Split({}, {})
    parts = {"dev": labels}
    rule = experiment.rule
    trials = TrialEvaluator(context.task, parts, [measure], rule, held_out=context.held_out, memory=memory)
    with open_bar(f"{system.label}: tuning") as report:
        best = search_grid(trials, system.ranker, grids, system.settings, progress=report)
    names = {name for grid in grids for name in grid}
    return {
        "settings": {name: value for name, value in best.settings.items() if name in names},
        "measure": measure,
        "value": best.value,
        "split": experiment.dev,
        "n": len(labels.queries),
        "tried": len(best.trials),
        "seconds": round(time.perf_counter() - started, 3),
    }


def _experiment_result(
    context: CellContext,
    tuned: TuningRecords,
    cells: SystemCells,
    findings: Sequence[Finding],
    provenance: Mapping[str, Any],
) -> ExperimentResult:
    experiment = context.experiment
    systems = [_system_result(context, system, tuned, cells[system.label]) for system in experiment.system]
    first_cells = {label: next(iter(seed_cells.values())) for label, seed_cells in cells.items()}
    return ExperimentResult(
        title=experiment.title,
        folder=context.folder.path,
        archive=experiment.archive,
        split=experiment.split,
        task=experiment.task,
        labels=context.labels,
        measures=experiment.measures,
        rule=experiment.rule,
        systems=systems,
        comparisons=_compare_systems(systems, experiment.measures),
        findings=findings,
        paper={system.label: system.paper for system in experiment.system if system.paper},
        known_differences=experiment.known_differences,
        baseline=experiment.baseline,
        provenance={**provenance, "seeds": list(experiment.seeds), "seconds": _collect_seconds(tuned, cells)},
        samples={label: cell.samples for label, cell in first_cells.items() if cell.samples},
        typing={
            label: curve
            for label, seed_cells in cells.items()
            if (curve := mean_typing_curve([cell.typing for cell in seed_cells.values()]))
        },
    )


def _system_result(
    context: CellContext, system: SystemSettings, tuned: TuningRecords, cells: Mapping[int, CellResult]
) -> SystemResult:
    values = system.settings
    choice = {}
    results = {seed: cell.result for seed, cell in cells.items()}
    has_seen = context.archive.path.name in system.may_have_seen
    trained: dict[str, Any] = {"trained_on": system.trained_on, "may_have_seen": has_seen}
    if system.run is not None:
        return SystemResult(system.label, "run", {"run": str(system.run)}, results, **trained)
    if record := tuned.get(system.label):
        values = {**values, **record["settings"]}
        choice = {
            **record["settings"],
            f"{record['measure']} on {record['split']} (n = {record['n']})": record["value"],
        }
    ranker = build(system.ranker, values, context.archive.path)
    trained["remark"] = describe_choice(context.archive, ranker, context.experiment.split)
    return SystemResult(system.label, system.ranker, ranker.values, results, choice, **trained)


def _compare_systems(systems: Sequence[SystemResult], measures: Sequence[str]) -> dict[str, Comparison]:
    if len(systems) < 2:
        return {}
    evaluations = {system.label: [result.evaluation for result in system.seed_results.values()] for system in systems}
    return {measure: compare(evaluations, measure) for measure in measures}


def _collect_seconds(tuned: TuningRecords, cells: SystemCells) -> dict[str, Any]:
    """Return system → `tune`, if it was tuned, and seed → step → its time."""
    seconds: dict[str, Any] = {}
    for label, seed_cells in cells.items():
        seconds[label] = {"tune": tuned[label]["seconds"]} if label in tuned else {}
        seconds[label] |= {str(seed): dict(cell.seconds) for seed, cell in seed_cells.items()}
    return seconds


def shorten(experiment: Experiment) -> Experiment:
    """Return a resolved experiment for trying it out in minutes; its figures mean nothing."""
    queries = format_count(QUICK_QUERIES, "query")
    difference = f"A quick run: at most {queries}, one seed, and models that are trained on little."
    changes = {
        "seeds": experiment.seeds[:1],
        "max_queries": min(experiment.max_queries or QUICK_QUERIES, QUICK_QUERIES),
        "known_differences": (difference, *experiment.known_differences),
        "system": tuple(map(_shorten_system, experiment.system)),
    }
    return experiment.model_copy(update=changes)


def _shorten_system(system: SystemSettings) -> SystemSettings:
    settings = {name: shorten_setting(name, value) for name, value in system.settings.items()}
    grids = system.tune if isinstance(system.tune, tuple) else ()
    few = tuple({name: values[:QUICK_VALUES] for name, values in grid.items()} for grid in grids[:1])
    return system.model_copy(update={"settings": settings, **({"tune": few} if few else {})})
