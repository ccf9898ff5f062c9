"""Trials: a ranker with settings, ranked and measured once on the queries of a split.

The results are on disk, from which the next run resumes; a budget says how much time is left.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any, Self

from askalike import rankers
from askalike.core.errors import ArchiveError, AskalikeError, SearchIndexError, SettingsError
from askalike.core.hits import Run
from askalike.core.iteration import Progress
from askalike.core.parallel import has_workers, map_pieces
from askalike.core.records import DocumentKind, Split
from askalike.evaluation.measures import parse_cutoff
from askalike.evaluation.outcome import Evaluation
from askalike.evaluation.trec import separate_ties
from askalike.index.commits import remove_index
from askalike.labels.splits import restrict_split
from askalike.measuring import DEFAULT_DEPTH, RankingTask, merge_runs
from askalike.rankers import Ranker, Searcher
from askalike.store import Archive, TrainingView

RankerSettings = Mapping[str, Any]
QueryValues = Mapping[str, float]
"""Query id → the value of a measure."""
TrialValues = Mapping[str, QueryValues]
"""Measure → query id → value."""
QUERIES_AT_ONCE = 100
"""Number of queries ranked between two checks of the time limit."""
IsOver = Callable[[], bool]
"""Whether the time for trials is over."""
RankerFactory = Callable[[str, RankerSettings, Archive], Ranker]
"""Makes a ranker from its name and settings for an archive, as `rankers.create` does."""
STATE_FOLDER = "tuning"
VALUES_FILE = "values.jsonl"
SECONDS_PER_UNIT = {"s": 1.0, "m": 60.0, "h": 3600.0}
DURATION_PATTERN = re.compile(r"(\d+(?:\.\d+)?)\s*([smh]?)")


class OutOfTimeError(AskalikeError):
    """Work was stopped at its time limit."""


def never() -> bool:
    """Return False: there is no time limit."""
    return False


@dataclass(frozen=True, slots=True)
class Trial:
    """A ranker's name and settings, as for `rankers.create`."""

    ranker: str
    settings: RankerSettings = field(default_factory=dict)

    @property
    def part_names(self) -> Sequence[str]:
        """Return the rankers that a composite is made of, including the parts of its parts; none for other rankers."""
        return [name for key, value in self.settings.items() if key.split(".")[-1] == "parts" for name in value]


class TrialMemory:
    """The values of finished trials and the indexes made by trials, while the process runs."""

    def __init__(self, created_indexes: set[Path] | None = None) -> None:
        """created_indexes: a set to record indexes in, which several memories may share."""
        self.created_indexes = set() if created_indexes is None else created_indexes
        self._records: dict[str, Any] = {}

    def trial_values(self, trial: Trial, part: str) -> TrialValues | None:
        """Return a trial's values on a part; None if it has not been tried there."""
        return self._records.get(trial_key(trial, part))

    def save_trial(self, trial: Trial, part: str, values: TrialValues, seconds: float) -> None:
        """Save a trial's values on a part, and the time that they took."""
        named = {measure: dict(query_values) for measure, query_values in values.items()}
        self._record(trial_key(trial, part), named, seconds)

    def record_index(self, index: Path) -> None:
        """Record the path of an index that a trial is about to make."""
        self.created_indexes.add(index)

    def _record(self, name: str, value: Any, seconds: float) -> None:
        self._records[name] = value


def trial_key(trial: Trial, part: str) -> str:
    """Return a key that is equal for equal trials on the same part."""
    return json.dumps([part, trial.ranker, trial.settings], sort_keys=True, default=str)


