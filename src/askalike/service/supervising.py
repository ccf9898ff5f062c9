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

from askalike.archive.keys import in_force
from askalike.archive.store import Archive
from askalike.errors import ArchiveError, SettingsError
from askalike.service.rate import shared
from askalike.service.settings import ServiceSettings

LOOK_EVERY_S = 0.2
PATIENCE_S = 15
BACKLOG = 1024
COUNTS = "PROMETHEUS_MULTIPROC_DIR"
"""Where prometheus_client reads in which folder processes count together."""
BLAS = "OPENBLAS_NUM_THREADS"
"""How many threads numpy multiplies with. A request's products are so small that a second one only costs time."""
READY = b"ready\n"
MENDABLE = 2
"""The exit code of a process that only a person can help."""


class Child:
    """A process of the service, started again where it has died."""

    def __init__(
        self,
        settings: ServiceSettings,
        arguments: Sequence[str],
        keep: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`keep`: the open files that it inherits. `environment`: what is added to this process's."""
        self._environment = dict(environment or {})
        self._settings = settings
        self._arguments = arguments
        self._keep = keep
        self._start()

    def go(self) -> None:
        """Lets it begin: until then it imports and prepares what it can, and waits."""
        self._tell(b"\n")

    def _tell(self, line: bytes) -> None:
        with suppress(BrokenPipeError):  # it has ended, which whoever waits for it will see
            if self.process.stdin:
                self.process.stdin.write(line)
                self.process.stdin.flush()

    def started_again(self) -> bool:
        """Whether it had died. Raises SettingsError where starting it again would not help."""
        code = self.process.poll()
        if code is None:
            return False
        if code == MENDABLE:
            raise SettingsError("the service has ended; the line above says why")
        print(
            f"askalike: the {self._arguments[0]} has ended ({code}) and is started again", file=sys.stderr, flush=True
        )
        self._start()
        self.go()
        return True

    def end(self) -> None:
        """Asks it to finish what it has begun and to end."""
        self.process.terminate()

    def wait(self, until: float) -> None:
        """Waits for its end, at most until that moment of the monotonic clock."""
        try:
            self.process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _start(self) -> None:
        command = [sys.executable, "-m", "askalike.service.child", *self._arguments]
        env = os.environ | self._environment
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, pass_fds=self._keep, env=env)
        self._tell(self._settings.model_dump_json().encode() + b"\n")


def supervise(settings: ServiceSettings, say: Callable[[str], None]) -> None:
    """Serves until SIGTERM or SIGINT. `say` is told the address once requests are taken.

    Raises SettingsError where the address cannot be had, ArchiveError where a directory is no archive.
    """
    _check(settings)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with _listening(settings) as listening, TemporaryDirectory(prefix="askalike-") as counts:
        indexer = Child(settings, ["indexer"])
        workers = _workers(settings, listening, counts)
        try:
            _begin([indexer], ended)
            _begin(workers, ended)
            say(address(listening))
            while not ended.wait(LOOK_EVERY_S):
                for child in (indexer, *workers):
                    child.started_again()
        finally:
            _end(workers)
            _end([indexer])


def _workers(settings: ServiceSettings, listening: socket.socket, counts: str) -> list[Child]:
    numbers = [listening.fileno(), shared(counts)]
    arguments, environment = ["worker", *map(str, numbers)], {COUNTS: counts, BLAS: os.environ.get(BLAS, "1")}
    return [Child(settings, arguments, numbers, environment) for _ in range(settings.workers)]


def _begin(children: Sequence[Child], ended: threading.Event) -> None:
    for child in children:
        child.go()
    for child in children:
        _wait_for(child, ended)


def _end(children: Sequence[Child]) -> None:
    for child in children:
        child.end()
    until = time.monotonic() + PATIENCE_S
    for child in children:
        child.wait(until)


def _wait_for(child: Child, ended: threading.Event) -> None:
    """Returns once the process has said that it is ready, or the service is to end."""
    said: list[bytes] = []
    out = child.process.stdout
    reader = threading.Thread(target=lambda: said.append(out.readline() if out else b""), daemon=True)
    reader.start()
    while reader.is_alive() and not ended.wait(LOOK_EVERY_S / 4):
        pass
    if said and said[0] != READY:
        raise ArchiveError("the service cannot start; the line above says why")


def _check(settings: ServiceSettings) -> None:
    """Refuses what is no archive, and to listen to others than this machine where an archive has no key."""
    for path in settings.folders().values():
        with Archive.open(path) as archive:
            if not settings.keyless and not in_force(archive):
                raise SettingsError(
                    f"{path}: has no key, and {settings.host} needs one; make it: askalike keys create {path}"
                )


def _listening(settings: ServiceSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise SettingsError(
            f"{settings.host}:{settings.port}: cannot listen there ({error.strerror}); choose another --host or --port"
        ) from None


def address(listening: socket.socket) -> str:
    """Where a browser finds the service."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
