"""The one process that commits the archives' changes to their indexes and proposes likely duplicates.

When another ranker is deployed, a separate process builds its index while this one keeps the old index up to date; then
the new ranker is marked as ready.
"""

import os
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from askalike.calibration.abstention import fit_abstention
from askalike.calibration.calibration import Calibrator
from askalike.core.errors import AskalikeError, IndexBusyError
from askalike.moderation.proposer import Proposer
from askalike.search.interim import build_in_background, missing_vectors
from askalike.service.log import log_warning, start_log
from askalike.service.processes.child import ChildProcess, Heartbeat
from askalike.service.served_retriever import is_present, resolve_ranker
from askalike.service.settings import ServiceSettings
from askalike.service.shared_files import SharedFiles
from askalike.store import Archive, ServedRanker, get_served_ranker
from askalike.store.deployments import mark_ready, ready_ranker
from askalike.store.retention import delete_expired, set_keep_days

POLL_S = 0.1
BATCH_WINDOW_S = 0.65
"""Time for which changes are collected after a commit, since each commit makes every worker reopen the index.

With a poll and two commits it adds up to less than the second within which a search finds a write."""
RETRY_S = 5
"""The wait after changes could not be indexed, such as on a full disk; searches use the last commit."""
IDLE_S = 2
"""The wait before it looks for duplicates again if no question was left to scan."""
NICENESS = 5
"""Niceness of the indexer, so that the workers' requests have priority if cores are few.

It is not that of its session, which Linux would apply to the workers, too: they are in the same one."""
BUSY_FACTOR = 10
"""While people search, it looks for duplicates this many times more rarely: each time takes a processor from them."""
PROPOSE_RETRY_S = 60
BUILD_RETRY_S = 60
"""The wait before another attempt after an index could not be built."""
EXPIRY_S = 3_600
"""The pause between two deletions of what people posted more than `keep_days` ago."""
OVERWRITE_RETRY_S = 60
"""The pause if what was deleted is still in the write-ahead log, as somebody reads it."""
BUILD_NICENESS = 10
"""Niceness of the builder, so that searches stay fast: encoding an archive uses all processors."""


class IndexBuilder:
    """Starts a process that builds the index of an archive's deployed ranker; it ends with its parent."""

    def __init__(self, settings: ServiceSettings, path: Path) -> None:
        self._settings = settings.model_copy(update={"archives": (path,)})
        self._process: ChildProcess | None = None
        self._number: int | None = None
        self._retry_at = 0.0

    def ensure_built(self, number: int | None) -> bool:
        """Return whether the index of the deployment with that number is built; if not, start its build or await it."""
        if self._process is None:
            if time.monotonic() >= self._retry_at:
                self._process = ChildProcess(build_indexes, self._settings, fork=False)
                self._number = number
            return False
        exit_code = self._process.exit_code
        if exit_code is None:
            return False
        self._process = None
        self._retry_at = time.monotonic() + BUILD_RETRY_S if exit_code else 0.0
        return exit_code == 0 and number == self._number


def build_indexes(settings: ServiceSettings, parent: Connection) -> None:
    """Build the index of each archive's deployed ranker; see `build_in_background`."""
    os.nice(BUILD_NICENESS)
    for path in settings.archive_paths().values():
        with Archive.open(path, settings.engine) as archive:
            build_in_background(archive, resolve_ranker(settings, path, get_served_ranker(archive)))


