"""One system with one seed: ranked, written, measured. What is written already is read instead."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from askalike import rankers
from askalike.archive.splits import labelled
from askalike.archive.store import Archive
from askalike.evaluation.measures import evaluate
from askalike.evaluation.trec import read_run, write_run
from askalike.experiment.beside import as_dict, beside
from askalike.experiment.folder import Folder
from askalike.experiment.half_typed import typing_curve
from askalike.experiment.names import cell_name, file_name
from askalike.experiment.outcome import Trial
from askalike.experiment.settings import Experiment
from askalike.experiment.task import Task
from askalike.rankers import Ranker, caught_up
from askalike.rankers._ranker import Progress
from askalike.types import Split

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bench:
    """What all cells of an experiment share."""

    experiment: Experiment
    archive: Archive
    folder: Folder
    labels: Split
    task: Task

    @property
    def validation(self) -> Split | None:
        """The split that would tune, where it is there."""
        there = self.experiment.dev in labelled(self.archive, self.task.of)
        return self.task.labels(self.experiment.dev) if there else None


@dataclass(slots=True)
class Cell:
    """A finished cell. `typing`: share of the words → measure → mean. `seconds`: what was done → how long it took."""

    trial: Trial
    typing: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    samples: Sequence[Mapping[str, str]] = ()


def finished(
    bench: Bench, label: str, ranker: str, settings: Mapping[str, Any], seed: int | None, progress: Progress | None
) -> Cell:
    """The cell, ranked first if its run is not there yet. `seed` None: the ranker has no chance in it."""
    name = cell_name(label, seed)
    path = bench.folder.run(name)
    if not path.exists():
        values = settings if seed is None else {**settings, "seed": seed}
        chosen = rankers.build(ranker, values, bench.archive.path)
        _rank(bench, chosen, label, name, progress)
    kept = bench.folder.kept(f"cells/{name}.json") or {}
    run = read_run(path)
    evaluation = evaluate(run, bench.labels.qrels, bench.experiment.measures, bench.experiment.rule)
    seconds = kept["seconds"]
    trial = Trial(run, evaluation, sum(seconds.values()), kept.get("beside", {}))
    return Cell(trial, kept["typing"], seconds, kept.get("samples", ()))


def _rank(bench: Bench, ranker: Ranker, label: str, name: str, progress: Progress | None) -> None:
    """Writes what is known of the cell and then its run: with that the cell is finished."""
    experiment, labels = bench.experiment, bench.labels
    seconds: dict[str, float] = {}
    view = bench.task.learnable(experiment.split)
    _timed(seconds, "fit", lambda: ranker.fit(view))
    _timed(seconds, "index", lambda: caught_up(ranker, view, progress))
    run = _timed(seconds, "rank", lambda: bench.task.rank(ranker, labels, experiment.k))
    typing: Mapping[str, Mapping[str, float]] = {}
    if experiment.typing_curve:
        typing = typing_curve(ranker, labels, experiment.measures, experiment.rule, experiment.k)
    told = as_dict(beside(ranker, bench.task, labels, bench.validation))
    bench.folder.keep(f"cells/{name}.json", {"seconds": seconds, "typing": typing, **told})
    write_run(run, bench.folder.run(name), file_name(label))
    bench.folder.log(f"{name}: {', '.join(f'{what} {took:.2f} s' for what, took in seconds.items())}")


def _timed(seconds: dict[str, float], what: str, do: Callable[[], T]) -> T:
    started = time.perf_counter()
    done = do()
    seconds[what] = round(time.perf_counter() - started, 3)
    return done
