"""Runs the service as processes: one that indexes, as many as are wanted that answer, and this one, which watches."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from tempfile import TemporaryDirectory

from askalike.errors import ArchiveError, SettingsError
from askalike.service.settings import ServiceSettings
from askalike.service.state.rate import create_shared_file
from askalike.store.archive import Archive
from askalike.store.keys import has_active_key

POLL_S = 0.2
SHUTDOWN_TIMEOUT_S = 15
BACKLOG = 1024
METRICS_DIR_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Where prometheus_client reads in which folder processes count together."""
BLAS_THREADS_VARIABLE = "OPENBLAS_NUM_THREADS"
"""How many threads numpy multiplies with. A request's products are so small that a second one only costs time."""
READY_LINE = b"ready\n"
USER_ERROR_EXIT_CODE = 2
"""The exit code of a process that only a person can help."""


class ChildProcess:
    """A process of the service, started again where it has died."""

    def __init__(
        self,
        settings: ServiceSettings,
        arguments: Sequence[str],
        inherited_fds: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`keep`: the open files that it inherits. `environment`: what is added to this process's."""
        self._environment = dict(environment or {})
        self._settings = settings
        self._arguments = arguments
        self._inherited_fds = inherited_fds
        self._start()

    def begin(self) -> None:
        """Lets it begin: until then it imports and prepares what it can, and waits."""
        self._send(b"\n")

    def _send(self, line: bytes) -> None:
        with suppress(BrokenPipeError):  # it has ended, which whoever waits for it will see
            if self.process.stdin:
                self.process.stdin.write(line)
                self.process.stdin.flush()

    def restart_if_dead(self) -> bool:
        """Whether it had died. Raises SettingsError where starting it again would not help."""
        code = self.process.poll()
        if code is None:
            return False
        if code == USER_ERROR_EXIT_CODE:
            raise SettingsError("the service has ended; the line above says why")
        print(
            f"askalike: the {self._arguments[0]} has ended ({code}) and is started again", file=sys.stderr, flush=True
        )
        self._start()
        self.begin()
        return True

    def terminate(self) -> None:
        """Asks it to finish what it has begun and to end."""
        self.process.terminate()

    def wait(self, deadline: float) -> None:
        """Waits for its end, at most until that moment of the monotonic clock."""
        try:
            self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _start(self) -> None:
        command = [sys.executable, "-m", "askalike.service.processes.child", *self._arguments]
        env = os.environ | self._environment
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, pass_fds=self._inherited_fds, env=env)
        self._send(self._settings.model_dump_json().encode() + b"\n")


def supervise(settings: ServiceSettings, announce: Callable[[str], None]) -> None:
    """Serves until SIGTERM or SIGINT. `say` is told the address once requests are taken.

    Raises SettingsError where the address cannot be had, ArchiveError where a directory is no archive.
    """
    _check_archives(settings)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with _listen(settings) as listening, TemporaryDirectory(prefix="askalike-") as counts:
        indexer = ChildProcess(settings, ["indexer"])
        workers = _start_workers(settings, listening, counts)
        try:
            _begin_all([indexer], ended)
            _begin_all(workers, ended)
            announce(base_url(listening))
            while not ended.wait(POLL_S):
                for child in (indexer, *workers):
                    child.restart_if_dead()
        finally:
            _terminate_all(workers)
            _terminate_all([indexer])


def _start_workers(settings: ServiceSettings, listener: socket.socket, shared_dir: str) -> list[ChildProcess]:
    numbers = [listener.fileno(), create_shared_file(shared_dir)]
    arguments, environment = (
        ["worker", *map(str, numbers)],
        {METRICS_DIR_VARIABLE: shared_dir, BLAS_THREADS_VARIABLE: os.environ.get(BLAS_THREADS_VARIABLE, "1")},
    )
    return [ChildProcess(settings, arguments, numbers, environment) for _ in range(settings.workers)]


def _begin_all(children: Sequence[ChildProcess], ended: threading.Event) -> None:
    for child in children:
        child.begin()
    for child in children:
        _wait_until_ready(child, ended)


def _terminate_all(children: Sequence[ChildProcess]) -> None:
    for child in children:
        child.terminate()
    until = time.monotonic() + SHUTDOWN_TIMEOUT_S
    for child in children:
        child.wait(until)


def _wait_until_ready(child: ChildProcess, ended: threading.Event) -> None:
    """Returns once the process has said that it is ready, or the service is to end."""
    said: list[bytes] = []
    out = child.process.stdout
    reader = threading.Thread(target=lambda: said.append(out.readline() if out else b""), daemon=True)
    reader.start()
    while reader.is_alive() and not ended.wait(POLL_S / 4):
        pass
    if said and said[0] != READY_LINE:
        raise ArchiveError("the service cannot start; the line above says why")


def _check_archives(settings: ServiceSettings) -> None:
    """Refuses what is no archive, and to listen to others than this machine where an archive has no key."""
    for path in settings.archive_paths().values():
        with Archive.open(path) as archive:
            if not settings.keyless and not has_active_key(archive):
                raise SettingsError(
                    f"{path}: has no key, and {settings.host} needs one; make it: askalike keys create {path}"
                )


def _listen(settings: ServiceSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise SettingsError(
            f"{settings.host}:{settings.port}: cannot listen there ({error.strerror}); choose another --host or --port"
        ) from None


def base_url(listener: socket.socket) -> str:
    """Where a browser finds the service."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
