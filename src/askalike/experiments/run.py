"""Runs an experiment, one declaration in, one folder out: each system with each seed is a cell, measured once."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from askalike import rankers
from askalike.errors import SettingsError
from askalike.evaluation.comparison import Comparison
from askalike.evaluation.evaluate import evaluate
from askalike.evaluation.significance import compare
from askalike.evaluation.trec import read_run, separate_ties, write_run
from askalike.experiments.answer_measures import diagnose_answers
from askalike.experiments.declaration import Experiment, SystemSettings, resolve
from askalike.experiments.folder import ExperimentFolder, cell_name, collect_provenance, file_name
from askalike.experiments.grid_search import search_grid
from askalike.experiments.measuring import RankingTask
from askalike.experiments.outcome import ExperimentResult, SeedResult, SystemResult
from askalike.experiments.trials import TrialEvaluator
from askalike.health.checks import run_checks
from askalike.health.findings import Finding
from askalike.iteration import ProgressTracker, T
from askalike.labels.partitions import create_partition
from askalike.labels.splits import labelled_splits, splits_to_hold_out
from askalike.rankers import Ranker, Searcher, open_current
from askalike.store import Archive, TrainingView
from askalike.types import Progress, Question, Split

TYPED_SHARES: Mapping[str, float] = {"0.25": 0.25, "0.5": 0.5, "0.75": 0.75, "1": 1.0}
"""The points of the typing curve: the shares of a title's words that have been typed."""
OpenBar = Callable[[str], AbstractContextManager[Progress | None]]
"""Opens a progress bar with a description; bars may lie within each other."""
REPORT_EVERY = 500


@dataclass(frozen=True, slots=True)
class CellContext:
    """What all cells of an experiment share."""

    experiment: Experiment
    archive: Archive
    folder: ExperimentFolder
    labels: Split
    dev: Split | None
    """The queries that tune, and choose among epochs; None if the archive has no such split."""
    task: RankingTask

    @classmethod
    def open(cls, experiment: Experiment, archive: Archive, folder: ExperimentFolder) -> Self:
        """Return the context. Raises SettingsError where a query would be measured that chooses or was learned from."""
        task = RankingTask.from_archive(archive, experiment.task)
        labels, dev = task.labels(experiment.split), None
        if experiment.dev != experiment.split and experiment.dev in labelled_splits(archive, task.kind):
            dev = task.labels(experiment.dev)
            if shared := len({query.id for query in dev.queries.values()} & {q.id for q in labels.queries.values()}):
                problem = (
                    f"{shared} of its {len(dev.queries)} queries are measured, too, in split = {experiment.split!r}"
                )
                raise SettingsError(f"dev = {experiment.dev!r}: {problem}; name two splits without a common query")
        if dev is None and (tuned := [system.label for system in experiment.system if system.tune]):
            expected = f"a split with labels other than the measured one, {experiment.split!r}"
            raise SettingsError(
                f"dev = {experiment.dev!r}: {', '.join(tuned)} cannot be tuned on it; expected {expected}"
            )
        for system in experiment.system:
            task.require_unlearned(rankers.create(system.ranker, system.settings, archive), labels)
        return cls(experiment, archive, folder, labels, dev, task)

    @property
    def held_out(self) -> Sequence[str | Split]:
        """What nothing is learned from: the measured queries, and whatever splits belong to theirs."""
        return (self.labels, *splits_to_hold_out(self.archive, self.experiment.split))

    @property
    def training_view(self) -> TrainingView:
        """What the systems learn from, and rank."""
        return self.archive.training_view(self.held_out, kind=self.task.kind, dev=self.dev)


@dataclass(slots=True)
class CellResult:
    """A finished cell. typing: share of the words → measure → mean. seconds: step → its time.

    samples: answers that the system wrote, as `question`, `written` and `right`.
    """

    result: SeedResult
    typing: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    samples: Sequence[Mapping[str, str]] = ()


def run_cell(
    context: CellContext, system: SystemSettings, tuned: Mapping[str, Any], seed: int | None, progress: Progress | None
) -> CellResult:
    """Return the cell, ranked first if its run is not written yet. seed: None for a ranker that is not random."""
    name = cell_name(system.label, seed)
    path = context.folder.run_path(name)
    if not path.exists():
        values = {**system.settings, **tuned, **({} if seed is None else {"seed": seed})}
        created = rankers.create(system.ranker, values, context.archive.path)
        _compute_cell(context, created, system.label, name, progress)
    record, run = context.folder.read_json(f"cells/{name}.json") or {}, read_run(path)
    evaluation = evaluate(run, context.labels.qrels, context.experiment.measures, context.experiment.rule)
    seconds = record["seconds"]
    result = SeedResult(run, evaluation, sum(seconds.values()), record.get("beside", {}))
    return CellResult(result, record["typing"], seconds, record.get("samples", ()))


