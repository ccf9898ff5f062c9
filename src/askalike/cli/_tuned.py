"""How tuned settings are shown: two lines of figures a ranker, and the settings ready to be pasted."""

from collections import Counter
from pathlib import Path

from askalike.evaluation.outcome import Evaluation
from askalike.experiment.estimate import Estimate
from askalike.experiment.tuning import Settings

COLUMNS = "{:<18} {:<5} {:>6}  {:<22}  {:<22}  {:<28}  {}"
NOTES = (
    "dev: the queries that chose the settings, so its tuned figures flatter; test: queries that had no part in it\n"
    "(…–…): 95 % bootstrap interval over queries; p: two-sided paired randomisation test of tuned against untuned"
)


def heading(directory: Path, measure: str, dev: str, test: str | None, n: int, folds: int, seed: int) -> str:
    """What is done, in one line."""
    if test:
        return f"{measure} on {directory}: settings chosen on split {dev} ({n} queries), measured once on split {test}"
    return (
        f"{measure} on {directory}, split {dev} ({n} queries): nested cross-validation, {folds} folds that keep "
        f"duplicate clusters whole, seed {seed}"
    )


def header() -> str:
    """The table's first line."""
    return COLUMNS.format("ranker", "on", "n", "untuned", "tuned", "difference", "p").rstrip()


def row(result: Estimate) -> str:
    """A ranker's lines of the table."""
    pair = result.difference
    difference = f"{pair.difference:+.4f} ({pair.low:+.4f} to {pair.high:+.4f})"
    lines = [
        _figures(result, "dev", result.chosen.ranker, "", ""),
        _figures(result, "test", "", difference, f"{pair.p:.4f}"),
        f"    best of {len(result.chosen.trials)}: --ranker {result.chosen.ranker} {pasted(result.chosen.settings)}",
    ]
    if result.folds:
        chosen = Counter(pasted(settings) for settings in result.folds).most_common()
        lines.append("    folds chose " + "; ".join(f"{n} × {settings}" for settings, n in chosen))
    if result.shared:
        lines.append(f"    {result.shared} test queries are duplicates of what dev queries ask: test figures flatter")
    return "\n".join(lines)


def pasted(settings: Settings) -> str:
    """Settings as options: `--set k1=0.9 --set b=0.3`."""
    return " ".join(f"--set {name}={_typed(value)}" for name, value in settings.items())


def _typed(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(_typed, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _figures(result: Estimate, on: str, ranker: str, difference: str, p: str) -> str:
    untuned, tuned = result.untuned[on], result.tuned[on]
    return COLUMNS.format(ranker, on, tuned.n, _interval(untuned), _interval(tuned), difference, p).rstrip()


def _interval(evaluation: Evaluation) -> str:
    [(name, mean)] = evaluation.means.items()
    return "{:.4f} ({:.4f}–{:.4f})".format(mean, *evaluation.intervals[name])
