"""Runs the service as processes: an indexer, the configured number of workers, and this one, which restarts them."""

import fcntl
import importlib
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

from askalike.core.config import validate_settings
from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.files import lock_folder
from askalike.core.network import base_url, listen
from askalike.service.log import announce_address, log_event, log_warning, start_log
from askalike.service.processes.child import USER_ERROR_EXIT_CODE, ChildProcess, StopRequest
from askalike.service.settings import ServiceSettings
from askalike.service.shared_files import SharedFiles, process_name
from askalike.store import Archive
from askalike.store.keys import count_active_keys

POLL_S = 0.2
MAX_SLEEP_S = 1.5
"""A pause between two polls from which on this process, too, is taken to have been stopped."""
FOLDER_PREFIX = "askalike-serve-"
STALE_S = 60
"""Seconds after which a folder that nobody has locked is removed: its service may not have locked it yet."""
SHUTDOWN_TIMEOUT_S = 15
PRELOADED_MODULE = "askalike.rankers.lexical"
"""Modules that nearly every ranker needs and that take long to import."""
METRICS_DIR_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the folder in which prometheus_client sums the counts of several processes."""


class SupervisedProcess:
    """A process of the service, started again if it has died, and killed if it is frozen."""

    def __init__(
        self, run: Callable[..., None], settings: ServiceSettings, folder: Path, row: int, *arguments: Any
    ) -> None:
        """folder, row: see SharedFiles."""
        self._row, self._stalled_s = row, settings.stalled_s
        self._processes = SharedFiles(folder, row, settings).processes
        self._new_process = partial(ChildProcess, run, settings, folder, row, *arguments, fork=True)
        self.process = self._start()

    def _start(self) -> ChildProcess:
        self._processes.start(self._row)
        self._is_killed = False
        return self._new_process()

    def kill_if_frozen(self, since: float) -> None:
        """Kill it if it has given no sign of life for too long, counted from `since` on the monotonic clock."""
        silent_s = self._processes.silent_s(self._row, since)
        if silent_s > self._stalled_s and not self._is_killed:
            log_warning(f"the {process_name(self._row)} has given no sign of life for {silent_s:.0f} s; killing it")
            self._is_killed = True
            self.process.kill()

    def restart_if_dead(self) -> None:
        """Start it again if it has died. Raises SettingsError if that would not help."""
        exit_code = self.process.exit_code
        if exit_code is None:
            return
        if exit_code == USER_ERROR_EXIT_CODE:
            raise SettingsError("the service has stopped; see the line above")
        log_warning(f"the {process_name(self._row)} has stopped ({exit_code}); restarting it")
        self.process = self._start()
        self.process.begin()


def supervise(
    settings: ServiceSettings | str | Path | Sequence[str | Path],
    announce: Callable[[str], None] = announce_address,
    **values: Any,
) -> None:
    """Serve until a signal to stop. `announce` is called with the address once requests are accepted.

    settings: or the directory of an archive, or of several, with other settings as `values`: `serve(DIR, port=8081)`.
    Raises SettingsError for an invalid setting, or if it cannot listen at the address, ArchiveError if no archive can
    be served.
    """
    if not isinstance(settings, ServiceSettings):
        archives = (settings,) if isinstance(settings, str | Path) else settings
        settings = validate_settings(ServiceSettings, {"archives": archives, **values}, "serve")
    start_log()
    faults = _check_archives(settings)
    settings = settings.without_archives(faults)
    stop = StopRequest()
    with listen(settings.host, settings.port) as listener, _shared_folder() as folder:
        os.environ[METRICS_DIR_VARIABLE] = str(folder)
        from askalike.service.processes import indexer, worker  # these modules read the variable

        importlib.import_module(PRELOADED_MODULE)
        SharedFiles.create(folder, settings)
        indexers = [SupervisedProcess(indexer.run, settings, folder, 0)]
        workers = []
        try:
            for row in range(1, 1 + settings.workers):
                workers.append(SupervisedProcess(worker.run, settings, folder, row, listener, faults))
            _begin_all(indexers, stop)
            _begin_all(workers, stop)
            announce(base_url(listener))
            log_event("started", version=version("askalike"), archives=list(settings.archive_paths()))
            _watch((*indexers, *workers), stop)
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # for all processes: from now on the port refuses
            _terminate_all((*workers, *indexers))
        log_event("stopped")


@contextmanager
def _shared_folder() -> Iterator[Path]:
    """Yield a temporary folder that all processes share; those that killed services have left are removed."""
    for stale in Path(gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        with suppress(OSError):
            found = stale.lstat()
            if found.st_uid == os.geteuid() and time.time() - found.st_mtime > STALE_S:
                with lock_folder(stale, fcntl.LOCK_EX | fcntl.LOCK_NB):  # a running service holds it
                    shutil.rmtree(stale)
    with TemporaryDirectory(prefix=FOLDER_PREFIX) as folder, lock_folder(Path(folder), fcntl.LOCK_EX):
        yield Path(folder)


def _begin_all(children: Sequence[SupervisedProcess], stop: StopRequest) -> None:
    """Let processes begin; return once they are ready or the service has to stop. Raises ArchiveError if one ends."""
    for child in children:
        child.process.begin()
    for child in children:
        try:
            while not stop.received and not child.process.is_ready(POLL_S):
                pass
        except EOFError:
            if not stop.received:  # a signal to the whole group also ends the children
                raise ArchiveError("the service cannot start; see the line above") from None


def _watch(children: Sequence[SupervisedProcess], stop: StopRequest) -> None:
    """Replace processes that have died or are frozen, until the service has to stop.

    If this process could not run either, as after a pause of the whole machine, all get their time again.
    """
    awake_since = woke_at = time.monotonic()
    while not stop.wait(POLL_S):
        slept_s = time.monotonic() - woke_at
        woke_at = time.monotonic()
        if slept_s > MAX_SLEEP_S:
            awake_since = woke_at
        for child in children:
            child.kill_if_frozen(awake_since)
            child.restart_if_dead()


def _terminate_all(children: Sequence[SupervisedProcess]) -> None:
    for child in children:
        child.process.terminate()
    deadline = time.monotonic() + SHUTDOWN_TIMEOUT_S
    for child in children:
        child.process.join(max(0.0, deadline - time.monotonic()))


def _check_archives(settings: ServiceSettings) -> dict[str, str]:
    """Return what is wrong with each archive that is none or is damaged, by its name; it is logged.

    Raises ArchiveError if that is so of all, SettingsError for one without a key if other machines can reach it.
    """
    faults = {}
    for name, path in settings.archive_paths().items():
        try:
            with Archive.open(path) as archive:
                archive.require_intact()
                if not settings.keyless and not count_active_keys(archive):
                    needed = f"{settings.host} needs one: askalike keys create {path}"
                    raise SettingsError(f"{path}: has no keys; {needed}")
        except ArchiveError as error:
            faults[name] = str(error)
            if len(faults) == len(settings.archives):
                raise
            log_warning(str(error))
    return faults