def _compute_cell(context: CellContext, ranker: Ranker, label: str, name: str, progress: Progress | None) -> None:
    """Write the cell's record and then its run, with which the cell is finished."""
    experiment, labels = context.experiment, context.labels
    seconds: dict[str, float] = {}
    view = context.training_view
    fitted = _time_step(seconds, "fit", lambda: ranker.fit(view))
    context.task.require_unlearned(fitted, labels)
    searcher = _time_step(seconds, "index", lambda: open_current(fitted, view, progress))
    run = _time_step(seconds, "rank", lambda: context.task.rank(searcher, labels, experiment.k))
    typing = compute_typing_curve(searcher, labels, experiment) if experiment.typing_curve else {}
    diagnostics = diagnose_answers(fitted, context.task, labels, context.dev).as_dict()
    context.folder.write_json(f"cells/{name}.json", {"seconds": seconds, "typing": typing, **diagnostics})
    write_run(run, context.folder.run_path(name), file_name(label))
    context.folder.log(f"{name}: {', '.join(f'{step} {took:.2f} s' for step, took in seconds.items())}")


def _time_step(seconds: dict[str, float], step: str, action: Callable[[], T]) -> T:
    started = time.perf_counter()
    result = action()
    seconds[step] = round(time.perf_counter() - started, 3)
    return result


def compute_typing_curve(searcher: Searcher, labels: Split, experiment: Experiment) -> dict[str, dict[str, float]]:
    """Return share of the title's words → measure → mean over the queries, by an opened ranker.

    The last word counts as typed to its end. A body is not there yet while the title is typed.
    """
    curve = {}
    for name, share in TYPED_SHARES.items():
        queries = {id: truncate_title(query, share) for id, query in labels.queries.items()}
        run = separate_ties(searcher.rank(queries, experiment.k, candidates=labels.candidates))
        curve[name] = dict(evaluate(run, labels.qrels, experiment.measures, experiment.rule).means)
    return curve


def truncate_title(question: Question, share: float) -> Question:
    """Return the question with only the first words of its title: that share of them, rounded, at least one."""
    words = question.title.split()
    return replace(question, title=" ".join(words[: max(1, round(len(words) * share))]), body="")


SystemCells = Mapping[str, Mapping[int, CellResult]]
"""System → seed → its cell. A system that is not random has one, under the first seed."""


@contextmanager
def no_bar(description: str) -> Iterator[None]:
    """An OpenBar that shows nothing."""
    yield None


def run_experiment(
    experiment: Experiment, folder: Path, *, resume: bool = False, force: bool = False, open_bar: OpenBar = no_bar
) -> ExperimentResult:
    """Rank and measure every system with every seed, and write all of it into a folder.

    The same experiment on the same data writes the same run files. resume: cells whose run is written are not
    repeated. force: an experiment in the folder is thrown away. Raises SettingsError where the folder is refused, and
    where resuming would mix runs of two states of the archive.
    """
    with Archive.open(experiment.archive, experiment.engine) as archive:
        experiment = resolve(experiment, archive)
        place = ExperimentFolder(folder)
        if partition := experiment.partition:
            create_partition(archive, partition.by, partition.settings, source_split=partition.of, name=partition.name)
        context = CellContext.open(experiment, archive, place)
        place.begin(declaration(experiment), resume=resume, force=force)
        provenance = _begin(place, archive)
        findings = run_checks(archive, track=_track_with_bars(open_bar))
        cells = _run_cells(context, open_bar)
    outcome = _experiment_result(context, cells, findings, provenance)
    place.write_json("report.json", outcome.as_dict())

    from askalike.experiments.reporting.report import write_report  # matplotlib takes a second to load

    write_report(outcome)
    place.log("finished")
    return outcome


def declaration(experiment: Experiment) -> dict[str, Any]:
    """Return the content of the TOML file that declares an experiment, without what is not given."""
    values = experiment.model_dump(mode="json", by_alias=True, exclude_none=True)
    values["system"] = [{k: v for k, v in system.items() if v not in ({}, False)} for system in values["system"]]
    return values


def system_seeds(experiment: Experiment, system: SystemSettings) -> tuple[int | None, ...]:
    """Return the experiment's seeds if a system's ranker has a setting `seed`, else None alone."""
    try:
        rankers.create(system.ranker, {**system.settings, "seed": experiment.seeds[0]}, experiment.archive)
    except SettingsError:
        return (None,)
    return experiment.seeds


def _begin(folder: ExperimentFolder, archive: Archive) -> dict[str, Any]:
    """Return the provenance as it was when the experiment was begun."""
    current, saved = collect_provenance(archive), folder.read_json("started.json")
    if saved is None:
        folder.write_json("started.json", current)
    elif saved["data"] != current["data"]:
        change = f"the archive has changed since this was begun (its data was {saved['data']}, is {current['data']})"
        raise SettingsError(f"{folder.path}: {change}; begin anew with --force, or choose another folder with -o")
    begun = "begun" if saved is None else "resumed"
    folder.log(f"{begun}: {current['versions']}, commit {current['commit']}")
    return saved or current


