"""What a trial finds for a task's queries: ranked once, remembered on disk, its index removed unless it is kept."""

import json
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal

from askalike import rankers
from askalike.evaluation.measures import evaluate
from askalike.evaluation.names import parse_cutoff
from askalike.evaluation.trec import separate_ties
from askalike.experiments.grid_search import DEPTH
from askalike.experiments.measuring import rank_split
from askalike.rankers import Ranker
from askalike.store.archive import Archive
from askalike.tuning.candidates import RankerSettings, Trial
from askalike.tuning.choice import QueryValues
from askalike.tuning.state import TuningState
from askalike.tuning.task import TuningTask
from askalike.tuning.teacher import Teacher
from askalike.types import Run, Split

TaskPart = Literal["dev", "test"]
REPORTED_MEASURE = "Success@5"
"""What is told beside the measure that chooses: people know what it means."""


class TrialEvaluator:
    """Measures trials on the parts of a task, by the measure that chooses and by SHOWN."""

    def __init__(
        self,
        archive: Archive,
        task: TuningTask,
        measure: str,
        rule: str,
        state: TuningState,
        fixed: RankerSettings | None = None,
        teacher: Teacher | None = None,
    ) -> None:
        self.archive, self.task, self.state, self._teacher = archive, task, state, teacher
        self.measure, self.rule = measure, rule
        self.fixed = {**(fixed or {}), **task.fixed}
        self._splits: Mapping[TaskPart, Split] = {"dev": task.dev, "test": task.evaluation_split}
        self.ranking_s = 0.0
        """What a ranking of dev by words takes, once `clock` has found out."""

    def evaluate_trials(
        self, trials: Sequence[Trial], part: TaskPart = "dev"
    ) -> Iterator[tuple[Trial, QueryValues, QueryValues]]:
        """Each trial with what its queries have by the measure that chooses and by the one that is told.

        Hybrids that differ in their weights are ranked together.
        """
        for _, group in groupby(trials, _key_without_weights):
            alike = list(group)
            unknown = [t for t in alike if self.state.trial_values(t, part) is None]
            self._evaluate_group(unknown, part)
            for trial in alike:
                found = self.state.trial_values(trial, part) or {}
                yield trial, found[self.measure], found[REPORTED_MEASURE]

    def time_ranking(self, trial: Trial) -> None:
        """Ranks dev once more to learn how long a trial takes whose index is there."""
        started = time.monotonic()
        self._rank_trials(self.build_ranker(trial), [trial], self._splits["dev"], DEPTH)
        self.ranking_s = time.monotonic() - started

    def build_ranker(self, trial: Trial, with_proxy_settings: bool = True) -> Ranker:
        """A trial's ranker. proxy: with the settings that a proxy needs, too."""
        ranker = rankers.create(
            trial.ranker, {**self._fixed_settings(with_proxy_settings), **trial.settings}, self.archive.path
        )
        if self._teacher:
            self._teacher.share_encoder(ranker)
        return ranker

    def service_settings(self, trial: Trial) -> RankerSettings:
        """A trial's settings as they go into service."""
        return {**self._fixed_settings(False), **trial.settings}

    def remove_indexes(self, keep: Iterable[Trial] = ()) -> None:
        """Removes the indexes that trials have made, but for those of some."""
        kept = {path for trial in keep for path in self.build_ranker(trial, False).index_paths(self.archive.view())}
        for made in self.state.created_indexes - kept:
            shutil.rmtree(made, ignore_errors=True)

    def _fixed_settings(self, with_proxy_settings: bool) -> RankerSettings:
        return self.fixed if with_proxy_settings else {k: v for k, v in self.fixed.items() if k not in self.task.fixed}

    def _evaluate_group(self, trials: Sequence[Trial], part: TaskPart) -> None:
        if not trials:
            return
        started = time.monotonic()
        ranker = self.build_ranker(trials[0])
        for path in ranker.index_paths(self.archive.view()):
            if not path.exists():
                self.state.record_index(path)
        labels = self._splits[part]
        measures = list(dict.fromkeys((self.measure, REPORTED_MEASURE)))
        depth = max(parse_cutoff(measure) or DEPTH for measure in measures)
        runs = self._rank_trials(ranker, trials, labels, depth)
        found = [evaluate(separate_ties(run), labels.qrels, measures, self.rule) for run in runs]
        took = (time.monotonic() - started) / len(trials)
        for trial, evaluation in zip(trials, found, strict=True):
            self.state.save_trial(trial, part, {m: evaluation.per_query(m) for m in measures}, took)

    def _rank_trials(self, ranker: Ranker, trials: Sequence[Trial], labels: Split, depth: int) -> Sequence[Run]:
        from askalike.rankers.hybrid import HybridRanker  # numba is slow to import

        if isinstance(ranker, HybridRanker) and not self.archive.meta.get("groups"):
            rankers.build_with_retry(ranker, self.archive.view(held_out_splits=self.task.held_out_splits))
            weights = [trial.settings["weights"] for trial in trials]
            return ranker.rank_with_weights(labels.queries, depth, weights, candidates=labels.candidates)
        hidden = self.task.held_out_splits
        return [
            rank_split(self.archive, self.build_ranker(trial), labels, depth, held_out_splits=hidden)
            for trial in trials
        ]


def _key_without_weights(trial: Trial) -> str:
    """Equal for hybrids that differ in their weights alone; every other trial is alone."""
    return json.dumps([trial.ranker, {k: v for k, v in trial.settings.items() if k != "weights"}], sort_keys=True)