class TrialEvaluator:
    """Measures trials on the parts of a task, such as dev and test, from which no trial learns.

    The part dev is used to choose among trials, and among the epochs of a network. Each trial is ranked once per
    part. The indexes made by trials are removed by `remove_indexes`, or at the end of a `with` block, except those of
    rankers given to `keep_index`.
    """

    def __init__(
        self,
        task: RankingTask,
        parts: Mapping[str, Split],
        measures: Sequence[str],
        rule: str = "trec_eval",
        *,
        held_out: Sequence[str | Split] = (),
        fixed: RankerSettings | None = None,
        memory: TrialMemory | None = None,
        create: RankerFactory = rankers.create,
        progress: Progress | None = None,
    ) -> None:
        """fixed: settings of every trial, overridden by its own. create: makes each trial's ranker.

        progress: called while an index is built.
        """
        self._progress = progress
        self.task, self.parts, self.rule = task, parts, rule
        self.held_out = (*held_out, *parts.values())
        self.measures = list(dict.fromkeys(measures))
        self.depth = max(parse_cutoff(measure) or DEFAULT_DEPTH for measure in self.measures)
        self.fixed, self.memory, self._create = dict(fixed or {}), memory or TrialMemory(), create
        self._kept_indexes: set[Path] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove_indexes()

    def evaluate_trials(
        self, trials: Iterable[Trial], part: str = "dev", *, is_over: IsOver = never
    ) -> Iterator[TrialValues]:
        """Yield the values of each trial on a part, in the order of the trials.

        Consecutive hybrids that differ only in their weights are ranked together. is_over: called while an index is
        built, and between queries. Raises OutOfTimeError, which says where a trial was stopped; its values are lost.
        With workers (askalike.core.parallel.use_workers), trials that are ranked together are one piece of work.
        """
        batches = [list(group) for _, group in groupby(trials, _key_without_weights)]
        if has_workers():
            self._evaluate_on_workers(batches, part, is_over)
        for batch in batches:
            self._evaluate_batch(self._without_values(batch, part), part, is_over)
            for trial in batch:
                yield self.memory.trial_values(trial, part) or {}

    def time_ranking(self, trial: Trial) -> float:
        """Return the seconds that ranking dev takes once the trial's index exists."""
        started = time.monotonic()
        self._rank_batch([trial], self.parts["dev"], DEFAULT_DEPTH, never)
        return time.monotonic() - started

    def rank(self, trial: Trial, labels: Split) -> Run:
        """Rank the queries of any split with a trial's ranker, to the depth that the measures need."""
        [run] = self._rank_batch([trial], labels, self.depth, never)
        return run

    def measure_run(self, run: Run, labels: Split) -> Evaluation:
        """Measure a run with the judgements of a split."""
        return self.task.measure(separate_ties(run), labels, self.measures, self.rule)

    def create_ranker(self, trial: Trial) -> Ranker:
        """Return a trial's ranker, not yet built. Raises SettingsError for an unknown ranker or setting."""
        return self._create(trial.ranker, {**self.fixed, **trial.settings}, self.task.archive)

    def require_unlearned(self, trial: Trial) -> None:
        """Raise SettingsError if a trial's ranker has learned from labels of any part."""
        for labels in self.parts.values():
            self.task.require_unlearned(self.create_ranker(trial), labels)

    def is_indexed(self, trial: Trial) -> bool:
        """Return whether the indexes that a trial on dev reads exist."""
        views = [view for _, _, view in self._groups(self.parts["dev"])]
        return all(path.exists() for view in views for path in self._index_paths(self.create_ranker(trial), view))

    def keep_index(self, ranker: Ranker) -> None:
        """Exclude the indexes of a ranker from removal."""
        for _, _, view in self._groups(self.parts["dev"]):
            self._kept_indexes |= set(self._index_paths(ranker, view))

    def remove_indexes(self) -> None:
        """Remove the indexes made by trials, except the kept ones and those that another process is writing."""
        remove_indexes(self.memory.created_indexes - self._kept_indexes)

    @staticmethod
    def _index_paths(ranker: Ranker, view: TrainingView) -> Sequence[Path]:
        return ranker.fit(view).index_paths(view)

    def _without_values(self, trials: Iterable[Trial], part: str) -> list[Trial]:
        return [trial for trial in trials if self.memory.trial_values(trial, part) is None]

    def _evaluate_on_workers(self, batches: Iterable[Sequence[Trial]], part: str, is_over: IsOver) -> None:
        """Let workers evaluate batches until the time limit. Their indexes are built here, as only one process may."""
        new = [trials for batch in batches if (trials := self._without_values(batch, part))]
        if len(new) < 2:
            return
        for trials in new:
            for _, labels, view in self._groups(self.parts[part]):
                self._open(trials[0], labels, view, is_over)
        archive = self.task.archive
        options = {"held_out": self.held_out, "fixed": self.fixed}
        work = partial(_evaluate_in_worker, archive.path.resolve(), archive.engine, self.task.kind, part,
                       (self.parts, self.measures, self.rule), options)  # fmt: skip
        evaluated = map_pieces(work, takewhile(lambda _: not is_over(), new))
        for trials, (values, seconds) in zip(new, evaluated, strict=False):
            for trial, trial_values in zip(trials, values, strict=True):
                self.memory.save_trial(trial, part, trial_values, seconds)

    def _evaluate_batch(self, trials: Sequence[Trial], part: str, is_over: IsOver) -> None:
        if not trials:
            return
        started = time.monotonic()
        labels = self.parts[part]
        runs = self._rank_batch(trials, labels, self.depth, is_over)
        evaluations = [self.measure_run(run, labels) for run in runs]
        seconds = (time.monotonic() - started) / len(trials)
        for trial, evaluation in zip(trials, evaluations, strict=True):
            values = {measure: evaluation.weighted(measure) for measure in self.measures}
            self.memory.save_trial(trial, part, values, seconds)

    def _rank_batch(self, trials: Sequence[Trial], labels: Split, depth: int, is_over: IsOver) -> Sequence[Run]:
        """Rank trials that differ only in their weights."""
        groups = self._groups(labels)
        runs = [self._rank_group(trials, part, view, depth, is_over) for _, part, view in groups]
        return [merge_runs(trial_runs) for trial_runs in zip(*runs, strict=True)]

    def _rank_group(
        self, trials: Sequence[Trial], labels: Split, view: TrainingView, depth: int, is_over: IsOver
    ) -> Sequence[Run]:
        """Rank the queries of one group; the parts of a hybrid are scored once for all trials."""
        from askalike.rankers.hybrid import HybridSearcher  # numba is slow to import

        searcher = self._open(trials[0], labels, view, is_over)
        chunks = _split_queries(labels, is_over)
        if len(trials) == 1:
            return [merge_runs(self.task.rank(searcher, some, depth) for some in chunks)]
        if self.task.kind == "answers" or not isinstance(searcher, HybridSearcher):
            return [run for trial in trials for run in self._rank_group([trial], labels, view, depth, is_over)]
        weights = [trial.settings["weights"] for trial in trials]
        ranked = (searcher.rank_with_weights(c.queries, depth, weights, candidates=c.candidates) for c in chunks)
        return [merge_runs(trial_runs) for trial_runs in zip(*ranked, strict=True)]

    def _groups(self, labels: Split) -> Iterator[tuple[str, Split, TrainingView]]:
        return self.task.groups(labels, self.held_out, self.parts.get("dev"))

    def _open(self, trial: Trial, labels: Split, view: TrainingView, is_over: IsOver) -> Searcher:
        """Return a trial's ranker, fitted and opened, and record the indexes that it makes."""
        created = self.create_ranker(trial)
        created.require_candidates(labels.candidates)
        self.task.require_unlearned(created, labels)
        ranker = created.fit(view)
        for path in ranker.index_paths(view):
            if not path.exists():
                self.memory.record_index(path)
        return rankers.open_current(ranker, view, partial(_stop_building, is_over, self._progress))