def _track_with_bars(open_bar: OpenBar) -> ProgressTracker:
    def track(sequence: Iterable[T], /, *, total: int, description: str) -> Iterable[T]:
        with open_bar(description) as report:
            for done, item in enumerate(sequence, 1):
                yield item
                if report and (done % REPORT_EVERY == 0 or done == total):
                    report(done, total)

    return track


def _run_cells(context: CellContext, open_bar: OpenBar) -> SystemCells:
    experiment = context.experiment
    pairs = [(system, seed) for system in experiment.system for seed in system_seeds(experiment, system)]
    cells: dict[str, dict[int, CellResult]] = {}
    with open_bar("systems") as report:
        for done, (system, seed) in enumerate(pairs):
            if report:
                report(done, len(pairs))
            tuned = _load_or_tune(context, system, open_bar)["settings"] if system.tune else {}
            with open_bar(system.label) as indexing:
                cell = run_cell(context, system, tuned, seed, indexing)
            cells.setdefault(system.label, {})[experiment.seeds[0] if seed is None else seed] = cell
    return cells


def _load_or_tune(context: CellContext, system: SystemSettings, open_bar: OpenBar = no_bar) -> dict[str, Any]:
    """Return the record of a system's tuning, which is done once: `settings`, `measure`, its `value` on `split`, …."""
    name = f"cells/{file_name(system.label)}.tuned.json"
    record = context.folder.read_json(name)
    if record is None:
        record = _tune_system(context, system, open_bar)
        context.folder.write_json(name, record)
        context.folder.log(f"{system.label}: tuned in {record['seconds']:.2f} s to {record['settings']}")
    return record


def _tune_system(context: CellContext, system: SystemSettings, open_bar: OpenBar) -> dict[str, Any]:
    experiment, started = context.experiment, time.perf_counter()
    grids = system.tune if isinstance(system.tune, tuple) else ()
    measure = system.tune_measure or experiment.measures[0]
    labels = context.dev or Split({}, {})
    trials = TrialEvaluator(context.task, {"dev": labels}, [measure], experiment.rule, held_out=context.held_out)
    with trials as evaluator, open_bar(f"{system.label}: tuning") as report:
        best = search_grid(evaluator, system.ranker, grids, system.settings, progress=report)
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
    context: CellContext, cells: SystemCells, findings: Sequence[Finding], provenance: Mapping[str, Any]
) -> ExperimentResult:
    experiment = context.experiment
    systems = [_system_result(context, system, cells[system.label]) for system in experiment.system]
    first_cells = {label: next(iter(of_seed.values())) for label, of_seed in cells.items()}
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
        provenance={**provenance, "seeds": list(experiment.seeds), "seconds": _collect_seconds(context, cells)},
        samples={label: cell.samples for label, cell in first_cells.items() if cell.samples},
        typing={label: curve for label, of_seed in cells.items() if (curve := _mean_typing_curve(of_seed))},
    )


def _system_result(context: CellContext, system: SystemSettings, cells: Mapping[int, CellResult]) -> SystemResult:
    values, tuned, results = system.settings, {}, {seed: cell.result for seed, cell in cells.items()}
    if system.tune:
        record = _load_or_tune(context, system)
        values = {**values, **record["settings"]}
        tuned = {**record["settings"], f"{record['measure']} on {record['split']} (n = {record['n']})": record["value"]}
    settings = rankers.create(system.ranker, values, context.archive.path).values
    return SystemResult(system.label, system.ranker, settings, results, tuned)


def _compare_systems(systems: Sequence[SystemResult], measures: Sequence[str]) -> dict[str, Comparison]:
    if len(systems) < 2:
        return {}
    evaluations = {system.label: [result.evaluation for result in system.seed_results.values()] for system in systems}
    return {measure: compare(evaluations, measure) for measure in measures}


def _collect_seconds(context: CellContext, cells: SystemCells) -> dict[str, Any]:
    """Return system → `tune`, where it was tuned, and seed → step → its time."""
    seconds: dict[str, Any] = {}
    for system in context.experiment.system:
        seconds[system.label] = {"tune": _load_or_tune(context, system)["seconds"]} if system.tune else {}
        seconds[system.label] |= {str(seed): dict(cell.seconds) for seed, cell in cells[system.label].items()}
    return seconds


def _mean_typing_curve(cells: Mapping[int, CellResult]) -> dict[str, dict[str, float]]:
    """Return share of the words → measure → the mean over seeds."""

    def mean(share: str, measure: str) -> float:
        return float(np.mean([cell.typing[share][measure] for cell in cells.values()]))

    first = next(iter(cells.values())).typing
    return {share: {measure: mean(share, measure) for measure in means} for share, means in first.items()}
