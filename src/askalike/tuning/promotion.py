"""Promotion: a ranker is activated if a paired test on held-out queries shows that it is better."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from operator import or_
from typing import Any

from askalike import rankers
from askalike.core.errors import SettingsError
from askalike.core.iteration import Progress
from askalike.core.records import Split
from askalike.core.values import format_count
from askalike.evaluation.evaluate import evaluate
from askalike.evaluation.outcome import Evaluation
from askalike.evaluation.significance import ALPHA, SystemPair, compare
from askalike.evaluation.tables import format_p
from askalike.evaluation.trec import separate_ties
from askalike.labels.splits import load_split, splits_to_hold_out, unlearned_splits
from askalike.learning.models import list_recipes
from askalike.measuring import DEFAULT_DEPTH, LEADING_MEASURE, RankingTask, merge_runs
from askalike.rankers import Ranker, fit_and_open
from askalike.store import Archive, serve_ranker
from askalike.store.feedback import held_out_feedback_split
from askalike.store.labels import ranks_answers

MIN_QUERIES = 30
"""Minimum number of queries for a meaningful test."""


@dataclass(frozen=True, slots=True)
class Promotion:
    """The outcome of a promotion, with the reason in a sentence.

    split: the split of the held-out duplicate links, if any. links, feedback: the numbers of queries from each on which
    the rankers were compared. compared: candidate minus active ranker; None if they were not compared.
    """

    candidate: str
    before: str
    promoted: bool
    reason: str
    measure: str = LEADING_MEASURE
    split: str | None = None
    links: int = 0
    feedback: int = 0
    compared: SystemPair | None = None

    def as_dict(self) -> Mapping[str, Any]:
        """Return everything except the single queries, for JSON."""
        compared = {k: v for k, v in asdict(self.compared).items() if k != "differing"} if self.compared else None
        return {**asdict(self), "compared": compared}


@dataclass(frozen=True, slots=True)
class _HeldOutQueries:
    """Queries that neither ranker has learned from: those of a split, and those from feedback."""

    split_name: str | None
    links: Split
    feedback: Split

    @property
    def n(self) -> int:
        return len(self.links.qrels) + len(self.feedback.qrels)

    def __str__(self) -> str:
        remark = "" if self.split_name else " (of feedback alone: no split was held out from training)"
        return f"{format_count(self.n, 'held-out query')}{remark}"


def promote(
    archive: Archive,
    name: str,
    settings: Mapping[str, Any] | None = None,
    *,
    measure: str = LEADING_MEASURE,
    force: bool = False,
    progress: Progress | None = None,
) -> Promotion:
    """Compare a ranker with the active one, and activate it if it is significantly better.

    The test is a paired randomisation test over queries (two-sided, p < 0.05), on duplicate links and feedback that
    neither ranker has learned from. force: activate the ranker regardless of the test. Raises SettingsError
    for an unknown ranker or measure, and for a recipe that is not trained.
    """
    candidate, active = rankers.create(name, settings, archive), rankers.create(None, {}, archive)
    if name in list_recipes() and name not in rankers.trained_model_names(archive.path):
        raise SettingsError(f"{name} is a recipe, not a model; train it first: askalike train {archive.path}")
    if rankers.is_served(archive, candidate):
        return Promotion(name, active.name, False, f"{name} with these settings is already active", measure)
    queries = _select_queries(archive, (candidate, active))
    if queries.n < MIN_QUERIES:
        pair = None
        compared = f"{queries} are too few to decide whether it is better than {active.name}"
        compared += f", {MIN_QUERIES} are needed"
        if queries.split_name is None:
            compared += f"; hold some out (askalike split {archive.path} --by cluster) and train again, or use tune"
    else:
        pair = _compare_rankers(archive, candidate, active, queries, measure, progress)
        compared = _describe_difference(pair, active.name, measure, queries)
    promoted = force or (pair is not None and pair.p < ALPHA and pair.difference > 0)
    reason = f"{name}: {compared}; {'activated' if promoted else 'refused'}"
    if promoted:
        serve_ranker(archive, name, settings or {}, reason)
    sizes = len(queries.links.qrels), len(queries.feedback.qrels)
    return Promotion(name, active.name, promoted, reason, measure, queries.split_name, *sizes, pair)


def _describe_difference(pair: SystemPair, active: str, measure: str, queries: _HeldOutQueries) -> str:
    direction = "better" if pair.difference > 0 else "worse"
    verdict = f"significantly {direction}" if pair.p < ALPHA else "not significantly better"
    points, low, high = 100 * pair.difference, 100 * pair.low, 100 * pair.high
    interval = f"{points:+.1f} points {measure} [{low:.1f}, {high:.1f}]"
    return f"{interval} over {active}, p {format_p(pair.p)}, {queries}: {verdict}"


def _compare_rankers(
    archive: Archive, new: Ranker, active: Ranker, queries: _HeldOutQueries, measure: str, progress: Progress | None
) -> SystemPair:
    """Return candidate minus active ranker over all held-out queries."""
    splits = [labels for labels in (queries.links, queries.feedback) if labels.queries]
    qrels = {query: grades for labels in splits for query, grades in labels.qrels.items()}
    held_out = splits_to_hold_out(archive, queries.split_name) if queries.split_name else ()
    task = RankingTask(archive)

    def measure_ranker(ranker: Ranker) -> Evaluation:
        groups = [group for labels in splits for group in task.groups(labels, [*splits, *held_out])]
        runs = (task.rank(fit_and_open(ranker, view, progress), part, DEFAULT_DEPTH) for _, part, view in groups)
        return evaluate(separate_ties(merge_runs(runs)), qrels, [measure])

    return compare({"candidate": measure_ranker(new), "before": measure_ranker(active)}, measure).pairs[0]


def _select_queries(archive: Archive, candidates: Sequence[Ranker]) -> _HeldOutQueries:
    """Return the queries from feedback and from the first split that no model in these rankers was trained on.

    Test splits are preferred.
    """
    learned = reduce(or_, (candidate.learned_labels for candidate in candidates))
    usable = next((name for name in unlearned_splits(learned, archive) if not ranks_answers(archive, name)), None)
    links = load_split(archive, usable) if usable else Split({}, {})
    return _HeldOutQueries(usable, links, held_out_feedback_split(archive))
