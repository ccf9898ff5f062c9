"""A process of the service: how it is started, gives signs of life, and notices that its parent has ended.

On Linux it is forked from the supervisor, which has imported what all processes need. On other systems a fork of a
process that has loaded numpy can crash, so it is a new process.
"""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from typing import Any

from askalike.core.errors import AskalikeError
from askalike.core.parallel import fork_context, spawn_context
from askalike.service.settings import ServiceSettings
from askalike.service.shared_files import SharedFiles

FORKS = sys.platform == "linux"
USER_ERROR_EXIT_CODE = 2
BEAT_S = 0.25
"""The pause between two signs of life."""
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class ChildProcess:
    """A process that runs `run(settings, parent, *arguments)`; `parent` is its end of the connection.

    It prepares, waits until it receives a message, begins its work, and sends a message once it is ready.
    """

    def __init__(self, run: Callable[..., None], settings: ServiceSettings, *arguments: Any, fork: bool) -> None:
        """`fork`: whether it may be forked from this process, which must then not have any other threads."""
        context = fork_context() if fork and FORKS else spawn_context()
        self._pipe, parent = context.Pipe()
        self._process = context.Process(target=_main, args=(run, settings, parent, arguments))
        with postponed_signals():
            self._process.start()
        parent.close()

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while it runs, negative for a signal that ended it."""
        return self._process.exitcode  # type: ignore[no-any-return]

    def begin(self) -> None:
        """Let it begin its work."""
        with suppress(OSError):  # it has ended, which the caller notices when it waits
            self._pipe.send(None)

    def is_ready(self, timeout_s: float) -> bool:
        """Return whether it is ready, after at most that time. Raises EOFError if it has ended."""
        if not self._pipe.poll(timeout_s):
            return False
        try:
            self._pipe.recv()
        except OSError:
            raise EOFError from None
        return True

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    def kill(self) -> None:
        """End it at once, whatever it does."""
        self._process.kill()

    def join(self, timeout_s: float) -> None:
        """Wait until it has ended; kill it if it has not after that time."""
        self._process.join(timeout_s)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _main(run: Callable[..., None], settings: ServiceSettings, parent: Connection, arguments: tuple[Any, ...]) -> None:
    end_by_signal()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        run(settings, parent, *arguments)
    except AskalikeError as error:
        print(f"askalike: {error}", file=sys.stderr)
        sys.exit(USER_ERROR_EXIT_CODE)


def _end_with_parent() -> None:
    if parent := parent_process():
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


class Heartbeat:
    """Notes several times a second that this process lives, on which the supervisor acts; at first in a thread."""

    def __init__(self, shared: SharedFiles) -> None:
        self._shared = shared
        self._is_in_loop = threading.Event()
        threading.Thread(target=self._beat, daemon=True).start()

    async def beat_in_loop(self) -> None:
        """Let the event loop beat instead of the thread, so that a loop that is blocked is noticed; never return."""
        self._is_in_loop.set()
        while True:
            self._shared.processes.beat(self._shared.row)
            await asyncio.sleep(BEAT_S)

    def _beat(self) -> None:
        while not self._is_in_loop.wait(BEAT_S):
            self._shared.processes.beat(self._shared.row)


class StopRequest:
    """Records these signals from its creation.

    Unlike `threading.Event` it takes no lock: a signal may interrupt the thread that holds it.
    """

    def __init__(self) -> None:
        self.received = False
        for number in STOP_SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._note)

    def wait(self, seconds: float) -> bool:
        """Wait for that time; return whether a signal has been received."""
        time.sleep(seconds)
        return self.received

    def _note(self, *_: object) -> None:
        self.received = True


@contextmanager
def postponed_signals() -> Iterator[None]:
    """Block these signals until the block ends, in this process and in a process that is forked in it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


def end_by_signal() -> None:
    """Let SIGTERM end this process, and ignore the others, which the supervisor handles; postponed signals count."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