def remove_indexes(paths: Iterable[Path]) -> None:
    """Remove indexes, except those that another process is writing."""
    for path in paths:
        with suppress(SearchIndexError):
            remove_index(path)


def _evaluate_in_worker(
    path: Path, engine: str | None, kind: DocumentKind, part: str,
    arguments: tuple[Mapping[str, Split], Sequence[str], str], options: Mapping[str, Any], trials: Sequence[Trial],
) -> tuple[Sequence[TrialValues], float]:  # fmt: skip
    """Return the values of each trial, and the seconds per trial."""
    started = time.monotonic()
    with Archive.open(path, engine) as archive:
        evaluator = TrialEvaluator(RankingTask.from_archive(archive, kind), *arguments, **options)
        values = list(evaluator.evaluate_trials(trials, part))
    return values, (time.monotonic() - started) / len(trials)


def _key_without_weights(trial: Trial) -> str:
    settings = {name: value for name, value in trial.settings.items() if name != "weights"}
    return trial_key(Trial(trial.ranker, settings), "")


def _split_queries(labels: Split, is_over: IsOver) -> Iterator[Split]:
    """Yield a split's queries in batches. Raises OutOfTimeError."""
    ids = list(labels.queries)
    for start in range(0, len(ids), QUERIES_AT_ONCE):
        if is_over():
            raise OutOfTimeError(f"stopped after {start:,} of {len(ids):,} queries")
        yield restrict_split(labels, set(ids[start : start + QUERIES_AT_ONCE]))


