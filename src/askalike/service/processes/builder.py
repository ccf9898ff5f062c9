"""Builds the index of a newly deployed ranker in its own process, while the old one's index is kept up to date."""

import os
import time
from multiprocessing.connection import Connection
from pathlib import Path

from askalike.calibration.abstention import fit_abstention
from askalike.core.errors import IndexBusyError
from askalike.service.processes.child import ChildProcess
from askalike.service.settings import ServiceSettings
from askalike.service.state.engine_state import resolve_ranker
from askalike.store import Archive, get_served_ranker

RETRY_S = 60
"""The wait before another attempt after an index could not be built."""
BUSY_RETRY_S = 0.1
NICENESS = 10
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
                self._process, self._number = ChildProcess(run, self._settings, fork=False), number
            return False
        exit_code = self._process.exit_code
        if exit_code is None:
            return False
        self._process = None
        self._retry_at = time.monotonic() + RETRY_S if exit_code else 0.0
        return exit_code == 0 and number == self._number


def run(settings: ServiceSettings, parent: Connection) -> None:
    """Build the index of each archive's deployed ranker; wait while the indexer has locked an index that both use."""
    os.nice(NICENESS)
    for path in settings.archive_paths().values():
        with Archive.open(path, settings.engine) as archive:
            ranker, view = resolve_ranker(settings, path, get_served_ranker(archive)), archive.view()
            while True:
                try:
                    ranker.build(view)
                    break
                except IndexBusyError:
                    time.sleep(BUSY_RETRY_S)
            fit_abstention(archive, ranker)
