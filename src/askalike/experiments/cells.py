"""A cell is one system with one seed: ranked, written, and measured. A run that is written already is read instead."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from askalike import rankers
from askalike.evaluation.evaluate import evaluate
from askalike.evaluation.trec import read_run, separate_ties, write_run
from askalike.experiments.answer_measures import as_dict, diagnose_answers
from askalike.experiments.folder import ExperimentFolder, cell_name, file_name
from askalike.experiments.outcome import SeedResult
from askalike.experiments.settings import Experiment
from askalike.experiments.task import RankingTask
from askalike.labels.splits import labelled_splits, splits_to_hold_out
from askalike.rankers import Ranker, Searcher, open_current
from askalike.store import Archive
from askalike.types import Progress, Question, Split

T = TypeVar("T")

TYPED_SHARES: Mapping[str, float] = {"0.25": 0.25, "0.5": 0.5, "0.75": 0.75, "1": 1.0}
"""The points of the typing curve: the shares of a title's words that have been typed."""


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
        """The split that would tune; None if the archive does not have it."""
        is_labelled = self.experiment.dev in labelled_splits(self.archive, self.task.kind)
        return self.task.labels(self.experiment.dev) if is_labelled else None


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
    context: CellContext,
    label: str,
    ranker: str,
    settings: Mapping[str, Any],
    seed: int | None,
    progress: Progress | None,
) -> CellResult:
    """Return the cell, ranked first if its run is not written yet. seed: None for a ranker that is not random."""
    name = cell_name(label, seed)
    path = context.folder.run_path(name)
    if not path.exists():
        values = settings if seed is None else {**settings, "seed": seed}
        _compute_cell(context, rankers.create(ranker, values, context.archive.path), label, name, progress)
    record = context.folder.read_json(f"cells/{name}.json") or {}
    run = read_run(path)
    evaluation = evaluate(run, context.labels.qrels, context.experiment.measures, context.experiment.rule)
    seconds = record["seconds"]
    result = SeedResult(run, evaluation, sum(seconds.values()), record.get("beside", {}))
    return CellResult(result, record["typing"], seconds, record.get("samples", ()))


def _compute_cell(context: CellContext, ranker: Ranker, label: str, name: str, progress: Progress | None) -> None:
    """Write the cell's record and then its run, with which the cell is finished."""
    experiment, labels = context.experiment, context.labels
    seconds: dict[str, float] = {}
    view = context.task.training_view(splits_to_hold_out(context.archive, experiment.split))
    _time_step(seconds, "fit", lambda: ranker.fit(view))
    searcher = _time_step(seconds, "index", lambda: open_current(ranker, view, progress))
    run = _time_step(seconds, "rank", lambda: context.task.rank(searcher, labels, experiment.k))
    typing: Mapping[str, Mapping[str, float]] = {}
    if experiment.typing_curve:
        typing = compute_typing_curve(searcher, labels, experiment.measures, experiment.rule, experiment.k)
    diagnostics = as_dict(diagnose_answers(ranker, context.task, labels, context.validation))
    context.folder.write_json(f"cells/{name}.json", {"seconds": seconds, "typing": typing, **diagnostics})
    write_run(run, context.folder.run_path(name), file_name(label))
    context.folder.log(f"{name}: {', '.join(f'{step} {took:.2f} s' for step, took in seconds.items())}")


def _time_step(seconds: dict[str, float], step: str, action: Callable[[], T]) -> T:
    started = time.perf_counter()
    result = action()
    seconds[step] = round(time.perf_counter() - started, 3)
    return result


def compute_typing_curve(
    searcher: Searcher, labels: Split, measures: Sequence[str], rule: str, k: int
) -> dict[str, dict[str, float]]:
    """Return share of the title's words → measure → mean over the queries, by an opened ranker.

    The last word counts as typed to its end. A body is not there yet while the title is typed.
    """
    curve = {}
    for name, share in TYPED_SHARES.items():
        queries = {id: truncate_title(query, share) for id, query in labels.queries.items()}
        run = searcher.rank(queries, k, candidates=labels.candidates)
        curve[name] = dict(evaluate(separate_ties(run), labels.qrels, measures, rule).means)
    return curve


def truncate_title(question: Question, share: float) -> Question:
    """Return the question with only the first words of its title: that share of them, rounded, at least one."""
    words = question.title.split()
    return replace(question, title=" ".join(words[: max(1, round(len(words) * share))]), body="")
