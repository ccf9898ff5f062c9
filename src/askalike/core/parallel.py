"""Work split into pieces: done here, by processes of this machine, or by the machines of a running Ray cluster."""

import logging
import os
import signal
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, chdir, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from multiprocessing import parent_process
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, TypeVar

from askalike.core.children import spawn_context
from askalike.core.errors import AskalikeError, SettingsError
from askalike.core.iteration import LogCallback

PieceT = TypeVar("PieceT")
ResultT = TypeVar("ResultT")
MAX_RETRIES = 5
"""Number of times that Ray retries a piece if its worker is lost."""
PIECES_PER_WORKER = 2
"""Maximum number of pieces per worker that are queued or running, since each is held in memory."""
CONNECTION_S = 5
"""Maximum time in which a Ray cluster must accept a connection, in seconds."""
START_SHARE, STOP_SHARE = 0.2, 0.1
"""Shares of the memory: with less than the first available no other process starts, with less than the second one of
several is stopped. What a piece needs is not known before it has run.
"""
POLL_S = 0.5
MEMORY_FILE, GROUP_FOLDER = Path("/proc/meminfo"), Path("/sys/fs/cgroup")
Submit = Callable[[Any], Callable[[], Any]]
"""Sends a piece to a worker, and returns a function that waits for its result."""
StartWorkers = Callable[[Callable[[Any], Any]], AbstractContextManager[tuple[int, Submit]]]
"""Starts workers for a function. Returns their number, and what sends them pieces."""


class WorkerError(AskalikeError):
    """A worker was lost, with its piece of the work."""


class Workers(NamedTuple):
    """The ways to start workers; with start_apart, each piece has a process of its own, and a function logs."""

    start: StartWorkers
    start_apart: Callable[[LogCallback], StartWorkers]


_workers: ContextVar[Workers | None] = ContextVar("workers", default=None)
_function: Callable[[Any], Any]
"""In a process of a pool: the function of its pieces."""


@contextmanager
def use_workers(jobs: int = 1, ray: str | None = None) -> Iterator[None]:
    """Make `map_pieces` use other processes until the context ends.

    jobs: number of processes of this machine; 1: no others. ray: HOST:PORT of a running Ray cluster, instead of jobs.
    Each process of this machine imports the main module, which therefore needs `if __name__ == "__main__":`. Raises
    SettingsError if both are given, if Ray is not installed, or if no cluster answers.
    """
    if ray and jobs > 1:
        raise SettingsError("--jobs and --ray exclude each other; give one of them")
    processes = Workers(partial(_start_processes, jobs), partial(partial, _start_own_processes, jobs))
    with _connect(ray) if ray else nullcontext(processes if jobs > 1 else None) as workers:
        token = _workers.set(workers)
        try:
            yield
        finally:
            _workers.reset(token)


def has_workers() -> bool:
    """Return whether `map_pieces` currently uses other processes."""
    return _workers.get() is not None


def map_pieces(
    function: Callable[[PieceT], ResultT], pieces: Iterable[PieceT], *, apart: LogCallback | None = None
) -> Iterator[ResultT]:
    """Yield the function's result for each piece, in order.

    With workers, function, pieces and results are pickled. apart: each piece is long, and gets a process of its own, of
    which fewer run where the memory does not suffice; this is logged. Ray's processes know nothing of that. Raises
    WorkerError if a worker is lost; Ray first retries its piece on others.
    """
    if (workers := _workers.get()) is None:
        return map(function, pieces)
    return _map_on_workers(workers.start_apart(apart) if apart else workers.start, function, pieces)


def _map_on_workers(start: StartWorkers, function: Callable[[Any], Any], pieces: Iterable[Any]) -> Iterator[Any]:
    waiting: deque[Callable[[], Any]] = deque()
    with start(function) as (workers, submit):
        for piece in pieces:
            waiting.append(submit(piece))
            if len(waiting) >= PIECES_PER_WORKER * workers:
                yield waiting.popleft()()
        while waiting:
            yield waiting.popleft()()


@contextmanager
def _start_processes(jobs: int, function: Callable[[Any], Any]) -> Iterator[tuple[int, Submit]]:
    """Start a pool of processes. They are spawned, since a fork copies the locks of threads that it does not have."""
    pool = ProcessPoolExecutor(jobs, spawn_context(), _begin_process, (function,))
    try:
        yield jobs, lambda piece: pool.submit(_apply, piece).result
    except BrokenProcessPool:
        raise _lost_process_error() from None
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _start_own_processes(jobs: int, log: LogCallback, function: Callable[[Any], Any]) -> Iterator[tuple[int, Submit]]:
    processes = OwnProcesses(function, jobs, log)
    try:
        yield jobs, processes.submit
    finally:
        processes.stop()


def _begin_process(function: Callable[[Any], Any]) -> None:
    global _function
    _function = function
    _end_with_parent()


def _apply(piece: Any) -> Any:
    return _function(piece)


def _lost_process_error() -> WorkerError:
    """Return the error of a process that died."""
    return WorkerError("a worker process died (killed, or out of memory); run the command again, with fewer --jobs")


def _end_with_parent() -> None:
    """Let this process die without a traceback on Ctrl-C, and when its parent has died."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    if parent := parent_process():
        parent.join()
        os._exit(1)


@contextmanager
def _connect(address: str) -> Iterator[Workers]:
    try:
        import ray
    except ImportError:
        raise SettingsError("--ray needs the extra: pip install 'askalike[ray]'") from None
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), CONNECTION_S).close()  # Ray itself waits for minutes
        with chdir(os.sep):  # Ray adds the current folder to the path of its workers
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, OverflowError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise SettingsError(f"--ray {address}: no Ray cluster there ({reason}); expected HOST:PORT") from None
    try:
        start = partial(_start_on_ray, ray)
        yield Workers(start, lambda log: start)
    finally:
        ray.shutdown()


@contextmanager
def _start_on_ray(ray: Any, function: Callable[[Any], Any]) -> Iterator[tuple[int, Submit]]:
    work, shared = ray.remote(max_retries=MAX_RETRIES)(_call), ray.put(function)
    try:
        workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        yield workers, lambda piece: partial(ray.get, work.remote(shared, piece))
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        raise WorkerError(f"a worker of the Ray cluster was lost: {str(error).splitlines()[0]}") from None


def _call(function: Callable[[Any], Any], piece: Any) -> Any:
    return function(piece)


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
        spawn = spawn_context()
        task.answers, own_end = spawn.Pipe(duplex=False)
        task.process = spawn.Process(target=_answer, args=(self._function, task.piece, own_end))
        task.process.start()
        own_end.close()
        self._running.append(task)

    def _end(self, task: Task) -> None:
        try:
            task.outcome = task.answers.recv()
        except EOFError:
            task.outcome = None, _lost_process_error()
        task.process.join()
        self._running.remove(task)


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


def _answer(function: Callable[[Any], Any], piece: Any, answers: Any) -> None:
    _end_with_parent()
    try:
        answers.send((function(piece), None))
    except Exception as error:
        answers.send((None, error))
