"""The outcome of a comparison of systems, and its tables."""

from dataclasses import asdict, dataclass
from typing import Any

from askalike.core.counts import format_count
from askalike.evaluation.tables import ResultTable, TableCell, to_csv, to_html, to_latex, to_text


@dataclass(frozen=True, slots=True)
class ComparedSystem:
    """One system's mean; over several seeds, the mean and standard deviation of the seeds' means.

    beats: the letters of the systems that it is significantly better than. low, high: the mean's 95 % interval, as in
    an evaluation; over several seeds, by Welch's t over seeds and queries.
    """

    name: str
    letter: str
    mean: float
    sd: float | None
    seeds: int
    beats: tuple[str, ...]
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class QueryDifference:
    """One query's value under the two systems of a pair."""

    query_id: str
    first: float
    second: float


@dataclass(frozen=True, slots=True)
class SystemPair:
    """First minus second: the mean over queries with its 95 % interval, and p before and after Holm's correction.

    wins, losses, ties: numbers of queries, from the first system's point of view. differing: the queries that differ
    most, the largest difference first.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    wins: int
    losses: int
    ties: int
    differing: tuple[QueryDifference, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Systems compared on the same queries by one measure. notes: the rule and the tests, shown with the numbers."""

    measure: str
    n: int
    systems: tuple[ComparedSystem, ...]
    pairs: tuple[SystemPair, ...]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        return asdict(self)

    def systems_table(self) -> ResultTable:
        """Return one row per system, with the letters of the systems it beats in superscript after its mean."""
        rows = [(f"{s.letter} {s.name}", TableCell(_format_mean(s), "".join(s.beats))) for s in self.systems]
        return ResultTable(
            f"{self.measure}, n = {format_count(self.n, 'query')}", ("system", self.measure), rows, self.notes
        )

    def pairs_table(self) -> ResultTable:
        """Return one row per pair: both means, the difference with its interval, p, wins, losses, ties."""
        means = {system.name: f"{system.mean:.4f}" for system in self.systems}
        rows = [(p.first, p.second, means[p.first], means[p.second], *_format_pair(p)) for p in self.pairs]
        head = ("first", "second", "mean 1", "mean 2", "difference", "low", "high", "p", "p (Holm)")
        return ResultTable(f"Differences in {self.measure}", (*head, "wins", "losses", "ties"), rows)

    def to_text(self) -> str:
        """Return both tables as plain text."""
        return f"{to_text(self.systems_table())}\n{to_text(self.pairs_table())}"

    def to_html(self) -> str:
        """Return both tables as HTML."""
        return to_html(self.systems_table()) + to_html(self.pairs_table())

    def to_latex(self) -> str:
        """Return both tables as LaTeX (package booktabs)."""
        return f"{to_latex(self.systems_table())}\n{to_latex(self.pairs_table())}"

    def to_csv(self) -> str:
        """Return the table of pairs as CSV."""
        return to_csv(self.pairs_table())


def _format_mean(system: ComparedSystem) -> str:
    return f"{system.mean:.4f}" if system.sd is None else f"{system.mean:.4f} ± {system.sd:.4f}"


def _format_pair(pair: SystemPair) -> tuple[str, ...]:
    interval = (f"{pair.difference:+.4f}", f"{pair.low:+.4f}", f"{pair.high:+.4f}")
    return *interval, f"{pair.p:.4f}", f"{pair.p_holm:.4f}", str(pair.wins), str(pair.losses), str(pair.ties)
