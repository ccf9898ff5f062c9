"""One system with one seed: ranked, written, measured. What is written already is read instead."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from askalike import rankers
from askalike.evaluation.evaluate import evaluate
from askalike.evaluation.trec import read_run, write_run
from askalike.experiments.answer_measures import as_dict, diagnose_answers
from askalike.experiments.file_names import cell_name, file_name
from askalike.experiments.folder import ExperimentFolder
from askalike.experiments.outcome import SeedResult
from askalike.experiments.settings import Experiment
from askalike.experiments.task import RankingTask
from askalike.experiments.typing_curve import compute_typing_curve
from askalike.labels.splits import labelled_splits, splits_to_hold_out
from askalike.rankers import Ranker, open_current
from askalike.store.archive import Archive
from askalike.types import Progress, Split

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CellContext:
    """What all cells of an experiment share."""

    experiment: Experiment
    archive: Archive
    folder: ExperimentFolder
    labels: Split
    task: RankingTask

    @property
    def validation(self) -> Split | None:
        """The split that would tune, where it is there."""
        there = self.experiment.dev in labelled_splits(self.archive, self.task.kind)
        return self.task.labels(self.experiment.dev) if there else None


@dataclass(slots=True)
class CellResult:
    """A finished cell. `typing`: share of the words → measure → mean. `seconds`: what was done → how long it took."""

    result: SeedResult
    typing: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    samples: Sequence[Mapping[str, str]] = ()


def run_cell(
    context: CellContext,
    label: str,
    ranker: str,
    settings: Mapping[str, Any],
    seed: int | None,
    progress: Progress | None,
) -> CellResult:
    """The cell, ranked first if its run is not there yet. `seed` None: the ranker has no chance in it."""
    name = cell_name(label, seed)
    path = context.folder.run_path(name)
    if not path.exists():
        values = settings if seed is None else {**settings, "seed": seed}
        chosen = rankers.create(ranker, values, context.archive.path)
        _compute_cell(context, chosen, label, name, progress)
    kept = context.folder.read_json(f"cells/{name}.json") or {}
    run = read_run(path)
    evaluation = evaluate(run, context.labels.qrels, context.experiment.measures, context.experiment.rule)
    seconds = kept["seconds"]
    trial = SeedResult(run, evaluation, sum(seconds.values()), kept.get("beside", {}))
    return CellResult(trial, kept["typing"], seconds, kept.get("samples", ()))


def _compute_cell(context: CellContext, ranker: Ranker, label: str, name: str, progress: Progress | None) -> None:
    """Writes what is known of the cell and then its run: with that the cell is finished."""
    experiment, labels = context.experiment, context.labels
    seconds: dict[str, float] = {}
    view = context.task.training_view(splits_to_hold_out(context.archive, experiment.split))
    _time_step(seconds, "fit", lambda: ranker.fit(view))
    searcher = _time_step(seconds, "index", lambda: open_current(ranker, view, progress))
    run = _time_step(seconds, "rank", lambda: context.task.rank(searcher, labels, experiment.k))
    typing: Mapping[str, Mapping[str, float]] = {}
    if experiment.typing_curve:
        typing = compute_typing_curve(searcher, labels, experiment.measures, experiment.rule, experiment.k)
    told = as_dict(diagnose_answers(ranker, context.task, labels, context.validation))
    context.folder.write_json(f"cells/{name}.json", {"seconds": seconds, "typing": typing, **told})
    write_run(run, context.folder.run_path(name), file_name(label))
    context.folder.log(f"{name}: {', '.join(f'{what} {took:.2f} s' for what, took in seconds.items())}")


def _time_step(seconds: dict[str, float], step: str, action: Callable[[], T]) -> T:
    started = time.perf_counter()
    done = action()
    seconds[step] = round(time.perf_counter() - started, 3)
    return done
