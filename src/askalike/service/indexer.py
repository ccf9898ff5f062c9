"""The one process that follows the archives' changes and commits them to their indexes, and puts up likely duplicates.

Where another ranker is put into service, it has that one's index built by a process of its own, goes on following with
the one before, and then says that the new one is to be used.
"""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from askalike.archive.serving import Served, served, use
from askalike.archive.store import Archive
from askalike.curation.proposing import Proposer
from askalike.engines._calibration import stamp
from askalike.errors import AskalikeError, IndexBusyError
from askalike.service.building import Builder
from askalike.service.served import ranker_of
from askalike.service.settings import ServiceSettings

EVERY_S = 0.1
"""How often it looks for changes."""
GATHER_S = 0.5
"""How long it gathers changes after it has committed some: each commit has every worker open the index anew."""
RETRY_S = 5
"""How long it waits where they cannot be indexed: the disk may be full, what was indexed before still serves."""
IDLE_S = 2
"""How long it waits before it looks for duplicates again, where there was nothing to look at."""

FAILED_S = 60
"""How long it waits where it could not."""


class Indexer:
    """Keeps one archive's index up to date."""

    def __init__(self, path: Path, settings: ServiceSettings) -> None:
        self._settings = settings
        self._archive = Archive.open(path)
        self._view = self._archive.view()
        self._served = None if settings.ranker else served(self._archive)
        self._ranker = ranker_of(settings, path, self._served)
        self._done, self._due = -1, 0.0
        self._builder = Builder(settings, path)
        self._proposer: tuple[int, Proposer] | None = None
        self._propose_at = time.monotonic() + IDLE_S

    def begin(self) -> None:
        """Indexes what is new, and says which ranker is to be used."""
        self.follow()
        if self._settings.ranker is None:
            use(self._archive, _number(self._served))

    def follow(self) -> None:
        """Applies what has changed. Another process that is indexing already does as well."""
        change = self._view.change
        if change == self._done or time.monotonic() < self._due:
            return
        try:
            self._ranker.index(self._view)
            self._done, self._due = change, time.monotonic() + GATHER_S
        except IndexBusyError as busy:
            if not busy.searchable:
                raise

    def swap(self) -> None:
        """Where another ranker is in service, has its index built, and says that it is to be used once that is done."""
        now = served(self._archive)
        if _number(now) == _number(self._served):
            return
        if self._settings.ranker:
            named = f"this service was started with --ranker {self._ranker.name} and stays with it"
            _say(f"{self._archive.path}: {_name(now)} was put into service; {named}")
            self._served = now
        elif self._builder.built(_number(now)):
            self._ranker, self._served = ranker_of(self._settings, self._archive.path, now), now
            self._done, self._due, self._proposer = -1, 0.0, None
            self.begin()

    def propose(self) -> None:
        """Looks for duplicates among a few questions, for no more than its share of the time."""
        started = time.monotonic()
        if not self._settings.propose or started < self._propose_at:
            return
        self._propose_at, mark = started + FAILED_S, stamp(self._archive, self._ranker)
        if self._proposer is None or self._proposer[0] != mark:
            self._proposer = mark, Proposer(self._archive, self._ranker)
        if self._proposer[1].step():
            now = time.monotonic()
            self._propose_at = now + (now - started) * (1 / self._settings.propose - 1)
        else:
            self._propose_at = started + IDLE_S


def indexers(settings: ServiceSettings) -> Sequence[Indexer]:
    """One for each archive of a service, none of which has done anything yet."""
    return [Indexer(path, settings) for path in settings.folders().values()]


def run(settings: ServiceSettings) -> None:
    """Indexes what is new, says `ready` on standard output, and goes on following until it is ended."""
    each = indexers(settings)
    for indexer in each:
        indexer.begin()
    print("ready", flush=True)
    while True:
        time.sleep(EVERY_S)
        for indexer in each:
            if not _done(indexer.follow):
                time.sleep(RETRY_S)
            _done(indexer.swap)
            _done(indexer.propose)


def _done(work: Callable[[], None]) -> bool:
    """Whether the work was done; what was in its way is said."""
    try:
        work()
    except AskalikeError as error:
        _say(str(error))
        return False
    return True


def _say(what: str) -> None:
    print(f"askalike: {what}", file=sys.stderr, flush=True)


def _number(served: Served | None) -> int | None:
    return served.number if served else None


def _name(served: Served | None) -> str:
    return served.ranker if served else "the default ranker"
