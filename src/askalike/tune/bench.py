"""What a trial finds for a task's queries: ranked once, remembered on disk, its index removed unless it is kept."""

import json
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal

from askalike import rankers
from askalike.archive.store import Archive
from askalike.evaluation.measures import evaluate
from askalike.evaluation.names import cutoff
from askalike.evaluation.trec import separated
from askalike.experiment.measuring import ranked
from askalike.experiment.tuning import DEPTH
from askalike.rankers import Ranker
from askalike.tune.candidates import Settings, Trial
from askalike.tune.choosing import Values
from askalike.tune.state import State
from askalike.tune.task import Task
from askalike.tune.teacher import Teacher
from askalike.types import Run, Split

Part = Literal["dev", "test"]
SHOWN = "Success@5"
"""What is told beside the measure that chooses: people know what it means."""


class Bench:
    """Measures trials on the parts of a task, by the measure that chooses and by SHOWN."""

    def __init__(
        self,
        archive: Archive,
        task: Task,
        measure: str,
        rule: str,
        state: State,
        fixed: Settings | None = None,
        teacher: Teacher | None = None,
    ) -> None:
        self.archive, self.task, self.state, self._teacher = archive, task, state, teacher
        self.measure, self.rule = measure, rule
        self.fixed = {**(fixed or {}), **task.fixed}
        self._parts: Mapping[Part, Split] = {"dev": task.dev, "test": task.measures}
        self.quick_s = 0.0
        """What a ranking of dev by words takes, once `clock` has found out."""

    def values(self, trials: Sequence[Trial], part: Part = "dev") -> Iterator[tuple[Trial, Values, Values]]:
        """Each trial with what its queries have by the measure that chooses and by the one that is told.

        Hybrids that differ in their weights are ranked together.
        """
        for _, group in groupby(trials, _but_weights):
            alike = list(group)
            unknown = [t for t in alike if self.state.found(t, part) is None]
            self._measure(unknown, part)
            for trial in alike:
                found = self.state.found(trial, part) or {}
                yield trial, found[self.measure], found[SHOWN]

    def clock(self, trial: Trial) -> None:
        """Ranks dev once more to learn how long a trial takes whose index is there."""
        started = time.monotonic()
        self._runs(self.built(trial), [trial], self._parts["dev"], DEPTH)
        self.quick_s = time.monotonic() - started

    def built(self, trial: Trial, proxy: bool = True) -> Ranker:
        """A trial's ranker. proxy: with the settings that a proxy needs, too."""
        ranker = rankers.build(trial.ranker, {**self._fixed(proxy), **trial.settings}, self.archive.path)
        if self._teacher:
            self._teacher.lend(ranker)
        return ranker

    def settings(self, trial: Trial) -> Settings:
        """A trial's settings as they go into service."""
        return {**self._fixed(False), **trial.settings}

    def clear(self, keep: Iterable[Trial] = ()) -> None:
        """Removes the indexes that trials have made, but for those of some."""
        kept = {path for trial in keep for path in self.built(trial, False).paths(self.archive.view())}
        for made in self.state.made - kept:
            shutil.rmtree(made, ignore_errors=True)

    def _fixed(self, proxy: bool) -> Settings:
        return self.fixed if proxy else {k: v for k, v in self.fixed.items() if k not in self.task.fixed}

    def _measure(self, trials: Sequence[Trial], part: Part) -> None:
        if not trials:
            return
        started = time.monotonic()
        ranker = self.built(trials[0])
        for path in ranker.paths(self.archive.view()):
            if not path.exists():
                self.state.make(path)
        labels = self._parts[part]
        measures = list(dict.fromkeys((self.measure, SHOWN)))
        depth = max(cutoff(measure) or DEPTH for measure in measures)
        runs = self._runs(ranker, trials, labels, depth)
        found = [evaluate(separated(run), labels.qrels, measures, self.rule) for run in runs]
        took = (time.monotonic() - started) / len(trials)
        for trial, evaluation in zip(trials, found, strict=True):
            self.state.keep(trial, part, {m: evaluation.per_query(m) for m in measures}, took)

    def _runs(self, ranker: Ranker, trials: Sequence[Trial], labels: Split, depth: int) -> Sequence[Run]:
        from askalike.rankers.hybrid import Hybrid  # numba is slow to import

        if isinstance(ranker, Hybrid) and not self.archive.meta.get("groups"):
            rankers.caught_up(ranker, self.archive.view(hidden=self.task.hidden))
            weights = [trial.settings["weights"] for trial in trials]
            return ranker.weighed(labels.queries, depth, weights, candidates=labels.candidates)
        hidden = self.task.hidden
        return [ranked(self.archive, self.built(trial), labels, depth, hidden=hidden) for trial in trials]


def _but_weights(trial: Trial) -> str:
    """Equal for hybrids that differ in their weights alone; every other trial is alone."""
    return json.dumps([trial.ranker, {k: v for k, v in trial.settings.items() if k != "weights"}], sort_keys=True)
