"""The outcome of an evaluation: values per query, means with intervals, the rule, and macro averages of groups."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from askalike.core.errors import SettingsError
from askalike.core.values import format_count
from askalike.evaluation.intervals import bootstrap_means, group_column, percentile_interval
from askalike.evaluation.measures import canonical_name
from askalike.evaluation.tables import ResultTable, ShownAsTable

Values = Mapping[str, Mapping[str, float]]
Intervals = Mapping[str, tuple[float, float]]
COUNTS = ("unanswered", "unanswerable", "dropped", "unjudged", "self_hits")
BOOTSTRAP_DRAWS = 2_000
BOOTSTRAP_SEED = 0
TIES_DECIDE = 0.01
"""Least difference of a mean by the order of tied hits that is worth a warning."""


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation(ShownAsTable):
    """Measures of one run, with their names as requested; every measured query has a value of each.

    values: measure → query id → value. intervals: measure → the mean's 95 % bootstrap interval over queries.
    unanswered: the number of measured queries without hits. unanswerable: of measured queries without a relevant
    document. dropped: of judged queries that the rule does not include. unjudged: of the run's queries without
    judgements. self_hits: of hits dropped because they are the query itself. groups: query id → its group if all groups
    have the same weight in the means; empty if all queries have. tied_share: of the run's hits, those with the score of
    another hit of their query. means_of_random_ties: measure → mean with ties in random order (one draw), where
    many hits are tied.
    """

    rule: str
    describe: str
    values: Values
    means: Mapping[str, float]
    intervals: Intervals
    n: int
    unanswered: int
    unanswerable: int
    dropped: int
    unjudged: int
    self_hits: int
    groups: Mapping[str, str] = field(default_factory=dict)
    tied_share: float = 0.0
    means_of_random_ties: Mapping[str, float] = field(default_factory=dict)

    @property
    def weights(self) -> Mapping[str, float]:
        """Query id → its weight in the means, 1 on average; empty if all queries have the same weight."""
        return weigh_groups(self.groups)

    def weighted(self, measure: str) -> Mapping[str, float]:
        """Return query id → value; with groups, weighted so that the mean is that of the groups."""
        values = self.per_query(measure)
        weights = self.weights
        return {query: value * weights[query] for query, value in values.items()} if weights else values

    def per_query(self, measure: str) -> Mapping[str, float]:
        """Return query id → value of a measure in any spelling. Raises SettingsError for one that was not measured."""
        canonical = canonical_name(measure)
        for name, values in self.values.items():
            if canonical_name(name) == canonical:
                return values
        raise SettingsError(f"measure {measure!r} was not evaluated; there are: {', '.join(self.values)}")

    def describe_ties(self) -> str:
        """Return a warning where the order of tied hits decides a mean; "" where it does not."""
        changed = {m: mean for m, mean in self.means_of_random_ties.items() if abs(mean - self.means[m]) >= TIES_DECIDE}
        if not changed:
            return ""
        values = ", ".join(f"{m} {mean:.4f} instead of {self.means[m]:.4f}" for m, mean in changed.items())
        return f"ties decide: {self.tied_share:.0%} of hits are tied; with ties in random order: {values}"

    def per_query_table(self) -> ResultTable:
        """Return the value of each measure for each query: one row per query, in the order of their ids."""
        queries = next(iter(self.values.values()))
        rows = [(query, *(repr(query_values[query]) for query_values in self.values.values())) for query in queries]
        return ResultTable("Values of each query", ("query", *self.values), rows)

    def as_dict(self) -> dict[str, Any]:
        """Return everything except the values per query, for JSON."""
        return {
            "measures": _as_dicts(self.means, self.intervals),
            "n": self.n,
            **self._counts(),
            "rule": self.rule,
            "rule_description": self.describe,
        }

    def table(self) -> ResultTable:
        """Return one row per measure, with the rule and the counts as notes."""
        counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in self._counts().items())
        rows = [(m, f"{mean:.4f}", "{:.4f} – {:.4f}".format(*self.intervals[m])) for m, mean in self.means.items()]
        interval = f"interval: bootstrap over queries, {BOOTSTRAP_DRAWS} draws"
        notes = (
            f"n = {format_count(self.n, 'query')} ({counts})",
            self.describe,
            interval,
            *filter(None, [self.describe_ties()]),
        )
        return ResultTable("Evaluation", ("measure", "mean", "95 % interval"), rows, notes)

    def _counts(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in COUNTS}


@dataclass(frozen=True, slots=True, repr=False)
class MacroEvaluation(ShownAsTable):
    """Evaluations of several groups by the same measures and rule, such as CQADupStack's forums.

    In the macro average every group has the same weight, regardless of its number of queries.
    """

    groups: Mapping[str, Evaluation]

    @property
    def n(self) -> int:
        """The number of measured queries of all groups."""
        return sum(e.n for e in self.groups.values())

    @property
    def means(self) -> Mapping[str, float]:
        """Measure → the mean of the groups' means."""
        first = next(iter(self.groups.values()))
        return {m: float(np.mean([e.means[m] for e in self.groups.values()])) for m in first.means}

    @property
    def intervals(self) -> Intervals:
        """Measure → 95 % bootstrap interval of the macro average; queries are drawn within their group."""
        return self.as_evaluation().intervals

    def as_evaluation(self) -> Evaluation:
        """Return the evaluation of all queries, with the same weight for each group in means and intervals."""
        groups = self.groups.values()
        first = next(iter(groups))
        merged = {measure: {q: v for e in groups for q, v in e.values[measure].items()} for measure in first.values}
        names_of = {query: name for name, e in self.groups.items() for query in next(iter(e.values.values()))}
        counts = {name: sum(getattr(e, name) for e in groups) for name in ("n", *COUNTS)}
        describe = f"{first.describe}; {format_count(len(groups), 'group')}, each ranked within itself, count the same"
        whole = Evaluation(
            rule=first.rule, describe=describe, values=merged, means=self.means, intervals={}, groups=names_of, **counts
        )  # fmt: skip
        _, intervals = means_and_intervals({measure: whole.weighted(measure) for measure in merged}, names_of)
        return replace(whole, intervals=intervals)

    def per_query_table(self) -> ResultTable:
        """Return the value of each measure for each query, group by group."""
        tables = [evaluation.per_query_table() for evaluation in self.groups.values()]
        return replace(tables[0], rows=[row for table in tables for row in table.rows])

    def as_dict(self) -> dict[str, Any]:
        """Return the macro average and each group's measures, for JSON."""
        measures = _as_dicts(self.means, self.intervals)
        groups = {name: e.as_dict() for name, e in self.groups.items()}
        return {"measures": measures, "n": self.n, "average": "macro", "groups": groups}

    def table(self) -> ResultTable:
        """Return one row per group, then the macro average and its intervals."""
        names = list(self.means)
        rows = [[g, str(e.n), *(f"{e.means[m]:.4f}" for m in names)] for g, e in self.groups.items()]
        bounds = [f"{low:.4f}–{high:.4f}" for low, high in self.intervals.values()]
        rows += [["macro average", str(self.n), *(f"{self.means[m]:.4f}" for m in names)]]
        rows += [["95 % interval", "", *bounds]]
        average = f"macro average: the mean of {len(self.groups)} groups, each ranked within itself"
        interval = f"interval: bootstrap over queries within their group, {BOOTSTRAP_DRAWS} draws"
        notes = (average, next(iter(self.groups.values())).describe, interval)
        return ResultTable("Evaluation", ("group", "n", *names), rows, notes)


