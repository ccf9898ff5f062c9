"""How an experiment shows how far it is: whoever runs it may open a bar for each thing it does."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from askalike.archive.track import T, Track
from askalike.rankers._ranker import Progress

Watch = Callable[[str], AbstractContextManager[Progress | None]]
"""Opens a bar, given what is being done; bars may lie within each other."""

EVERY = 500


@contextmanager
def unwatched(doing: str) -> Iterator[None]:
    """A Watch that shows nothing."""
    yield None


def tracked(watch: Watch) -> Track:
    """A Track that shows its items in the bars of a Watch."""

    def track(sequence: Iterable[T], /, *, total: int, description: str) -> Iterable[T]:
        with watch(description) as report:
            for done, item in enumerate(sequence, 1):
                yield item
                if report and (done % EVERY == 0 or done == total):
                    report(done, total)

    return track
