"""How tuning is shown: a table that fills, one sentence of verdict, and what serves from now on."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askalike.cli._tuned import pasted
from askalike.tune.bench import SHOWN
from askalike.tune.budget import spoken
from askalike.tune.climb import Event, Left, Tried
from askalike.tune.run import Outcome
from askalike.tune.task import Task
from askalike.tune.verdict import points

COLUMNS = "{:<52} {:>9} {:>9} {:>8}  {}"


class Shown:
    """Prints each event as it comes."""

    def __init__(self, directory: Path, measure: str, quiet: bool = False) -> None:
        self.directory, self.measure, self.quiet = directory, measure, quiet

    def __call__(self, event: Event) -> None:
        """One line, or the table's head."""
        if self.quiet:
            return
        line = (
            self._head(event)
            if isinstance(event, Task)
            else _tried(event)
            if isinstance(event, Tried)
            else _left(event)
        )
        print(line, flush=True)

    def _head(self, task: Task) -> str:
        n = len(task.dev.qrels)
        how = (
            "choose and measure, in nested folds" if task.test is None else f"choose, {len(task.test.qrels):,} measure"
        )
        remarks = "".join(f"{remark}\n" for remark in task.remarks)
        first = f"{self.measure} on {self.directory}, {task.name}: {n:,} queries {how}\n{remarks}"
        return f"{first}\n{COLUMNS.format('ranker', self.measure, SHOWN, 'time', 'settings').rstrip()}"


def _tried(event: Tried) -> str:
    settings = {k: v for k, v in event.trial.settings.items() if k in ("weights",) or ("." not in k and k != "parts")}
    chooses, shown = f"{100 * event.mean:.1f}", f"{100 * event.shown:.1f} %"
    return COLUMNS.format(event.candidate.name, chooses, shown, spoken(event.seconds), pasted(settings)).rstrip()


def _left(event: Left) -> str:
    return f"{event.name}: left out: {event.why}"


def ending(outcome: Outcome, directory: Path) -> str:
    """The verdict, the difference to the encoder alone, the folds' choices, and what the calibration is worth."""
    verdict = outcome.verdict
    lines = ["", verdict.sentence]
    if verdict.over_encoder:
        d = verdict.over_encoder
        lines.append(f"over the pre-trained encoder alone, {verdict.measure}: {points(d)}, n = {d.n:,}")
    if verdict.folds:
        lines.append("folds chose " + "; ".join(f"{n} × {name}" for name, n in Counter(verdict.folds).most_common()))
    lines += ["", _calibrated(outcome), f'search, rank and serve use it: askalike search {directory} "…"']
    return "\n".join(lines)


def _calibrated(outcome: Outcome) -> str:
    if outcome.calibrated is None:
        return f"not calibrated: {outcome.uncalibrated}"
    first = outcome.calibrated.first
    low, high = first.skill_interval
    return (
        f"calibrated: reliability error {first.error:.3f} (exact probabilities would show {first.chance:.3f}), Brier "
        f"skill {first.skill:+.3f} [{low:+.3f}, {high:+.3f}], n = {first.n:,}"
    )


def as_dict(outcome: Outcome) -> Mapping[str, Any]:
    """Everything, for JSON."""
    tried = [
        {
            "name": t.candidate.name, "ranker": t.trial.ranker, "settings": dict(t.trial.settings), "mean": t.mean,
            "shown": t.shown, "n": t.n, "seconds": round(t.seconds, 1), "trials": len(t.candidate.trials),
        }
        for t in outcome.tried
    ]  # fmt: skip
    return {
        **outcome.verdict.as_dict(),
        "tried": tried,
        "left_out": [{"name": left.name, "why": left.why} for left in outcome.left],
        "calibration": outcome.calibrated and outcome.calibrated.as_dict(),
        "uncalibrated": outcome.uncalibrated,
        "seconds": round(outcome.spent_s, 1),
    }
