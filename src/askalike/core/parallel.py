"""Work split into pieces: done here, by processes of this machine, or by the machines of a running Ray cluster."""

import logging
import multiprocessing
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple, TypeVar

from askalike.core.errors import SettingsError
from askalike.core.own_processes import OwnProcesses, WorkerError, end_with_parent, lost_process_error
from askalike.core.types import LogCallback

PieceT = TypeVar("PieceT")
ResultT = TypeVar("ResultT")
MAX_RETRIES = 5
"""Number of times that Ray retries a piece if its worker is lost."""
PIECES_PER_WORKER = 2
"""Maximum number of pieces per worker that are queued or running, since each is held in memory."""
CONNECTION_S = 5
"""Maximum time in which a Ray cluster must accept a connection, in seconds."""
Submit = Callable[[Any], Callable[[], Any]]
"""Sends a piece to a worker, and returns a function that waits for its result."""
StartWorkers = Callable[[Callable[[Any], Any]], AbstractContextManager[tuple[int, Submit]]]
"""Starts workers for a function. Returns their number, and what sends them pieces."""


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
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _begin_process, (function,))
    try:
        yield jobs, lambda piece: pool.submit(_apply, piece).result
    except BrokenProcessPool:
        raise lost_process_error() from None
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
    end_with_parent()


def _apply(piece: Any) -> Any:
    return _function(piece)


@contextmanager
def _connect(address: str) -> Iterator[Workers]:
    try:
        import ray
    except ImportError:
        raise SettingsError("--ray needs the extra: pip install 'askalike[ray]'") from None
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), CONNECTION_S).close()  # Ray itself waits for minutes
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
