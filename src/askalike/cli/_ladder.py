"""How tuning is shown: a table that fills, one sentence of verdict, and what serves from now on."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askalike.cli._tuned import format_options
from askalike.experiments.measuring import LEADING_MEASURE
from askalike.tuning.ladder_search import CandidateResult, Event, Skipped
from askalike.tuning.run import TuningResult
from askalike.tuning.state import format_duration
from askalike.tuning.task import TuningTask
from askalike.tuning.verdict import format_difference

ROW_FORMAT = "{:<52} {:>9} {:>9} {:>8}  {}"


class TuningPrinter:
    """Prints each event as it comes."""

    def __init__(self, directory: Path, measure: str, quiet: bool = False) -> None:
        self.directory, self.measure, self.quiet = directory, measure, quiet

    def __call__(self, event: Event) -> None:
        """One line, or the table's head."""
        if self.quiet:
            return
        line = (
            self._format_header(event)
            if isinstance(event, TuningTask)
            else _format_trial(event)
            if isinstance(event, CandidateResult)
            else _format_skipped(event)
        )
        print(line, flush=True)

    def _format_header(self, task: TuningTask) -> str:
        n = len(task.dev.qrels)
        how = (
            "choose and measure, in nested folds" if task.test is None else f"choose, {len(task.test.qrels):,} measure"
        )
        remarks = "".join(f"{remark}\n" for remark in task.remarks)
        first = f"{self.measure} on {self.directory}, {task.name}: {n:,} queries {how}\n{remarks}"
        return f"{first}\n{ROW_FORMAT.format('ranker', self.measure, LEADING_MEASURE, 'time', 'settings').rstrip()}"


def _format_trial(event: CandidateResult) -> str:
    settings = {k: v for k, v in event.trial.settings.items() if k in ("weights",) or ("." not in k and k != "parts")}
    chooses, shown = f"{100 * event.mean:.1f}", f"{100 * event.reported_mean:.1f} %"
    return ROW_FORMAT.format(
        event.candidate.name, chooses, shown, format_duration(event.seconds), format_options(settings)
    ).rstrip()


def _format_skipped(event: Skipped) -> str:
    return f"{event.name}: left out: {event.reason}"


def format_outcome(outcome: TuningResult, directory: Path) -> str:
    """The verdict, the difference to the encoder alone, the folds' choices, and what the calibration is worth."""
    verdict = outcome.verdict
    lines = ["", verdict.sentence]
    if verdict.difference_to_encoder:
        d = verdict.difference_to_encoder
        lines.append(f"over the pre-trained encoder alone, {verdict.measure}: {format_difference(d)}, n = {d.n:,}")
    if verdict.fold_choices:
        lines.append(
            "folds chose " + "; ".join(f"{n} × {name}" for name, n in Counter(verdict.fold_choices).most_common())
        )
    lines += ["", _format_calibration(outcome), f'search, rank and serve use it: askalike search {directory} "…"']
    return "\n".join(lines)


def _format_calibration(outcome: TuningResult) -> str:
    if outcome.calibration_result is None:
        return f"not calibrated: {outcome.uncalibrated_reason}"
    first = outcome.calibration_result.first_hits
    low, high = first.skill_interval
    return (
        f"calibrated: reliability error {first.error:.3f} (exact probabilities would show {first.chance:.3f}), Brier "
        f"skill {first.skill:+.3f} [{low:+.3f}, {high:+.3f}], n = {first.n:,}"
    )


def outcome_as_dict(outcome: TuningResult) -> Mapping[str, Any]:
    """Everything, for JSON."""
    tried = [
        {
            "name": t.candidate.name, "ranker": t.trial.ranker, "settings": dict(t.trial.settings), "mean": t.mean,
            "shown": t.reported_mean, "n": t.n, "seconds": round(t.seconds, 1), "trials": len(t.candidate.trials),
        }
        for t in outcome.candidate_results
    ]  # fmt: skip
    return {
        **outcome.verdict.as_dict(),
        "tried": tried,
        "left_out": [{"name": left.name, "why": left.reason} for left in outcome.skipped],
        "calibration": outcome.calibration_result and outcome.calibration_result.as_dict(),
        "uncalibrated": outcome.uncalibrated_reason,
        "seconds": round(outcome.spent_s, 1),
    }
