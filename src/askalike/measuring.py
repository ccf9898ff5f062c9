"""Evaluation of rankers of questions or answers on an archive's labels, with default splits and measures."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np

from askalike import rankers
from askalike.core.errors import ArchiveError, InputError
from askalike.core.hits import Columns, Run
from askalike.core.iteration import Progress, remaining_chunks
from askalike.core.model_folders import LearnedLabels
from askalike.core.records import DocumentKind, Qrels, Split
from askalike.evaluation.evaluate import evaluate
from askalike.evaluation.outcome import Evaluation, MacroEvaluation
from askalike.evaluation.trec import read_qrels, read_run, separate_ties
from askalike.labels import splits
from askalike.labels.splits import (
    count_learned,
    document_kind,
    identical_answers,
    load_split,
    require_unlearned,
    restrict_split,
    split_groups,
    splits_to_hold_out,
    unlearned_splits,
)
from askalike.rankers import Ranker, Searcher, open_current, resume_runs
from askalike.store import Archive, TrainingView, View, takes_archive
from askalike.store.deployments import get_served_ranker

DEFAULT_MEASURES = ("Success@1", "Success@5", "Success@10", "AP", "RR")
"""The measures that an evaluation reports."""
LEADING_MEASURE = "Success@5"
"""The measure of summaries in prose, and of promotion: people know what it means."""
TUNING_MEASURE = "nDCG@10"
"""The measure that tuning maximises: with few queries, ranks are more informative than a cut-off at five."""
DEFAULT_DEPTH = 100
"""Number of hits per query for a measure without a cut-off."""
BATCH_SIZE = 256
"""The number of queries that are ranked and saved together."""


def evaluation_split(archive: Archive, ranker: Ranker | None = None) -> str:
    """Return the split to evaluate on by default: test, else the first.

    ranker: splits that it has not learned from are preferred. Raises ArchiveError without labels.
    """
    name = splits.default_split(archive, "test", parts=True)
    if name and ranker and ranker.learned_labels:
        unlearned = unlearned_splits(ranker.learned_labels, archive)
        name = name if name in unlearned else next(iter(unlearned), name)
    if name:
        return name
    reason = "nothing to evaluate with: the archive has no duplicate links, rephrasings or evaluation set"
    raise ArchiveError(f"{archive.path}: {reason}; import one, or evaluate a run with --run FILE --qrels FILE")


def describe_choice(archive: Archive, ranker: Ranker, split_name: str) -> str:
    """Return a remark on how many queries of a split were used to choose the active ranker's settings; "" if none.

    Results on them are too good: they are those of the best of many rankers on the queries that it was chosen on.
    """
    served = get_served_ranker(archive)
    if served is None or not served.selection_query_ids or document_kind(archive, split_name) == "answers":
        return ""
    active = rankers.create(served.ranker, served.settings, archive.path)
    chosen_by = LearnedLabels(duplicates=served.selection_query_ids)
    labels = load_split(archive, split_name)
    n = count_learned(chosen_by, archive, labels)
    total = len(labels.queries)
    if not n or (active.name, active.values) != (ranker.name, ranker.values):
        return ""
    others = ", ".join(unlearned_splits(chosen_by, archive)) or "none"
    return f"tune chose its settings with the labels of {n} of these {total} queries; not used for that: {others}"


def evaluate_files(run: Path, qrels: Path, measures: Sequence[str], rule: str = "trec_eval") -> Evaluation:
    """Measure a run file with a file of judgements. Raises InputError for either, with file and line."""
    judged = read_qrels(qrels)
    return evaluate(_read_judged_run(run, judged, str(qrels)), judged, measures, rule)


@takes_archive
def evaluate_run(
    archive: Archive,
    run: Path,
    split_name: str | None = None,
    measures: Sequence[str] = DEFAULT_MEASURES,
    rule: str = "trec_eval",
) -> Evaluation | MacroEvaluation:
    """Measure a run file on a split as `evaluate_ranker` measures a ranker. Raises InputError, with file and line."""
    split_name = split_name or evaluation_split(archive)
    task = RankingTask.from_archive(archive, document_kind(archive, split_name))
    labels = task.labels(split_name)
    ranked = _read_judged_run(run, labels.qrels, f"{archive.path}, split {split_name}")
    return task.measure_groups(ranked, labels, measures, rule)


def _read_judged_run(run: Path, qrels: Qrels, judgements: str) -> Run:
    """Read a run. Raises InputError if none of its queries is judged. judgements: where the qrels are from."""
    ranked = read_run(run)
    if not any(query in qrels for query in ranked):
        reason = f"none of its {len(ranked)} queries (such as {next(iter(ranked))!r}) is judged in {judgements}"
        example = f"(which has such as {next(iter(qrels))!r})"
        raise InputError(f"{run}: {reason} {example}; expected a run of the same queries")
    return ranked


@takes_archive
def evaluate_ranker(
    archive: Archive,
    ranker: Ranker | str | None = None,
    split_name: str | None = None,
    measures: Sequence[str] = DEFAULT_MEASURES,
    *,
    rule: str = "trec_eval",
    k: int = DEFAULT_DEPTH,
    progress: Progress | None = None,
    resume: bool = False,
) -> Evaluation | MacroEvaluation:
    """Return a ranker's measures on a split; for an archive of several groups (CQADupStack's forums), their average.

    archive: or its directory. ranker: or its name; by default the active one. split_name: by default `test`, else the
    first. The ranker's own order counts: ties are broken before the rule is applied, as when a run is written.
    A query that is a question of the archive never finds itself. On the split `answers` and its parts, answers are
    ranked; identical ones count as one. resume: see RankingTask.fit_and_rank.
    """
    ranker = rankers.create(ranker, None, archive)
    split_name = split_name or evaluation_split(archive, ranker)
    task = RankingTask.from_archive(archive, document_kind(archive, split_name))
    labels = task.labels(split_name)
    run = task.fit_and_rank(ranker, labels, k, splits_to_hold_out(archive, split_name), progress, resume)
    return task.measure_groups(separate_ties(run), labels, measures, rule)


def evaluate_groups(
    run: Run, qrels: Qrels, groups: Sequence[str], measures: Sequence[str], rule: str
) -> Evaluation | MacroEvaluation:
    """Measure a run group by group, if there are groups; the ids of a group's queries begin with `GROUP/`."""
    nothing: Columns = ([], np.empty(0))  # a run that is read from a file lacks the queries without hits
    evaluations = {}
    for name in groups:
        judged = {query: qrels[query] for query in splits.ids_of_group(name, qrels)}
        ranked = {query: run.columns(query) for query in splits.ids_of_group(name, run)}
        if judged:
            evaluations[name] = evaluate(Run(dict.fromkeys(judged, nothing) | ranked), judged, measures, rule)
    return MacroEvaluation(evaluations) if evaluations else evaluate(run, qrels, measures, rule)


