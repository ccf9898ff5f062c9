"""How a calibration is shown: what was measured, the table of thresholds, the line, and the abstention curve."""

from pathlib import Path

from askalike.calibration.calibrate import CalibrationReport
from askalike.calibration.reliability import Reliability
from askalike.calibration.thresholds import (
    MIN_HITS_ABOVE,
    TARGET_ABSTENTION,
    AbstentionCurve,
    AbstentionPoint,
    Threshold,
    ThresholdChoice,
    ThresholdRow,
)
from askalike.evaluation.proportion import BinomialProportion
from askalike.evaluation.tables import ResultTable, to_text


def format_report(report: CalibrationReport, directory: Path, seed: int) -> str:
    """Everything that was measured, and the line."""
    sample = report.sample
    asked = "title and body" if sample.has_bodies else "title"
    parts = [
        f"{report.calibration.ranker} on {directory}: {len(sample.queries):,} queries of split {sample.split} "
        f"({asked}) in {len(set(sample.clusters)):,} clusters, seed {seed}",
        f"probability: {report.method}; measured by nested cross-validation, no cluster both fitted on and measured on",
        _format_reliability("first hits", report.first_hits),
    ]
    if report.later_hits:
        parts.append(_format_reliability("hits 2 to 10", report.later_hits))
    parts.append(_format_reliability("first hits, half of the queries without anything right", report.half_answerable))
    parts += ["", to_text(_bin_table(report.first_hits)), to_text(_threshold_table(report.thresholds)).rstrip()]
    if report.threshold_choice:
        parts += ["", format_threshold_choice(report.threshold_choice)]
    return "\n".join(parts)


def format_threshold_choice(choice: ThresholdChoice) -> str:
    """Whether a line was picked, and what it is worth."""
    if choice.in_sample is None:
        return (
            f"no line: a precision of {choice.target_precision:.0%} is out of reach (over at least {MIN_HITS_ABOVE} first hits); "
            "every hit is shown, with its probability"
        )
    elsewhere = (
        f"{_format_proportion(choice.cross_validated)} of {choice.cross_validated.n:,}"
        if choice.cross_validated.n
        else "nothing shown"
    )
    return (
        f"line at {choice.in_sample.probability:.3f} for a precision of {choice.target_precision:.0%}: {_format_proportion(choice.in_sample.precision)} "
        f"of {choice.in_sample.precision.n:,} first hits above it are right; on clusters that had no part in picking it: "
        f"{elsewhere}"
    )


def format_saved(threshold: Threshold | None, prevalence: float = 1.0) -> str:
    """What search does from now on, and what its probabilities hold for."""
    for_whom = "for questions that were asked before; if only some are, say how many: --prevalence 0.3"
    if prevalence < 1:
        for_whom = f"where {prevalence:.0%} of the questions were asked before"
    if threshold is None:
        return f"search shows probabilities, and every hit\nprobabilities hold {for_whom}"
    return (
        f"search shows probabilities, and nothing below {threshold.probability:.3f} ({threshold.criterion} {threshold.share:.0%})"
        f"\nprobabilities hold {for_whom}"
    )


def format_abstention(abstention_curve: AbstentionCurve, source: Path) -> str:
    """The whole curve, and the line at which enough abstain."""
    rows = [_point_cells(point) for point in abstention_curve.points]
    title = f"{abstention_curve.query_count:,} off-topic queries of {source} that get nothing, and right first hits kept, by line"
    curve = to_text(ResultTable(title, ("probability", "abstain", "kept"), rows))
    at = abstention_curve.target_point
    return (
        f"{curve}at {at.threshold:.3f}, the lowest line where {TARGET_ABSTENTION:.0%} of them abstain: "
        f"abstain {_format_proportion(at.abstained)} of {at.abstained.n:,}, kept {_format_proportion(at.retained)} of {at.retained.n:,} right first hits"
    )


def _format_reliability(what: str, reliability: Reliability) -> str:
    low, high = reliability.skill_interval
    return (
        f"{what}: n {reliability.n:,}, base rate {reliability.base_rate:.3f}; reliability error {reliability.error:.3f} (exact probabilities "
        f"would show {reliability.chance:.3f}); Brier skill {reliability.skill:+.3f} [{low:+.3f}, {high:+.3f}]; "
        f"log loss {reliability.log_loss:.3f}"
    )


def _bin_table(reliability: Reliability) -> ResultTable:
    rows = [(f"{b.probability:.3f}", f"{b.right:.3f}", f"{b.n:,}") for b in reliability.bins]
    return ResultTable("first hits in bins of equal mass", ("probability", "right", "n"), rows)


def _threshold_table(thresholds: list[ThresholdRow]) -> ResultTable:
    rows = [
        (f"{t.probability:.2f}", f"{t.precision.n:,}", *map(_format_proportion, (t.precision, t.recall, t.coverage)))
        for t in thresholds
    ]
    notes = (
        "precision: of the first hits shown, those that are right; recall: of all queries, those whose first hit is",
        "shown and right; coverage: of all queries, those with a first hit shown. In brackets: 95 % (Wilson).",
        "Measured on queries with a known duplicate: of questions that nobody has asked before, fewer hits are right.",
    )
    columns = ("probability", "shown", "precision", "recall", "coverage")
    return ResultTable("showing first hits from each probability on", columns, rows, notes)


def _point_cells(point: AbstentionPoint) -> tuple[str, str, str]:
    return f"{point.threshold:.2f}", _format_proportion(point.abstained), _format_proportion(point.retained)


def _format_proportion(proportion: BinomialProportion) -> str:
    low, high = proportion.interval
    return f"{proportion.value:.3f} [{low:.3f}, {high:.3f}]" if proportion.n else "-"
