"""The cells of an experiment: one system with one seed each, ranked and measured once."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np

from askalike import rankers
from askalike.errors import InputError, SettingsError
from askalike.evaluation.evaluate import evaluate
from askalike.evaluation.trec import read_run, separate_ties, write_run
from askalike.experiments.answer_measures import diagnose_answers
from askalike.experiments.declaration import Experiment, SystemSettings
from askalike.experiments.folder import ExperimentFolder, cell_name, file_name
from askalike.experiments.measuring import RankingTask, merge_runs
from askalike.experiments.outcome import SeedResult
from askalike.files import measure_folder, write_atomically
from askalike.index.commits import CommittedIndex
from askalike.iteration import T
from askalike.labels.splits import labelled_splits, splits_to_hold_out
from askalike.rankers import Ranker, Searcher, open_current
from askalike.store import Archive, View
from askalike.types import Progress, Question, Run, Split

TypingCurve = Mapping[str, Mapping[str, float]]
"""Share of the words → measure → mean."""
TYPED_SHARES: Mapping[str, float] = {"0.25": 0.25, "0.5": 0.5, "0.75": 0.75, "1": 1.0}
"""The points of the typing curve: the shares of a title's words that have been typed."""


@dataclass(frozen=True, slots=True)
class CellContext:
    """The state that all cells of an experiment share."""

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
            expected = f"a split with labels, other than the measured one, {experiment.split!r}"
            raise SettingsError(
                f"dev = {experiment.dev!r}: {', '.join(tuned)} cannot be tuned on it; expected {expected}"
            )
        for system in experiment.system:
            if system.run is None:
                ranker = rankers.create(system.ranker, system.settings, archive)
                ranker.require_candidates(labels.candidates)
                task.require_unlearned(ranker, labels)
        return cls(experiment, archive, folder, labels, dev, task)

    @property
    def held_out(self) -> Sequence[str | Split]:
        """The splits that no system learns from: the measured queries, and all splits that belong to theirs."""
        return (self.labels, *splits_to_hold_out(self.archive, self.experiment.split))


@dataclass(slots=True)
class CellResult:
    """A finished cell. typing: share of the words → measure → mean. seconds: step → its time.

    samples: answers that the system wrote, as `question`, `written` and `right`.
    """

    result: SeedResult
    typing: TypingCurve = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    samples: Sequence[Mapping[str, str]] = ()


def run_cell(
    context: CellContext, system: SystemSettings, tuned: Mapping[str, Any], seed: int | None, progress: Progress | None
) -> CellResult:
    """Return the cell, ranked first if its run is not written yet. seed: None for a ranker that is not random."""
    name = cell_name(system.label, seed)
    path = context.folder.run_path(name)
    if not path.exists() and system.run is not None:
        _copy_run(context, system.run, name)
    elif not path.exists():
        values = {**system.settings, **tuned, **({} if seed is None else {"seed": seed})}
        created = rankers.create(system.ranker, values, context.archive.path)
        _compute_cell(context, created, system.label, name, progress)
    record, run = context.folder.read_json(f"cells/{name}.json") or {}, _read_cell(path, context.labels)
    evaluation = context.task.measure(run, context.labels, context.experiment.measures, context.experiment.rule)
    seconds = record["seconds"]
    result = SeedResult(run, evaluation, sum(seconds.values()), record.get("beside", {}), record.get("cost", {}))
    return CellResult(result, record["typing"], seconds, record.get("samples", ()))


def _read_cell(path: Path, labels: Split) -> Run:
    """Return the run of a cell, whose file is empty where no query has a hit."""
    return read_run(path) if path.stat().st_size else Run({query: ([], np.empty(0)) for query in labels.queries})


def _copy_run(context: CellContext, source: Path, name: str) -> None:
    """Write another system's run as a cell. Raises InputError for a file that is not a run of the split's queries."""
    run = read_run(source)
    if not any(query in context.labels.qrels for query in run):
        example = f"such as {next(iter(run))!r}"
        problem = f"none of its {len(run)} queries ({example}) is of split {context.experiment.split!r}"
        raise InputError(f"{source}: {problem}; expected a run of its queries")
    context.folder.write_json(f"cells/{name}.json", {"seconds": {}, "typing": {}})
    write_atomically(context.folder.run_path(name), source.read_bytes())
    context.folder.log(f"{name}: {source}")


def _compute_cell(context: CellContext, ranker: Ranker, label: str, name: str, progress: Progress | None) -> None:
    """Write the cell's record and then its run, with which the cell is finished; each group is ranked within itself."""
    experiment, task = context.experiment, context.task
    seconds: dict[str, float] = {}
    runs, curves, diagnostics, busy, index_bytes = [], [], {}, 0.0, 0
    for group, labels, view in task.groups(context.labels, context.held_out, context.dev):
        fitted = _time_step(seconds, "fit", partial(ranker.fit, view))
        task.require_unlearned(fitted, labels)
        searcher = _time_step(seconds, "index", partial(open_current, fitted, view, progress))
        task.rank(searcher, _first_query(labels), experiment.k)  # compiles and loads, which is no query's cost
        started = time.process_time()
        runs.append(_time_step(seconds, "rank", partial(task.rank, searcher, labels, experiment.k)))
        busy += time.process_time() - started
        index_bytes += _measure_indexes(fitted, view)
        if experiment.typing_curve:
            curves.append(compute_typing_curve(searcher, labels, experiment))
        if not group:
            diagnostics = diagnose_answers(fitted, task, labels, context.dev).as_dict()
    typing = mean_typing_curve(curves) if curves else {}
    cost = {"ms_per_query": round(1000 * busy / max(1, len(context.labels.queries)), 3), "index_bytes": index_bytes}
    record = {"seconds": seconds, "typing": typing, "cost": cost, **diagnostics}
    context.folder.write_json(f"cells/{name}.json", record)
    write_run(merge_runs(runs), context.folder.run_path(name), file_name(label))
    context.folder.log(f"{name}: {', '.join(f'{step} {took:.2f} s' for step, took in seconds.items())}")


def _first_query(labels: Split) -> Split:
    return Split(dict(islice(labels.queries.items(), 1)), labels.qrels, labels.candidates)


def _measure_indexes(ranker: Ranker, view: View) -> int:
    """Return the bytes on disk of a ranker's indexes of a view; those in a cluster are not counted."""
    paths = {index.path for index in ranker.indexes(view) if isinstance(index, CommittedIndex)}
    return sum(map(measure_folder, paths))


def _time_step(seconds: dict[str, float], step: str, action: Callable[[], T]) -> T:
    started = time.perf_counter()
    result = action()
    seconds[step] = round(seconds.get(step, 0.0) + time.perf_counter() - started, 3)
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


def mean_typing_curve(curves: Sequence[TypingCurve]) -> TypingCurve:
    """Return share of the words → measure → the mean over seeds or groups."""

    def mean(share: str, measure: str) -> float:
        return float(np.mean([curve[share][measure] for curve in curves]))

    return {share: {measure: mean(share, measure) for measure in means} for share, means in curves[0].items()}
