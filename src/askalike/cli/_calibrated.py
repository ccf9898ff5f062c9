"""How a calibration is shown: what was measured, the table of thresholds, the line, and the abstention curve."""

from pathlib import Path

from askalike.curation.calibrate import Calibrated
from askalike.curation.off_topic import WANTED, Abstention, Point
from askalike.curation.thresholds import FEWEST_SHOWN, Picked, Share, Threshold
from askalike.engines._calibration import Line
from askalike.evaluation.reliability import Reliability
from askalike.evaluation.tables import Table, to_text


def text(result: Calibrated, directory: Path, seed: int) -> str:
    """Everything that was measured, and the line."""
    sample = result.sample
    asked = "title and body" if sample.bodies else "title"
    parts = [
        f"{result.calibration.ranker} on {directory}: {len(sample.queries):,} queries of split {sample.split} "
        f"({asked}) in {len(set(sample.clusters)):,} clusters, seed {seed}",
        f"probability: {result.way}; measured by nested cross-validation, no cluster both fitted on and measured on",
        _measured("first hits", result.first),
    ]
    if result.later:
        parts.append(_measured("hits 2 to 10", result.later))
    parts.append(_measured("first hits, half of the queries without anything right", result.mixed))
    parts += ["", to_text(_bins(result.first)), to_text(_thresholds(result.thresholds)).rstrip()]
    if result.picked:
        parts += ["", line(result.picked)]
    return "\n".join(parts)


def line(picked: Picked) -> str:
    """Whether a line was picked, and what it is worth."""
    if picked.here is None:
        return (
            f"no line: a precision of {picked.asked:.0%} is out of reach (over at least {FEWEST_SHOWN} first hits); "
            "every hit is shown, with its probability"
        )
    elsewhere = f"{_share(picked.elsewhere)} of {picked.elsewhere.n:,}" if picked.elsewhere.n else "nothing shown"
    return (
        f"line at {picked.here.probability:.3f} for a precision of {picked.asked:.0%}: {_share(picked.here.precision)} "
        f"of {picked.here.precision.n:,} first hits above it are right; on clusters that had no part in picking it: "
        f"{elsewhere}"
    )


def kept(line: Line | None, prevalence: float = 1.0) -> str:
    """What search does from now on, and what its probabilities hold for."""
    for_whom = "for questions that were asked before; if only some are, say how many: --prevalence 0.3"
    if prevalence < 1:
        for_whom = f"where {prevalence:.0%} of the questions were asked before"
    if line is None:
        return f"search shows probabilities, and every hit\nprobabilities hold {for_whom}"
    return (
        f"search shows probabilities, and nothing below {line.probability:.3f} ({line.of} {line.share:.0%})"
        f"\nprobabilities hold {for_whom}"
    )


def abstention(measured: Abstention, source: Path) -> str:
    """The whole curve, and the line at which enough abstain."""
    rows = [_point(point) for point in measured.points]
    title = f"{measured.queries:,} off-topic queries of {source} that get nothing, and right first hits kept, by line"
    curve = to_text(Table(title, ("probability", "abstain", "kept"), rows))
    at = measured.wanted
    return (
        f"{curve}at {at.probability:.3f}, the lowest line where {WANTED:.0%} of them abstain: "
        f"abstain {_share(at.abstain)} of {at.abstain.n:,}, kept {_share(at.kept)} of {at.kept.n:,} right first hits"
    )


def _measured(what: str, of: Reliability) -> str:
    low, high = of.skill_interval
    return (
        f"{what}: n {of.n:,}, base rate {of.base_rate:.3f}; reliability error {of.error:.3f} (exact probabilities "
        f"would show {of.chance:.3f}); Brier skill {of.skill:+.3f} [{low:+.3f}, {high:+.3f}]; "
        f"log loss {of.log_loss:.3f}"
    )


def _bins(of: Reliability) -> Table:
    rows = [(f"{b.probability:.3f}", f"{b.right:.3f}", f"{b.n:,}") for b in of.bins]
    return Table("first hits in bins of equal mass", ("probability", "right", "n"), rows)


def _thresholds(steps: list[Threshold]) -> Table:
    rows = [
        (f"{t.probability:.2f}", f"{t.precision.n:,}", *map(_share, (t.precision, t.recall, t.coverage))) for t in steps
    ]
    notes = (
        "precision: of the first hits shown, those that are right; recall: of all queries, those whose first hit is",
        "shown and right; coverage: of all queries, those with a first hit shown. In brackets: 95 % (Wilson).",
        "Measured on queries with a known duplicate: of questions that nobody has asked before, fewer hits are right.",
    )
    columns = ("probability", "shown", "precision", "recall", "coverage")
    return Table("showing first hits from each probability on", columns, rows, notes)


def _point(point: Point) -> tuple[str, str, str]:
    return f"{point.probability:.2f}", _share(point.abstain), _share(point.kept)


def _share(share: Share) -> str:
    low, high = share.interval
    return f"{share.value:.3f} [{low:.3f}, {high:.3f}]" if share.n else "-"
