"""The one process that follows the archives' changes and commits them to their indexes, and puts up likely duplicates.

Where another ranker is put into service, it has that one's index built by a process of its own, goes on following with
the one before, and then says that the new one is to be used.
"""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from askalike.calibration.calibration import calibration_version
from askalike.errors import AskalikeError, IndexBusyError
from askalike.moderation.duplicate_finder import Proposer
from askalike.service.processes.builder import IndexBuilder
from askalike.service.settings import ServiceSettings
from askalike.service.state.engine_state import resolve_ranker
from askalike.store.archive import Archive
from askalike.store.deployments import ServedRanker, get_served_ranker, mark_ready

POLL_S = 0.1
"""How often it looks for changes."""
BATCH_WINDOW_S = 0.5
"""How long it gathers changes after it has committed some: each commit has every worker open the index anew."""
RETRY_S = 5
"""How long it waits where they cannot be indexed: the disk may be full, what was indexed before still serves."""
IDLE_S = 2
"""How long it waits before it looks for duplicates again, where there was nothing to look at."""

PROPOSE_RETRY_S = 60
"""How long it waits where it could not."""


class Indexer:
    """Keeps one archive's index up to date."""

    def __init__(self, path: Path, settings: ServiceSettings) -> None:
        self._settings = settings
        self._archive = Archive.open(path)
        self._view = self._archive.view()
        self._served = None if settings.ranker else get_served_ranker(self._archive)
        self._ranker = resolve_ranker(settings, path, self._served)
        self._indexed_change, self._next_commit_at = -1, 0.0
        self._builder = IndexBuilder(settings, path)
        self._proposer: tuple[int, Proposer] | None = None
        self._propose_at = time.monotonic() + IDLE_S

    def index_and_activate(self) -> None:
        """Indexes what is new, and says which ranker is to be used."""
        self.index_changes()
        if self._settings.ranker is None:
            mark_ready(self._archive, _served_number(self._served))

    def index_changes(self) -> None:
        """Applies what has changed. Another process that is indexing already does as well."""
        change = self._view.change
        if change == self._indexed_change or time.monotonic() < self._next_commit_at:
            return
        try:
            self._ranker.build(self._view)
            self._indexed_change, self._next_commit_at = change, time.monotonic() + BATCH_WINDOW_S
        except IndexBusyError as busy:
            if not busy.searchable:
                raise

    def switch_ranker(self) -> None:
        """Where another ranker is in service, has its index built, and says that it is to be used once that is done."""
        now = get_served_ranker(self._archive)
        if _served_number(now) == _served_number(self._served):
            return
        if self._settings.ranker:
            named = f"this service was started with --ranker {self._ranker.name} and stays with it"
            _print_message(f"{self._archive.path}: {_served_name(now)} was put into service; {named}")
            self._served = now
        elif self._builder.ensure_built(_served_number(now)):
            self._ranker, self._served = resolve_ranker(self._settings, self._archive.path, now), now
            self._indexed_change, self._next_commit_at, self._proposer = -1, 0.0, None
            self.index_and_activate()

    def propose_duplicates(self) -> None:
        """Looks for duplicates among a few questions, for no more than its share of the time."""
        started = time.monotonic()
        if not self._settings.propose or started < self._propose_at:
            return
        self._propose_at, mark = started + PROPOSE_RETRY_S, calibration_version(self._archive, self._ranker)
        if self._proposer is None or self._proposer[0] != mark:
            self._proposer = mark, Proposer(self._archive, self._ranker)
        if self._proposer[1].step():
            now = time.monotonic()
            self._propose_at = now + (now - started) * (1 / self._settings.propose - 1)
        else:
            self._propose_at = started + IDLE_S


def create_indexers(settings: ServiceSettings) -> Sequence[Indexer]:
    """One for each archive of a service, none of which has done anything yet."""
    return [Indexer(path, settings) for path in settings.archive_paths().values()]


def run(settings: ServiceSettings) -> None:
    """Indexes what is new, says `ready` on standard output, and goes on following until it is ended."""
    each = create_indexers(settings)
    for indexer in each:
        indexer.index_and_activate()
    print("ready", flush=True)
    while True:
        time.sleep(POLL_S)
        for indexer in each:
            if not _attempt(indexer.index_changes):
                time.sleep(RETRY_S)
            _attempt(indexer.switch_ranker)
            _attempt(indexer.propose_duplicates)


def _attempt(work: Callable[[], None]) -> bool:
    """Whether the work was done; what was in its way is said."""
    try:
        work()
    except AskalikeError as error:
        _print_message(str(error))
        return False
    return True


def _print_message(message: str) -> None:
    print(f"askalike: {message}", file=sys.stderr, flush=True)


def _served_number(served: ServedRanker | None) -> int | None:
    return served.number if served else None


def _served_name(served: ServedRanker | None) -> str:
    return served.ranker if served else "the default ranker"
