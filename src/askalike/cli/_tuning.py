"""Output of tuning: the candidates with the outcome, and the tuned settings of lexical rankers."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askalike.calibration.calibrate import CalibrationReport
from askalike.core.counts import format_count
from askalike.evaluation.outcome import Evaluation
from askalike.experiments.grid_search import TuningEstimate
from askalike.experiments.measuring import LEADING_MEASURE
from askalike.experiments.trials import RankerSettings
from askalike.tuning.run import TuningResult
from askalike.tuning.state import format_duration
from askalike.tuning.successive_candidates import CandidateResult, Event
from askalike.tuning.task import TuningTask
from askalike.tuning.verdict import format_difference

TRIAL_FORMAT = "{:<52} {:>9} {:>9} {:>8}  {}"
ESTIMATE_FORMAT = "{:<18} {:<5} {:>6}  {:<22}  {:<22}  {:<28}  {}"
ESTIMATE_HEADER = ESTIMATE_FORMAT.format("ranker", "on", "n", "untuned", "tuned", "difference", "p").rstrip()
ESTIMATE_NOTES = (
    "dev: the queries that chose the settings, so its tuned figures flatter; test: queries that had no part in it\n"
    "(…–…): 95 % bootstrap interval over queries; p: two-sided paired randomisation test of tuned against untuned"
)


class TuningPrinter:
    """Prints each event of the search as it occurs: the table's header, then one line per candidate."""

    def __init__(self, directory: Path, measure: str, quiet: bool = False) -> None:
        self.directory, self.measure, self.quiet = directory, measure, quiet

    def __call__(self, event: Event) -> None:
        """Print one event."""
        if not self.quiet:
            print(self._format_event(event), flush=True)

    def _format_event(self, event: Event) -> str:
        if isinstance(event, TuningTask):
            return self._format_header(event)
        if isinstance(event, CandidateResult):
            return _format_trial(event)
        return f"{event.name}: left out: {event.reason}"

    def _format_header(self, task: TuningTask) -> str:
        n = len(task.dev.qrels)
        how = f"choose, {len(task.test.qrels):,} measure" if task.test else "choose and measure, in nested folds"
        remarks = "".join(f"{remark}\n" for remark in task.remarks)
        first = f"{self.measure} on {self.directory}, {task.name}: {format_count(n, 'query')} {how}\n{remarks}"
        return f"{first}\n{TRIAL_FORMAT.format('ranker', self.measure, LEADING_MEASURE, 'time', 'settings').rstrip()}"


def _format_trial(event: CandidateResult) -> str:
    means = f"{100 * event.mean:.1f}", f"{100 * event.reported_mean:.1f} %"
    columns = (event.candidate.name, *means, format_duration(event.seconds), format_settings(event.trial.settings))
    return TRIAL_FORMAT.format(*columns).rstrip()


def format_outcome(outcome: TuningResult, directory: Path) -> str:
    """Return the outcome, the difference to the encoder alone, the folds' choices, and the calibration's quality."""
    verdict, report = outcome.verdict, outcome.calibration_result
    calibration = _format_calibration(report) if report else f"not calibrated: {outcome.uncalibrated_reason}"
    over_words = format_difference(verdict.difference_to_lexical, f" over {verdict.best_lexical_name}")
    lines = ["", verdict.sentence, f"the best lexical ranker, {verdict.measure}: {over_words}"]
    if verdict.difference_to_encoder:
        d = verdict.difference_to_encoder
        lines.append(f"over the pre-trained encoder alone, {verdict.measure}: {format_difference(d)}, n = {d.n:,}")
    if verdict.fold_choices:
        lines.append(_format_choices(Counter(verdict.fold_choices)))
    lines += ["", calibration, f'search, rank and serve use it: askalike search {directory} "…"']
    return "\n".join(lines)


def _format_calibration(report: CalibrationReport) -> str:
    first = report.first_hits
    low, high = first.skill_interval
    return (
        f"calibrated: reliability error {first.error:.3f} (exact probabilities would show {first.chance:.3f}), Brier "
        f"skill {first.skill:+.3f} [{low:+.3f}, {high:+.3f}], n = {first.n:,}"
    )


def outcome_as_dict(outcome: TuningResult) -> Mapping[str, Any]:
    """Return everything about an outcome, for JSON."""
    tried = [
        {
            "name": t.candidate.name, "ranker": t.trial.ranker, "settings": dict(t.trial.settings), "mean": t.mean,
            "reported_mean": t.reported_mean, "n": t.n,
            "seconds": round(t.seconds, 1), "trials": len(t.candidate.trials),
        }
        for t in outcome.candidate_results
    ]  # fmt: skip
    return {
        **outcome.verdict.as_dict(),
        "candidates": tried,
        "skipped": [{"name": skipped.name, "reason": skipped.reason} for skipped in outcome.skipped],
        "calibration": outcome.calibration_result and outcome.calibration_result.as_dict(),
        "uncalibrated_reason": outcome.uncalibrated_reason,
        "seconds": round(outcome.spent_s, 1),
    }


def format_estimate_heading(
    directory: Path, measure: str, dev: str, test: str | None, n: int, folds: int, seed: int
) -> str:
    """Return a one-line summary of the work of `tune --only lexical`."""
    split = f"split {dev} ({format_count(n, 'query')})"
    if test:
        return f"{measure} on {directory}: settings chosen on {split}, measured once on split {test}"
    how = f"nested cross-validation, {format_count(folds, 'fold')} that keep duplicate clusters whole, seed {seed}"
    return f"{measure} on {directory}, {split}: {how}"


def format_estimate(result: TuningEstimate) -> str:
    """Return a ranker's lines in the table of estimates: two of figures, and its settings as options to paste."""
    pair = result.difference
    difference = f"{pair.difference:+.4f} ({pair.low:+.4f} to {pair.high:+.4f})"
    lines = [
        _format_figures(result, "dev", result.best.ranker, "", ""),
        _format_figures(result, "test", "", difference, f"{pair.p:.4f}"),
        f"    best of {len(result.best.trials)}: --ranker {format_ranker(result.best.ranker, result.best.settings)}",
    ]
    if result.fold_settings:
        lines.append(f"    {_format_choices(Counter(map(format_settings, result.fold_settings)))}")
    if result.n_leaked:
        leaked = format_count(result.n_leaked, "test query")
        lines.append(f"    test figures flatter: {leaked} with a duplicate among what dev queries ask")
    return "\n".join(lines)


def format_ranker(name: str, settings: RankerSettings) -> str:
    """Return a ranker and its settings in the form of `--ranker`: `bm25 --set k1=0.9`."""
    return " ".join(filter(None, (name, format_settings(settings))))


def format_settings(settings: RankerSettings) -> str:
    """Return settings as options: `--set k1=0.9 --set b=0.3`."""
    return " ".join(f"--set {name}={_format_value(value)}" for name, value in settings.items())


def _format_value(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(_format_value, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _format_choices(choices: Counter[str]) -> str:
    return "folds chose " + "; ".join(f"{n} × {choice}" for choice, n in choices.most_common())


def _format_figures(result: TuningEstimate, part: str, ranker: str, difference: str, p: str) -> str:
    untuned, tuned = result.untuned[part], result.tuned[part]
    columns = (ranker, part, tuned.n, _format_interval(untuned), _format_interval(tuned), difference, p)
    return ESTIMATE_FORMAT.format(*columns).rstrip()


def _format_interval(evaluation: Evaluation) -> str:
    [(name, mean)] = evaluation.means.items()
    return "{:.4f} ({:.4f}–{:.4f})".format(mean, *evaluation.intervals[name])
