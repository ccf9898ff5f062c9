"""Builds the index of a ranker that was put into service, in a process of its own: the one before is followed on."""

import subprocess
import sys
import time
from pathlib import Path

from askalike.errors import IndexBusyError
from askalike.rankers import Ranker
from askalike.service.settings import ServiceSettings
from askalike.service.state.engine_state import resolve_ranker
from askalike.store.archive import Archive
from askalike.store.deployments import get_served_ranker
from askalike.store.view import View

RETRY_S = 60
"""How long it waits where an index could not be built."""
BUSY_RETRY_S = 0.1


class IndexBuilder:
    """Has the index of an archive's ranker in service built; it ends with the process that started it."""

    def __init__(self, settings: ServiceSettings, path: Path) -> None:
        self._settings = settings.model_copy(update={"archives": (path,)})
        self._process: subprocess.Popen[bytes] | None = None
        self._number: int | None = None
        self._retry_at = 0.0

    def ensure_built(self, number: int | None) -> bool:
        """Whether the index of the ranker with that number is built; begins to build it where nothing is under way."""
        if self._process is None:
            if time.monotonic() >= self._retry_at:
                self._process, self._number = self._start(), number
            return False
        code = self._process.poll()
        if code is None:
            return False
        self._process = None
        self._retry_at = time.monotonic() + RETRY_S if code else 0.0
        return code == 0 and number == self._number

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "askalike.service.processes.child", "builder"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE)
        if process.stdin:
            process.stdin.write(self._settings.model_dump_json().encode() + b"\n\n")
            process.stdin.flush()
        return process


def run(settings: ServiceSettings) -> None:
    """Builds the index of what is in service; where the indexer is at one that both use, it waits for it."""
    for path in settings.archive_paths().values():
        with Archive.open(path) as archive:
            ranker, view = resolve_ranker(settings, path, get_served_ranker(archive)), archive.view()
            while not _try_index(ranker, view):
                time.sleep(BUSY_RETRY_S)


def _try_index(ranker: Ranker, view: View) -> bool:
    try:
        ranker.build(view)
    except IndexBusyError:
        return False
    return True
