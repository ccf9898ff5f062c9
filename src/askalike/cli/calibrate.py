"""askalike calibrate: turn scores into probabilities, and report their quality."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Option

import askalike.cli.options as options
from askalike.calibration.calibrate import CalibrationReport, KnownTitles, calibrate_each_use
from askalike.calibration.calibration import Threshold
from askalike.calibration.reliability import GroupAverages, Reliability
from askalike.calibration.samples import MAX_PER_CLUSTER, MAX_QUERIES, MIN_QUERIES
from askalike.calibration.thresholds import CONFIDENCE, MIN_HITS_ABOVE, Guarantee, ThresholdChoice, ThresholdRow
from askalike.cli.output import format_proportion, print_remark, progress_bar, to_json
from askalike.core.values import format_count
from askalike.evaluation.intervals import BinomialProportion
from askalike.evaluation.tables import ResultTable, to_text
from askalike.measuring import describe_choice
from askalike.store import Archive

PRECISION_HELP = "Set the threshold above which this share of first hits is right."
GUARANTEE_HELP = f"{PRECISION_HELP[:-1]}, with 95 % confidence."
PREVALENCE_HELP = "The share of new questions that somebody has asked before."
Precision = Annotated[float | None, options.share(PRECISION_HELP)]
GuaranteedPrecision = Annotated[float | None, options.share(GUARANTEE_HELP)]
Verbose = Annotated[bool, Option("--verbose", "-v", help="Print all measurements with their intervals.")]


def calibrate_command(
    directory: options.Directory,
    ranker: options.RankerName = None,
    settings: options.Assignments = None,
    fields: options.Fields = None,
    engine: options.Engine = None,
    split: Annotated[
        str | None, options.value("SPLIT", "The split with the queries.", "dev, else the first with enough")
    ] = None,
    precision: Precision = None,
    guarantee: GuaranteedPrecision = None,
    prevalence: Annotated[float | None, options.share(PREVALENCE_HELP, "1; 0.5 with few labels")] = None,
    titles: Annotated[bool, Option("--titles", help="Use titles alone as queries, as people type them.")] = False,
    max_queries: Annotated[int, Option("--sample", min=1, help="Use at most this many queries.")] = MAX_QUERIES,
    per_cluster: Annotated[int, Option(min=1, help="Use at most this many queries of one cluster.")] = MAX_PER_CLUSTER,
    seed: options.Seed = 0,
    verbose: Verbose = False,
    json: options.Json = False,
) -> None:
    """Turn a ranker's scores into probabilities, and measure how reliable they are.

    If questions have bodies, there are two calibrations: one for whole questions, and one for titles, as people type
    them. With --titles there is only the second. Afterwards `search` shows probabilities. --precision sets a threshold,
    below which hits are hidden. --guarantee 0.9 sets one above which, with 95 % confidence, at most one in ten first
    hits is wrong; curves are then fitted on half of the labels, and it is tested on the others. With fewer than 100
    labelled questions probabilities are less sure. A calibration that makes known titles worse is refused. It is valid
    for this ranker and these settings, until a tenth of the archive has changed.

    Examples:

    ```
    askalike calibrate DIR
    askalike calibrate DIR --precision 0.9 --verbose
    ```
    """
    with Archive.open(directory, engine) as archive, progress_bar("calibrating") as progress:
        built = options.build_ranker(archive, ranker, settings, fields)
        results = calibrate_each_use(
            archive, built, split, precision=precision, guarantee=guarantee, prevalence=prevalence, titles_only=titles,
            max_queries=max_queries, max_per_cluster=per_cluster, seed=seed, progress=progress, resume=True,
        )  # fmt: skip
        calibrated = [SavedCalibration(result, result.calibration.save(directory)) for result in results]
        remark = describe_choice(archive, built, results[0].sample.split)
    if json:
        first, *others = [each.as_dict() for each in calibrated]
        print(to_json(first | ({"titles": others[0]} if others else {}) | ({"remark": remark} if remark else {})))
        return
    if remark:
        print_remark(f"askalike: {remark}")
    _print_calibrations(calibrated, directory, seed, verbose)


@dataclass(frozen=True, slots=True)
class SavedCalibration:
    """A report, and the file in which its calibration is saved."""

    report: CalibrationReport
    path: Path

    def as_dict(self) -> dict[str, Any]:
        """Return everything except the single hits, for JSON."""
        threshold = self.report.calibration.threshold
        return {**self.report.as_dict(), "threshold": threshold and threshold.model_dump(), "path": str(self.path)}


def _print_calibrations(calibrated: Sequence[SavedCalibration], directory: Path, seed: int, verbose: bool) -> None:
    """Print what each calibration gives a search. verbose: with all that was measured."""
    for each in calibrated:
        if len(calibrated) > 1:
            print("while typing, by titles:" if each.report.calibration.titles_only else "whole questions:")
        calibration = each.report.calibration
        print(format_verdict(each.report) if calibration.is_sure else _format_less_sure(each.report))
        if each.report.known_titles:
            print(_format_known(each.report.known_titles))
        if verbose:
            print(f"\n{format_report(each.report, directory, seed)}\n")
        print(f"{_format_saved(calibration.threshold, calibration.prevalence)}\nkept in {each.path}")
    if not verbose:
        print("all that was measured, with its intervals: --verbose")


def format_verdict(report: CalibrationReport) -> str:
    """Return sentences on how useful the probabilities are for search."""
    threshold = report.calibration.threshold
    row = report.at(threshold.probability) if threshold else _find_reliable_row(report)
    if row is None:
        queries = len(report.sample.queries)
        found = report.thresholds[0].recall
        best = f"of {queries:,} questions with a known duplicate {found.value:.0%} find it first"
        sentences = [f"no probability is reliable: {best}, and none from which on most hits are right"]
    else:
        shown = f"{row.coverage.value:.0%} of the questions asked before get one"
        sentences = [f"at {row.probability:.0%} or more, {_in_ten(row.precision.value)} first hits are right; {shown}"]
    if report.guarantee:
        sentences.append(_format_guarantee(report.guarantee))
    return "\n".join(sentences)


def _format_guarantee(guarantee: Guarantee) -> str:
    most = f"with {CONFIDENCE:.0%} confidence at most {1 - guarantee.precision:.0%} of the first hits shown are wrong"
    if guarantee.threshold is None:
        return f"no threshold with a guarantee: above none that was tried it holds that {most}"
    wrong, coverage = guarantee.wrong, guarantee.coverage
    questions = format_count(coverage.n, "question")
    tested = f"{wrong.count} of {wrong.n} were, among {questions} that had no part in the probabilities"
    return f"{most}: {tested}; {coverage.value:.0%} of them get one"


def _find_reliable_row(report: CalibrationReport) -> ThresholdRow | None:
    """Return the lowest of the usual thresholds above which nine of ten hits are right, else most of them."""
    rows = [row for row in report.thresholds if row.precision.n >= MIN_HITS_ABOVE]
    for precision in (0.9, 0.8, 0.7, 0.6, 0.5):
        if fitting := [row for row in rows if row.precision.value >= precision]:
            return fitting[0]
    return None


def _in_ten(share: float) -> str:
    """Return a share in words: `9 of 10`, or `99 of 100` if it is closer to 1."""
    return f"{math.floor(100 * share)} of 100" if share > 0.95 else f"{round(10 * share)} of 10"


def format_report(report: CalibrationReport, source: Path, seed: int) -> str:
    """Return all measurements with their intervals. source: of the labels."""
    sample = report.sample
    text = "title and body" if sample.has_bodies else "title"
    parts = [
        f"{report.calibration.ranker} on {source}: {format_count(len(sample.queries), 'query')} of split "
        f"{sample.split} ({text}) in {format_count(len(set(sample.clusters)), 'cluster')}, seed {seed}",
        f"probability: {report.method}; measured by nested cross-validation, no cluster both fitted on and measured on",
        _format_reliability("first hits", report.first_hits),
    ]
    if report.later_hits:
        parts.append(_format_reliability("hits 2 to 10", report.later_hits))
    parts.append(_format_reliability("first hits, half of the queries without anything right", report.half_answerable))
    if report.group_averages:
        parts += ["", to_text(_group_table(report.group_averages)).rstrip()]
    parts += ["", to_text(_bin_table(report.first_hits)), to_text(_threshold_table(report.thresholds)).rstrip()]
    if report.threshold_choice:
        parts += ["", _format_threshold_choice(report.threshold_choice)]
    return "\n".join(parts)


def _format_threshold_choice(choice: ThresholdChoice) -> str:
    """Return a line on whether a threshold was chosen, and its precision."""
    if choice.in_sample is None:
        return (
            f"no threshold: a precision of {choice.target_precision:.0%} is out of reach (over at least "
            f"{MIN_HITS_ABOVE} first hits); the archive's similarity threshold stays in force"
        )
    elsewhere, precision = choice.cross_validated, choice.in_sample.precision
    out_of_sample = f"{format_proportion(elsewhere)} of {elsewhere.n:,}" if elsewhere.n else "nothing shown"
    return (
        f"threshold at {choice.in_sample.probability:.3f} for a precision of {choice.target_precision:.0%}: "
        f"{format_proportion(precision)} of {precision.n:,} first hits above it are right; "
        f"on clusters that had no part in picking it: {out_of_sample}"
    )


def _format_saved(threshold: Threshold | None, prevalence: float) -> str:
    """Return how search behaves from now on, and for which questions its probabilities are valid."""
    for_whom = "for questions that were asked before; if only some are, say how many: --prevalence 0.3"
    if prevalence < 1:
        for_whom = f"where {prevalence:.0%} of the questions were asked before"
    shown = "nothing below the archive's similarity threshold"
    if threshold:
        shown = f"nothing below {threshold.probability:.3f} ({threshold.criterion} {threshold.share:.0%})"
    return f"search shows probabilities, and {shown}\nprobabilities hold {for_whom}"


def _format_less_sure(report: CalibrationReport) -> str:
    """Return how sure a calibration on few labels is."""
    labelled = format_count(report.sample.count_labelled(), "labelled question")
    return (
        f"less sure: {labelled}, of {MIN_QUERIES} that are needed, so own titles with a slip and everyday questions "
        "show what right and wrong is; a probability is about the least that it can be, and grades go by scores"
    )


def _format_known(known: KnownTitles) -> str:
    same, before = (BinomialProportion(count, known.n) for count in (known.same, known.same_uncalibrated))
    return (
        f"of {known.n:,} own titles with a slip, {format_proportion(same)} are called the same; "
        f"without the calibration {before.value:.3f}"
    )


def _format_reliability(what: str, reliability: Reliability) -> str:
    low, high = reliability.skill_interval
    return (
        f"{what}: n {reliability.n:,}, base rate {reliability.base_rate:.3f}; "
        f"reliability error {reliability.error:.3f} (exact probabilities would show {reliability.chance:.3f}); "
        f"Brier skill {reliability.skill:+.3f} [{low:+.3f}, {high:+.3f}]; log loss {reliability.log_loss:.3f}"
    )


def _group_table(averages: GroupAverages) -> ResultTable:
    rows = [
        (name, f"{of.n:,}", f"{of.base_rate:.3f}", f"{of.error:.3f}", f"{of.skill:+.3f}")
        for name, of in averages.groups.items()
    ]
    rate, skill = averages.base_rate_interval, averages.skill_interval
    n = sum(each.n for each in averages.groups.values())
    rows.append(
        ("macro average", f"{n:,}", f"{averages.base_rate:.3f}", f"{averages.error:.3f}", f"{averages.skill:+.3f}")
    )
    rows.append(("95 % interval", "", f"{rate[0]:.3f} – {rate[1]:.3f}", "", f"{skill[0]:+.3f} – {skill[1]:+.3f}"))
    notes = ("each query is ranked within its group; intervals: clusters drawn with replacement within each group",)
    return ResultTable("first hits, group by group", ("group", "n", "right", "error", "Brier skill"), rows, notes)


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
