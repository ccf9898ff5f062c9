"""Progress bars on stderr, only where a person is watching."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress

from askalike.archive.track import Track


@contextmanager
def progress() -> Iterator[Track]:
    """A `track` that draws one bar for each pass; the bars vanish at the end."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not sys.stderr.isatty()) as bars:
        yield bars.track
