"""How tuned settings are shown: two lines of figures a ranker, and the settings ready to be pasted."""

from collections import Counter
from pathlib import Path

from askalike.evaluation.outcome import Evaluation
from askalike.experiments.nested_estimate import TuningEstimate
from askalike.experiments.trials import RankerSettings

ROW_FORMAT = "{:<18} {:<5} {:>6}  {:<22}  {:<22}  {:<28}  {}"
NOTES = (
    "dev: the queries that chose the settings, so its tuned figures flatter; test: queries that had no part in it\n"
    "(…–…): 95 % bootstrap interval over queries; p: two-sided paired randomisation test of tuned against untuned"
)


def format_heading(directory: Path, measure: str, dev: str, test: str | None, n: int, folds: int, seed: int) -> str:
    """What is done, in one line."""
    if test:
        return f"{measure} on {directory}: settings chosen on split {dev} ({n} queries), measured once on split {test}"
    return (
        f"{measure} on {directory}, split {dev} ({n} queries): nested cross-validation, {folds} folds that keep "
        f"duplicate clusters whole, seed {seed}"
    )


def format_table_header() -> str:
    """The table's first line."""
    return ROW_FORMAT.format("ranker", "on", "n", "untuned", "tuned", "difference", "p").rstrip()


def format_rows(result: TuningEstimate) -> str:
    """A ranker's lines of the table."""
    pair = result.difference
    difference = f"{pair.difference:+.4f} ({pair.low:+.4f} to {pair.high:+.4f})"
    lines = [
        _format_figures(result, "dev", result.best.ranker, "", ""),
        _format_figures(result, "test", "", difference, f"{pair.p:.4f}"),
        f"    best of {len(result.best.trials)}: --ranker {result.best.ranker} {format_options(result.best.settings)}",
    ]
    if result.fold_settings:
        chosen = Counter(format_options(settings) for settings in result.fold_settings).most_common()
        lines.append("    folds chose " + "; ".join(f"{n} × {settings}" for settings, n in chosen))
    if result.n_leaked:
        lines.append(f"    {result.n_leaked} test queries are duplicates of what dev queries ask: test figures flatter")
    return "\n".join(lines)


def format_options(settings: RankerSettings) -> str:
    """Settings as options: `--set k1=0.9 --set b=0.3`."""
    return " ".join(f"--set {name}={_format_value(value)}" for name, value in settings.items())


def _format_value(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(_format_value, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _format_figures(result: TuningEstimate, part: str, ranker: str, difference: str, p: str) -> str:
    untuned, tuned = result.untuned[part], result.tuned[part]
    return ROW_FORMAT.format(
        ranker, part, tuned.n, _format_interval(untuned), _format_interval(tuned), difference, p
    ).rstrip()


def _format_interval(evaluation: Evaluation) -> str:
    [(name, mean)] = evaluation.means.items()
    return "{:.4f} ({:.4f}–{:.4f})".format(mean, *evaluation.intervals[name])
