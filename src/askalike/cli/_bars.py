"""Bars within bars on stderr, only where a person is watching: what is being done, and how long it takes yet."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from askalike.types import Progress as Report

BAR_COLUMNS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())


@contextmanager
def nested_progress_bars() -> Iterator[Callable[[str], AbstractContextManager[Report | None]]]:
    """A function that opens a bar, given what is being done; a bar vanishes when it is closed."""
    console = Console(stderr=True)
    with Progress(*BAR_COLUMNS, console=console, transient=True, disable=not sys.stderr.isatty()) as progress:

        @contextmanager
        def opened(doing: str) -> Iterator[Report]:
            task = progress.add_task(doing, total=None)
            try:
                yield lambda done, total: progress.update(task, completed=done, total=total)
            finally:
                progress.remove_task(task)

        yield opened
