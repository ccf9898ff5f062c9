"""Signals to stop: how the supervisor notes them, and how a process that is being started does not miss them.

SIGHUP is one of them, which a terminal sends when it is closed, unless `nohup` has had it ignored.
"""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class StopRequest:
    """Notes these signals from now on.

    It takes no lock, as `threading.Event` does: a signal may interrupt the thread that holds it.
    """

    def __init__(self) -> None:
        self.received = False
        for number in STOP_SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._note)

    def wait(self, seconds: float) -> bool:
        """Return whether one has been received, after that time."""
        time.sleep(seconds)
        return self.received

    def _note(self, *_: object) -> None:
        self.received = True


@contextmanager
def postponed_signals() -> Iterator[None]:
    """Have these signals wait until the block ends, here and in a copy of this process that is made in it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


def end_by_signal() -> None:
    """Have SIGTERM end this process, which leaves the others to its supervisor; those that were postponed count."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
