"""The report of a backtest: text, and a folder with a page, JSON, and the sample of comments to judge."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from askalike import InputError
from askalike.plugin.commands import format_count, write_atomically
from askalike.plugin.measuring import BinomialProportion, ResultTable, to_text, write_table
from askalike_research.pages import render
from askalike_research.replay.backtest import AskedQuestion, Backtest, Kind, ThresholdOutcome
from askalike_research.replay.judging import QUESTION_COLUMN, RIGHT_COLUMN, draw_comments
from askalike_research.replay.replay import WORDING_REMARK

HEADINGS: Mapping[Kind, str] = {
    "right": "Right comments: the labels say so",
    "unconfirmed": "Comments that no label confirms",
    "missed": "Missed: asked before, and no comment names the original",
}
PAGE = Path(__file__).parent / "templates" / "backtest.html"
SAMPLE_FILE = "sample.csv"


def to_table(backtest: Backtest) -> ResultTable:
    """Return a row for what is graded the same, and one per threshold."""
    has_labels = backtest.asked_before > 0
    is_judged = bool(backtest.judged)
    columns = [backtest.scale, "comments"]
    columns += ["right by labels", "asked before, found", "missed"] if has_labels else []
    columns += ["right, with the sample"] if is_judged else []
    rows = []
    for outcome in (backtest.same, *backtest.outcomes):
        row = [_threshold_text(backtest, outcome), f"{outcome.comments:,}"]
        row += [_share(outcome.right), _share(outcome.found), f"{outcome.missed:,}"] if has_labels else []
        rows.append(row + ([_estimate_text(outcome)] if is_judged else []))
    return ResultTable(describe_window(backtest), tuple(columns), rows, tuple(_notes(backtest)))


def describe_window(backtest: Backtest) -> str:
    """Return what was asked, of what, in one line."""
    first, last = backtest.period
    return (
        f"{backtest.ranker} on {backtest.archive}: {format_count(len(backtest.questions), 'question')} from {first} to "
        f"{last}, each searched among those before it (at first {backtest.older:,})"
    )


def to_report(backtest: Backtest) -> str:
    """Return the table and examples of each kind as text."""
    parts = [to_text(to_table(backtest)).rstrip()]
    for kind, heading in HEADINGS.items():
        if examples := backtest.examples(kind):
            parts.append("\n".join([heading, *(line for each in examples for line in _example_lines(each))]))
    return "\n\n".join(parts)


def write_backtest(backtest: Backtest, folder: Path) -> list[Path]:
    """Write backtest.html, backtest.json and sample.csv; return their paths. Raises InputError.

    A sample that is there already is kept: a person may have filled it in.
    """
    page = render(PAGE, backtest=backtest, outcomes=to_table(backtest), headings=HEADINGS)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / "backtest.html", page.encode(errors="replace"))
        write_atomically(folder / "backtest.json", json.dumps(backtest.as_dict(), ensure_ascii=False, indent=1) + "\n")
        if not (folder / SAMPLE_FILE).exists():
            write_sample(backtest, folder / SAMPLE_FILE)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
    return [folder / name for name in ("backtest.html", "backtest.json", SAMPLE_FILE)]


def write_sample(backtest: Backtest, path: Path) -> None:
    """Write comments that no label confirms for a person to judge; their column `right` is empty.

    Raises OSError if the file cannot be written.
    """
    lowest = backtest.thresholds[0]
    asked = {each.question.id: each for each in backtest.questions if each.kind(lowest) == "unconfirmed"}
    comments = [(id, [s.score for s in each.suggestions]) for id, each in asked.items()]
    width = max((len(each.suggestions) for each in asked.values()), default=0)
    header = [QUESTION_COLUMN, RIGHT_COLUMN, "question", *map(str, range(1, width + 1)), "url"]
    rows = [_sample_row(asked[id], width) for id in draw_comments(comments, backtest.thresholds)]
    write_table(path, header, rows, spreadsheet=True)


def _sample_row(asked: AskedQuestion, width: int) -> Sequence[str]:
    titles = [f"{s.question.title} ({s.question.url or s.question.id})" for s in asked.suggestions]
    titles += [""] * (width - len(titles))
    return [asked.question.id, "", asked.question.title, *titles, asked.question.url or ""]


def _notes(backtest: Backtest) -> list[str]:
    n = len(backtest.questions)
    before = backtest.asked_before
    notes = [f"a search takes {backtest.median_ms:.0f} ms (median); {WORDING_REMARK}"]
    if before:
        notes.insert(0, f"{before:,} of {n:,} had been asked before, according to the archive's duplicate links")
    else:
        notes.insert(0, "no question of these is linked to an older one: judge a sample, see sample.csv of -o FOLDER")
    if share := backtest.precision or backtest.guarantee:
        reached = "the threshold is marked *" if backtest.guaranteed else "no threshold reaches it"
        target = "precision" if backtest.precision else "guarantee"
        notes.append(f"for a {target} of {share:.0%}, calibrated on what is older: {reached}")
    if backtest.prevalence is None:
        notes.append("older labels do not suffice for probabilities: scores are similarities from 0 to 1")
    else:
        notes.append(f"probabilities are those of askalike calibrate --prevalence {backtest.prevalence:.2g}")
    return notes


def _threshold_text(backtest: Backtest, outcome: ThresholdOutcome) -> str:
    if outcome.threshold is None:
        return "same"
    return f"{outcome.threshold:#.2g}{'*' if outcome.threshold == backtest.guaranteed else ''}"


def _share(proportion: BinomialProportion) -> str:
    if not proportion.n:
        return "-"
    low, high = (f"{100 * bound:.0f}" for bound in proportion.interval)
    return f"{proportion.count:,} of {proportion.n:,}: {100 * proportion.value:.0f} % ({low}–{high})"


def _estimate_text(outcome: ThresholdOutcome) -> str:
    estimate = outcome.estimate
    if estimate is None:
        return "-" if outcome.threshold is None else "too few judged"
    bounds = f"{100 * estimate.low:.0f}–{100 * estimate.high:.0f}"
    return f"{100 * estimate.value:.0f} % ({bounds}), {estimate.judged} judged"


def _example_lines(asked: AskedQuestion) -> list[str]:
    lines = [f"  {asked.question.title}"]
    best = next((s for s in asked.suggestions if s.is_right), asked.suggestions[0] if asked.suggestions else None)
    return lines + ([f"    {best.score:.2f}  {best.question.title}"] if best else ["    nothing found"])
