"""Progress bars on stderr, only where a person is watching."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress

from askalike.store.tracking import ProgressTracker


@contextmanager
def track_progress() -> Iterator[ProgressTracker]:
    """A `track` that draws one bar for each pass; the bars vanish at the end."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not sys.stderr.isatty()) as bars:
        yield bars.track