class Indexer:
    """Keeps one archive's index up to date."""

    def __init__(
        self, path: Path, settings: ServiceSettings, is_searching: Callable[[], bool] = lambda: False
    ) -> None:  # fmt: skip
        """is_searching: returns whether any worker has a search to make."""
        self._settings, self._is_searching = settings, is_searching
        self._archive = Archive.open(path, settings.engine)
        if settings.keep_days is not None:
            set_keep_days(self._archive, settings.keep_days)
        self._view = self._archive.view()
        self._served = None if settings.ranker else get_served_ranker(self._archive)
        self._ranker = resolve_ranker(settings, path, self._served)
        self._indexed_change, self._next_commit_at = -1, 0.0
        self._is_marked = settings.ranker is not None  # a ranker given at the start is never marked
        self._builder = IndexBuilder(settings, path)
        self._proposer: Proposer | None = None
        self._propose_at = time.monotonic() + IDLE_S
        self._propose_late_at = 0.0
        self._expire_at = 0.0

    def index_changes(self) -> None:
        """Commit new changes to the index, or rebuild one that has vanished, and mark the ranker as ready."""
        if time.monotonic() < self._next_commit_at:
            return
        self._archive.require_in_place()
        change = self._view.change
        if change == self._indexed_change and is_present(self._ranker, self._view):
            return
        if self._served and missing_vectors(self._archive, self._ranker):
            self._leave_encoder(self._served)
        is_committed = self._commit()
        if not self._is_marked:
            mark_ready(self._archive, _served_number(self._served))
            self._is_marked = True
        if is_committed:
            self._indexed_change, self._next_commit_at = change, time.monotonic() + BATCH_WINDOW_S

    def _leave_encoder(self, served: ServedRanker) -> None:
        """Take the ranker that was ready before this one, or words, until `switch_ranker` has built its vectors."""
        ready = ready_ranker(self._archive)
        self._served = ready if ready and ready.number != served.number else None
        self._ranker = resolve_ranker(self._settings, self._archive.path, self._served)
        self._is_marked = False

    def _commit(self) -> bool:
        """Return False if another process, which is indexing already, will commit the changes."""
        try:
            self._ranker.build(self._view)
            fit_abstention(self._archive, self._ranker)
        except IndexBusyError as busy:
            if not busy.searchable:
                raise
            return False
        return True

    def advise(self) -> None:
        """Log what to do about a calibration that is not used."""
        if advice := Calibrator.open(self._archive, self._ranker).advice:
            log_warning(advice)

    def delete_expired(self) -> None:
        """Delete what people posted more than `keep_days` ago, once an hour."""
        if time.monotonic() >= self._expire_at:
            self._expire_at = time.monotonic() + EXPIRY_S
            if not delete_expired(self._archive).is_overwritten:
                self._expire_at = time.monotonic() + OVERWRITE_RETRY_S

    def wait(self, seconds: float) -> None:
        """Do not index this archive for that time; other archives do not wait."""
        self._next_commit_at = time.monotonic() + seconds

    def switch_ranker(self) -> None:
        """If another ranker was activated, build its index in another process, then mark the ranker as ready."""
        deployed = get_served_ranker(self._archive)
        if _served_number(deployed) == _served_number(self._served):
            return
        if self._settings.ranker:
            name = deployed.ranker if deployed else "the default ranker"
            pinned = f"this service keeps {self._ranker.name}, as --ranker says"
            log_warning(f"{self._archive.path}: {name} was activated; {pinned}")
            self._served = deployed
        elif self._builder.ensure_built(_served_number(deployed)):
            self._ranker = resolve_ranker(self._settings, self._archive.path, deployed)
            self._served = deployed
            self._indexed_change, self._next_commit_at, self._proposer = -1, 0.0, None
            self._is_marked = False
            self.index_changes()

    def propose_duplicates(self) -> None:
        """Look for duplicates of a few questions, within the configured share of the time.

        While people search, it waits until nobody does, or for BUSY_FACTOR times as long as otherwise. While words
        answer for an encoder, it waits for the encoder's vectors.
        """
        start = time.monotonic()
        is_early = start < self._propose_at or (start < self._propose_late_at and self._is_searching())
        if not self._settings.propose or is_early:
            return
        self._propose_at = start + IDLE_S
        if not self._settings.ranker and missing_vectors(self._archive):
            return
        self._propose_at = start + PROPOSE_RETRY_S
        self._proposer = self._proposer or Proposer(self._archive, self._ranker)
        if self._proposer.step():
            now = time.monotonic()
            pause = (now - start) * (1 / self._settings.propose - 1)
            self._propose_at, self._propose_late_at = now + pause, now + BUSY_FACTOR * pause
        else:
            self._propose_at = start + IDLE_S


def run(settings: ServiceSettings, parent: Connection, folder: Path, row: int) -> None:
    """Index the changes so far, notify the supervisor, and continue to index until the process is ended.

    folder, row: see SharedFiles.
    """
    shared = SharedFiles(folder, row, settings)
    Heartbeat(shared)  # in a thread, as an index may take minutes
    parent.recv()
    start_log()
    indexers = _start_indexers(settings, lambda: shared.processes.is_searching)
    parent.send(None)
    os.nice(NICENESS)
    while True:
        time.sleep(POLL_S)
        for indexer in indexers:
            if not _attempt(indexer.index_changes):
                indexer.wait(RETRY_S)
            _attempt(indexer.switch_ranker)
            _attempt(indexer.propose_duplicates)
            _attempt(indexer.delete_expired)


def _start_indexers(settings: ServiceSettings, is_searching: Callable[[], bool]) -> list[Indexer]:
    """Return the indexers of the archives, up to date. One that fails is logged; the only one raises AskalikeError.

    One whose changes could not be indexed is tried again: it has its last commit.
    """
    indexers = []
    for path in settings.archive_paths().values():
        try:
            indexers.append(indexer := Indexer(path, settings, is_searching))
            indexer.advise()
            indexer.index_changes()
        except AskalikeError as error:
            if len(settings.archives) == 1:
                raise
            log_warning(str(error))
    return indexers


def _attempt(work: Callable[[], None]) -> bool:
    """Return whether the work succeeded; log the error if it did not."""
    try:
        work()
    except AskalikeError as error:
        log_warning(str(error))
        return False
    return True


def _served_number(served: ServedRanker | None) -> int | None:
    return served.number if served else None
