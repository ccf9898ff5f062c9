"""Signals to stop: how the supervisor records them, and how a process that is being started does not miss them.

SIGHUP is one of them, which a terminal sends when it is closed, unless `nohup` has had it ignored.
"""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


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