def weigh_groups(groups: Mapping[str, str]) -> Mapping[str, float]:
    """Return query id → its weight in a mean in which each group counts the same, 1 on average.

    groups: query id → its group.
    """
    sizes = Counter(groups.values())
    return {query: len(groups) / (len(sizes) * sizes[group]) for query, group in groups.items()}


def means_and_intervals(values: Values, groups: Mapping[str, str] | None = None) -> tuple[dict[str, float], Intervals]:
    """Return each measure's mean over its queries, and its 95 % bootstrap interval, with the same draws for all.

    groups: query id → the group within which it is drawn; None: all queries are one group.
    """
    columns = np.array([list(query_values.values()) for query_values in values.values()]).T
    strata = group_column(groups or {}, next(iter(values.values())))
    drawn = bootstrap_means(columns, BOOTSTRAP_DRAWS, BOOTSTRAP_SEED, strata)
    means = {name: float(columns[:, i].mean()) for i, name in enumerate(values)}
    return means, {name: percentile_interval(drawn[:, i]) for i, name in enumerate(values)}


def _as_dicts(means: Mapping[str, float], intervals: Intervals) -> dict[str, dict[str, float]]:
    return {m: {"mean": mean, "low": intervals[m][0], "high": intervals[m][1]} for m, mean in means.items()}