def _stop_building(is_over: IsOver, progress: Progress | None, done: int, total: int) -> None:
    """Check the time limit; a Progress callback. Raises OutOfTimeError."""
    if progress:
        progress(done, total)
    if is_over():
        raise OutOfTimeError(f"stopped after {done:,} of {total:,} documents of its index")


def parse_duration(text: str) -> float:
    """Return the seconds of `90s`, `10m` or `1.5h`; a number without a unit is minutes. Raises SettingsError."""
    match = DURATION_PATTERN.fullmatch(text.strip().lower())
    if not match or not float(match[1]):
        raise SettingsError(f"--budget {text!r}: expected a time such as 90s, 10m or 1.5h")
    return float(match[1]) * SECONDS_PER_UNIT[match[2] or "m"]


class Budget:
    """A limit in seconds from its creation. `reserved_share` of it is for the work after the search."""

    def __init__(self, limit_s: float, reserved_share: float = 0.0) -> None:
        self.limit_s = limit_s
        started = time.monotonic()
        self._ends = started + limit_s
        self._search_ends = started + limit_s * (1 - reserved_share)

    @property
    def remaining_s(self) -> float:
        """The seconds left for the search; below 0 if it took longer."""
        return self._search_ends - time.monotonic()

    @property
    def total_remaining_s(self) -> float:
        """The seconds left, including the reserved ones."""
        return self._ends - time.monotonic()


class TuningState(TrialMemory):
    """A trial memory in the folder `DIR/tuning/KEY/`, one JSON line per entry: a run resumes by knowing what was tried.

    KEY is a hash of the archive's content and of every option that matters. `created_indexes` are those of this
    archive; in a copy of it, the indexes of the original do not count. `spent_s`: the seconds of all runs so far.
    """

    def __init__(self, directory: Path, key_values: Any) -> None:
        """Read the entries of earlier runs; a line truncated by a kill is ignored. Raises ArchiveError."""
        super().__init__()
        self.key = hashlib.sha256(json.dumps(key_values, sort_keys=True, default=str).encode()).hexdigest()[:12]
        self.directory, self.folder = directory, directory / STATE_FOLDER / self.key
        self.spent_s = 0.0
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / VALUES_FILE
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            for line in text.split("\n")[:-1]:
                self._load_line(line)
            if not text.endswith("\n"):
                path.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")
        except OSError as error:
            raise self._write_error(error) from None

    def record_index(self, index: Path) -> None:
        self._record("made", str(index.relative_to(self.directory)))

    def record_time(self, activity: str, seconds: float) -> None:
        """Add the seconds of work other than a trial to `spent_s`."""
        self._record(activity, None, seconds)

    def record_loss(self, model: str) -> None:
        """Record that a trained model was not chosen, and is removed."""
        self._record(_loss_key(model), None)

    def has_lost(self, model: str) -> bool:
        """Return whether a trained model was not chosen by an earlier run."""
        return _loss_key(model) in self._records

    def _record(self, name: str, value: Any, seconds: float = 0.0) -> None:
        line = json.dumps({"name": name, "found": value, "seconds": round(seconds, 3)})
        try:
            with open(self.folder / VALUES_FILE, "a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        except OSError as error:
            raise self._write_error(error) from None
        self._load_line(line)

    def _load_line(self, text: str) -> None:
        try:
            line = json.loads(text)
            if line["name"] == "made":
                self.created_indexes.add(self.directory / line["found"])
            self._records[line["name"]] = line["found"]
            self.spent_s += line["seconds"]
        except (ValueError, KeyError, TypeError):
            return

    def _write_error(self, error: OSError) -> ArchiveError:
        return ArchiveError(f"{self.folder}: {error.strerror}; tune stores its state there")


def _loss_key(model: str) -> str:
    return f"lost {model}"