def as_evaluation(measured: Evaluation | MacroEvaluation) -> Evaluation:
    """Return the evaluation of all queries; if there are groups, each has the same weight."""
    return measured.as_evaluation() if isinstance(measured, MacroEvaluation) else measured


def merge_runs(runs: Iterable[Run]) -> Run:
    """Return one run with the queries of several runs."""
    return Run({query: run.columns(query) for run in runs for query in run})


@dataclass(frozen=True, slots=True)
class RankingTask:
    """The documents of a task: questions, or answers, where identical answers are one document.

    representatives: answer id → the id of the first identical answer; empty for questions.
    """

    archive: Archive
    kind: DocumentKind = "questions"
    representatives: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_archive(cls, archive: Archive, kind: DocumentKind) -> Self:
        """Return the task on an archive. Raises ArchiveError if answers are to be ranked and there are none."""
        if kind == "questions":
            return cls(archive)
        view = archive.view(kind="answers")
        if not (representatives := identical_answers(view)):
            what = "its answers are empty" if len(view) else "it has no answers"
            raise ArchiveError(f"{archive.path}: {what}, so there is nothing to rank; import questions with answers")
        return cls(archive, kind, representatives)

    @property
    def documents(self) -> View:
        """The documents that are ranked."""
        return self.archive.view(kind=self.kind)

    def labels(self, split_name: str) -> Split:
        """Return the queries of a split and their relevant documents. Raises ArchiveError for an unknown split."""
        split = load_split(self.archive, split_name, self.kind)
        if self.kind == "questions":
            return split
        qrels = {query: self._merge_grades(grades) for query, grades in split.qrels.items()}
        if split.candidates is None:
            return Split(split.queries, qrels)
        pools = {query: list(self._merge_grades(dict.fromkeys(ids, 0))) for query, ids in split.candidates.items()}
        return Split(split.queries, qrels, pools)

    def rank(self, searcher: Searcher, labels: Split, k: int) -> Run:
        """Return the k best documents of each query."""
        n_identical = len(self.representatives) - len(set(self.representatives.values()))
        run = rankers.rank(searcher, labels.queries, k + n_identical, candidates=labels.candidates)
        if self.kind == "questions":
            return run
        return Run({query: self._deduplicate(run.columns(query), k) for query in run})

    def groups(
        self, labels: Split, held_out: Iterable[str | Split], dev: Split | None = None
    ) -> Iterator[tuple[str, Split, TrainingView]]:
        """Yield each group with its queries and the view that a ranker may learn from, which hides their labels.

        Without groups in the archive, the group "" has all queries. held_out: other splits to hide. dev: the queries
        for choosing a network's epoch.
        """
        hidden = [labels, *held_out]
        dev_parts = dict(split_groups(self.archive, dev)) if dev else {}
        for name, part in split_groups(self.archive, labels):
            own_dev = dev_parts.get(name)
            yield name, part, self.archive.training_view(hidden, kind=self.kind, group=name or None, dev=own_dev)

    def measure_groups(
        self, run: Run, labels: Split, measures: Sequence[str], rule: str
    ) -> Evaluation | MacroEvaluation:
        """Measure a run: group by group if the archive has groups."""
        return evaluate_groups(run, labels.qrels, splits.group_names(self.archive), measures, rule)

    def measure(self, run: Run, labels: Split, measures: Sequence[str], rule: str) -> Evaluation:
        """Measure a run; if the archive has groups, each has the same weight in means and intervals."""
        return as_evaluation(self.measure_groups(run, labels, measures, rule))

    def fit_and_rank(
        self,
        ranker: Ranker,
        labels: Split,
        k: int,
        held_out: Iterable[str | Split] = (),
        progress: Progress | None = None,
        resume: bool = False,
    ) -> Run:
        """Fit and build a ranker and rank the queries of a split, each group on its own.

        held_out: splits to hide in addition to the labels of these queries. resume: reuse hits saved by an earlier call
        in the archive's `index/`, and save new ones; only for rankers made by `rankers.create`, as changes of other
        rankers' code are not detected.
        """
        ranker.require_candidates(labels.candidates)
        runs: list[Run] = []
        for _, part, view in self.groups(labels, held_out):
            fitted = ranker.fit(view)
            self.require_unlearned(fitted, part)
            work = partial(self._rank_batches, fitted, part, view, k, progress)
            inputs = [k, part.queries, part.candidates]
            total = math.ceil(len(part.queries) / BATCH_SIZE)
            runs += resume_runs("evaluate", fitted, view, inputs, total, work) if resume else work(0)
        return merge_runs(runs)

    def _rank_batches(
        self, fitted: Ranker, labels: Split, view: View, k: int, progress: Progress | None, done: int
    ) -> Iterator[Run]:
        """Yield the run of each batch of queries, skipping the first `done` queries."""
        searcher = open_current(fitted, view, progress)
        for ids in remaining_chunks(labels.queries, BATCH_SIZE, done, progress):
            yield self.rank(searcher, restrict_split(labels, set(ids)), k)

    def require_unlearned(self, ranker: Ranker, labels: Split) -> None:
        """Raise SettingsError if a ranker has learned from the labels that it is to be measured with."""
        are_answers = self.kind == "answers"
        require_unlearned(ranker.learned_labels, self.archive, ranker.name, labels, rank_answers=are_answers)

    def _deduplicate(self, columns: Columns, k: int) -> Columns:
        """Return the first k documents without duplicates, each at the rank of the best of its identical answers."""
        ids, scores = columns
        positions: dict[str, int] = {}
        for position, id in enumerate(ids):
            if id in self.representatives:
                positions.setdefault(self.representatives[id], position)
        first = list(positions)[:k]
        return first, scores[[positions[id] for id in first]]

    def _merge_grades(self, grades: Mapping[str, int]) -> dict[str, int]:
        """Return representative → grade, the highest of its identical answers."""
        merged: dict[str, int] = {}
        for id, grade in grades.items():
            if first := self.representatives.get(id):
                merged[first] = max(grade, merged.get(first, grade))
        return merged
