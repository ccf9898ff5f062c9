"""How a calibration is shown: the measurements, the table of thresholds, the line, and the abstention curve."""

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
from askalike.cli._output import format_proportion
from askalike.evaluation.tables import ResultTable, to_text


def format_report(report: CalibrationReport, directory: Path, seed: int) -> str:
    """Return all measurements, and the line where one was picked."""
    sample = report.sample
    text = "title and body" if sample.has_bodies else "title"
    parts = [
        f"{report.calibration.ranker} on {directory}: {len(sample.queries):,} queries of split {sample.split} "
        f"({text}) in {len(set(sample.clusters)):,} clusters, seed {seed}",
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
    """Return in one line whether a line was picked, and how precise it is."""
    if choice.in_sample is None:
        return (
            f"no line: a precision of {choice.target_precision:.0%} is out of reach (over at least {MIN_HITS_ABOVE} "
            "first hits); every hit is shown, with its probability"
        )
    out_of_sample = (
        f"{format_proportion(choice.cross_validated)} of {choice.cross_validated.n:,}"
        if choice.cross_validated.n
        else "nothing shown"
    )
    precision = choice.in_sample.precision
    return (
        f"line at {choice.in_sample.probability:.3f} for a precision of {choice.target_precision:.0%}: "
        f"{format_proportion(precision)} of {precision.n:,} first hits above it are right; "
        f"on clusters that had no part in picking it: {out_of_sample}"
    )


def format_saved(threshold: Threshold | None, prevalence: float = 1.0) -> str:
    """Return what search does from now on, and for which questions its probabilities hold."""
    for_whom = "for questions that were asked before; if only some are, say how many: --prevalence 0.3"
    if prevalence < 1:
        for_whom = f"where {prevalence:.0%} of the questions were asked before"
    if threshold is None:
        return f"search shows probabilities, and every hit\nprobabilities hold {for_whom}"
    return (
        f"search shows probabilities, and nothing below {threshold.probability:.3f} "
        f"({threshold.criterion} {threshold.share:.0%})\nprobabilities hold {for_whom}"
    )


def format_abstention(curve: AbstentionCurve, source: Path) -> str:
    """Return the whole curve, and the line from which on enough off-topic queries get nothing."""
    rows = [_point_cells(point) for point in curve.points]
    title = f"{curve.query_count:,} off-topic queries of {source} that get nothing, and right first hits kept, by line"
    table = to_text(ResultTable(title, ("probability", "abstain", "kept"), rows))
    at = curve.target_point
    return (
        f"{table}at {at.threshold:.3f}, the lowest line where {TARGET_ABSTENTION:.0%} of them abstain: "
        f"abstain {format_proportion(at.abstained)} of {at.abstained.n:,}, "
        f"kept {format_proportion(at.retained)} of {at.retained.n:,} right first hits"
    )


def _format_reliability(what: str, reliability: Reliability) -> str:
    low, high = reliability.skill_interval
    return (
        f"{what}: n {reliability.n:,}, base rate {reliability.base_rate:.3f}; "
        f"reliability error {reliability.error:.3f} (exact probabilities would show {reliability.chance:.3f}); "
        f"Brier skill {reliability.skill:+.3f} [{low:+.3f}, {high:+.3f}]; "
        f"log loss {reliability.log_loss:.3f}"
    )


def _bin_table(reliability: Reliability) -> ResultTable:
    rows = [(f"{b.probability:.3f}", f"{b.right:.3f}", f"{b.n:,}") for b in reliability.bins]
    return ResultTable("first hits in bins of equal mass", ("probability", "right", "n"), rows)


def _threshold_table(thresholds: list[ThresholdRow]) -> ResultTable:
    rows = [
        (f"{t.probability:.2f}", f"{t.precision.n:,}", *map(format_proportion, (t.precision, t.recall, t.coverage)))
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
    return f"{point.threshold:.2f}", format_proportion(point.abstained), format_proportion(point.retained)
