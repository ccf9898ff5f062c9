"""Pieces of work, each in a process of its own, as many at once as the memory holds."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from typing import Any

from askalike.core.errors import AskalikeError
from askalike.core.types import LogCallback

START_SHARE, STOP_SHARE = 0.2, 0.1
"""Shares of the memory: with less than the first available no other process starts, with less than the second one of
several is stopped. What a piece needs is not known before it has run.
"""
POLL_S = 0.5
MEMORY_FILE, GROUP_FOLDER = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


class WorkerError(AskalikeError):
    """A worker was lost, with its piece of the work."""


@dataclass(eq=False, slots=True)
class Task:
    """A piece of work. process, answers: of the process that works on it. outcome: result and error of the piece."""

    piece: Any
    process: Any = None
    answers: Any = None
    outcome: tuple[Any, BaseException | None] | None = None


class OwnProcesses:
    """Calls a function for each piece in a process of its own, at most `jobs` at once.

    If the memory is short, it stops the process that began last, and starts its piece again when another has ended.
    """

    def __init__(self, function: Callable[[Any], Any], jobs: int, log: LogCallback) -> None:
        self._function, self._jobs, self._log = function, jobs, log
        self._waiting: deque[Task] = deque()
        self._running: list[Task] = []

    def submit(self, piece: Any) -> Callable[[], Any]:
        """Return a function that waits for the piece's result. It raises the piece's error, or WorkerError."""
        self._waiting.append(task := Task(piece))
        self._heed_memory()
        return partial(self._wait_for, task)

    def stop(self) -> None:
        """Kill the processes that still run."""
        for task in self._running:
            task.process.kill()

    def _wait_for(self, task: Task) -> Any:
        while task.outcome is None:
            self._heed_memory()
            ready = wait([task.answers for task in self._running], POLL_S)
            for ended in [task for task in self._running if task.answers in ready]:
                self._end(ended)
        result, error = task.outcome
        if error is not None:
            raise error
        return result

    def _heed_memory(self) -> None:
        """Start the processes that there is memory for, or stop one."""
        available = available_memory_share()
        if available < STOP_SHARE and len(self._running) > 1:
            last = self._running.pop()
            last.process.kill()
            last.process.join()
            self._waiting.appendleft(last)
            self._jobs = len(self._running)
            left = f"{available:.0%} of the memory is available"
            self._log(f"{left}: one process was stopped and begins again later; from now on {self._jobs} at once")
        while self._waiting and len(self._running) < self._jobs and (not self._running or available > START_SHARE):
            self._start(self._waiting.popleft())

    def _start(self, task: Task) -> None:
        """Start a process. It is spawned, since a fork copies the locks of threads that it does not have."""
        spawn = multiprocessing.get_context("spawn")
        task.answers, own_end = spawn.Pipe(duplex=False)
        task.process = spawn.Process(target=_call, args=(self._function, task.piece, own_end))
        task.process.start()
        own_end.close()
        self._running.append(task)

    def _end(self, task: Task) -> None:
        try:
            task.outcome = task.answers.recv()
        except EOFError:
            task.outcome = None, lost_process_error()
        task.process.join()
        self._running.remove(task)


def lost_process_error() -> WorkerError:
    """Return the error of a process that died."""
    return WorkerError("a worker process died (killed, or out of memory); run the command again, with fewer --jobs")


def end_with_parent() -> None:
    """Let this process die without a traceback on Ctrl-C, and when its parent has died."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    Thread(target=_exit_with_parent, daemon=True).start()


def available_memory_share() -> float:
    """Return the share of the machine's memory, or of its container's, that is available; 1 if nobody says so."""
    shares = [1.0]
    with suppress(OSError, LookupError, ValueError):
        lines = (line.split() for line in MEMORY_FILE.read_text(encoding="ascii").splitlines())
        sizes = {name: int(size) for name, size, *_ in lines}
        shares.append(sizes["MemAvailable:"] / sizes["MemTotal:"])
    with suppress(OSError, LookupError, ValueError):  # `max`, no limit, is no number either
        limit, used = (int((GROUP_FOLDER / f"memory.{name}").read_text()) for name in ("max", "current"))
        statistics = dict(line.split() for line in (GROUP_FOLDER / "memory.stat").read_text().splitlines())
        shares.append(1 - (used - int(statistics["inactive_file"])) / limit)
    return min(shares)


def _call(function: Callable[[Any], Any], piece: Any, answers: Any) -> None:
    end_with_parent()
    try:
        answers.send((function(piece), None))
    except Exception as error:
        answers.send((None, error))


def _exit_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)
