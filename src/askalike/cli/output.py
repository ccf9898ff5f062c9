"""Output shared by all commands: JSON, figures, remarks, and progress on stderr.

On a terminal progress is drawn as bars, which vanish when the work is done; otherwise it is printed as lines.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from askalike.core.iteration import LogCallback, OpenBar, Progress, ProgressTracker, log_progress
from askalike.core.output import escape_controls, raw_stream
from askalike.evaluation.intervals import BinomialProportion

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

NO_RESULT_MESSAGE = "nothing similar: no question of the archive is like this one"


def to_json(value: Any) -> str:
    """Return JSON for stdout: on one line for a program, indented for a terminal."""
    return json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None)


def print_remark(line: str) -> None:
    """Print one line on stderr."""
    print(line, file=sys.stderr, flush=True)


def open_console(**options: Any) -> "Console":
    """Return a console of rich that styles text, and escapes control characters in it."""
    from rich.console import Console
    from rich.segment import Segment

    class SafeConsole(Console):
        def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else escape_controls(text), style, control)

    stream = sys.stderr if options.get("stderr") else sys.stdout
    return SafeConsole(file=raw_stream(stream), **options)


def plain_table(*columns: str) -> "Table":
    """Return a table without lines. columns: their names, with > before those of figures; none without a header."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="", show_header=bool(columns))
    for name in columns:
        table.add_column(name.removeprefix(">"), justify="right" if name.startswith(">") else "left")
    return table


def format_proportion(proportion: BinomialProportion) -> str:
    """Return `0.913 [0.850, 0.951]`: the share and its 95 % interval; `-` if n is 0."""
    low, high = proportion.interval
    return f"{proportion.value:.3f} [{low:.3f}, {high:.3f}]" if proportion.n else "-"


def describe_untuned(n: int, directory: object) -> str:
    """Return what to do with duplicate links that `tune` has not seen; n: their number."""
    return f"{n:,} known duplicates: askalike tune {directory} would probably find more (on one site 14 more of 100)"


@contextmanager
def progress_bar(description: str) -> Iterator[Progress | None]:
    """Yield a callback that takes (done, total): it draws one bar, or prints lines if stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield log_progress(description + ": {:,} of {:,}", print_remark)
        return
    with nested_progress_bars() as open_bar, open_bar(description) as report:
        yield report


@contextmanager
def nested_progress_bars() -> Iterator[OpenBar]:
    """Yield a function that opens a bar with a description; bars may be nested."""
    with _display(*_counting_columns()) as display:

        @contextmanager
        def open_bar(description: str) -> Iterator[Progress]:
            task = display.add_task(description, total=None)
            try:
                yield lambda done, total: display.update(task, completed=done, total=total)
            finally:
                display.remove_task(task)

        yield open_bar


@contextmanager
def progress_tracker() -> Iterator[ProgressTracker]:
    """Yield a tracker that draws one bar for each pass over items."""
    with _display(*_counting_columns()) as display:
        yield display.track


@contextmanager
def byte_progress_bar() -> Iterator[Callable[[int, int], None]]:
    """Yield a callback that takes the bytes read and expected, and shows the rate and the time left."""
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn

    with _display(BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()) as display:
        task = display.add_task("", total=None)
        yield lambda done, total: display.update(task, completed=min(done, total), total=total or None)


def lines_without_terminal() -> LogCallback:
    """Return a function that prints lines on stderr if it is not a terminal, on which bars are drawn."""
    return (lambda line: None) if sys.stderr.isatty() else print_remark


def _counting_columns() -> tuple[Any, ...]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    return TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()


def _display(*columns: Any) -> Any:
    """Return the display of the bars on stderr (rich's `Progress`), to be used in a `with` block."""
    from rich.progress import Progress as Display

    return Display(*columns, console=open_console(stderr=True), transient=True, disable=not sys.stderr.isatty())


def format_ranker(name: str, settings: Mapping[str, Any]) -> str:
    """Return a ranker and its settings in the form of `--ranker`: `bm25 --set k1=0.9`."""
    return " ".join(filter(None, (name, format_settings(settings))))


def format_settings(settings: Mapping[str, Any]) -> str:
    """Return settings as options: `--set k1=0.9 --set b=0.3`."""
    return " ".join(f"--set {name}={_format_value(value)}" for name, value in settings.items())


def _format_value(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(_format_value, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
