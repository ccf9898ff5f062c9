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
from askalike.types import Run, Split

Part = Literal["dev", "test"]


class Bench:
    """Measures trials on the parts of a task by one measure."""

    def __init__(
        self, archive: Archive, task: Task, measure: str, rule: str, state: State, fixed: Settings | None = None
    ) -> None:
        self.archive, self.task, self.state = archive, task, state
        self.measure, self.rule = measure, rule
        self.fixed = {**(fixed or {}), **task.fixed}
        self._parts: Mapping[Part, Split] = {"dev": task.dev, "test": task.measures}
        self._took: list[float] = []
        self.quick_s = 0.0
        """What the quickest trial took, the first one may build an index."""

    def values(self, trials: Sequence[Trial], part: Part = "dev") -> Iterator[tuple[Trial, Values]]:
        """The measure of each query under each trial; hybrids that differ in their weights are ranked together."""
        for _, group in groupby(trials, _but_weights):
            alike = list(group)
            unknown = [t for t in alike if self.state.values(t, part) is None]
            self._measure(unknown, part)
            yield from ((trial, self.state.values(trial, part) or {}) for trial in alike)

    def built(self, trial: Trial, proxy: bool = True) -> Ranker:
        """A trial's ranker. proxy: with the settings that a proxy needs, too."""
        return rankers.build(trial.ranker, {**self._fixed(proxy), **trial.settings}, self.archive.path)

    def settings(self, trial: Trial) -> Settings:
        """A trial's settings as they go into service."""
        return {**self._fixed(False), **trial.settings}

    def clear(self, keep: Iterable[Trial] = ()) -> None:
        """Removes the indexes that trials have made, but for those of some."""
        kept = {path for trial in keep for path in self.built(trial, False).paths(self.archive.view())}
        for made in self.state.made - set(map(str, kept)):
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
        depth = cutoff(self.measure) or DEPTH
        runs = self._runs(ranker, trials, labels, depth)
        found = [evaluate(separated(run), labels.qrels, [self.measure], self.rule) for run in runs]
        took = (time.monotonic() - started) / len(trials)
        self._took.append(took)
        self.quick_s = min(self._took)
        for trial, evaluation in zip(trials, found, strict=True):
            self.state.keep(trial, part, evaluation.per_query(self.measure), took)

    def _runs(self, ranker: Ranker, trials: Sequence[Trial], labels: Split, depth: int) -> Sequence[Run]:
        from askalike.rankers.hybrid import Hybrid  # numba is slow to import

        if isinstance(ranker, Hybrid) and not self.archive.meta.get("groups"):
            ranker.index(self.archive.view())
            weights = [trial.settings["weights"] for trial in trials]
            return ranker.weighed(labels.queries, depth, weights, candidates=labels.candidates)
        return [ranked(self.archive, self.built(trial), labels, depth) for trial in trials]


def _but_weights(trial: Trial) -> str:
    """Equal for hybrids that differ in their weights alone; every other trial is alone."""
    return json.dumps([trial.ranker, {k: v for k, v in trial.settings.items() if k != "weights"}], sort_keys=True)
