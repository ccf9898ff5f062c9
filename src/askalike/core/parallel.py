"""Processes that askalike starts, and work in pieces: done here, by processes, or by a running Ray cluster.

None imports a file of the current folder. `python -m` and `python -c`, by which multiprocessing starts its processes,
put the folder in which a command was typed first on the path. Somebody else may have written there, or it has a
`types.py` of its own.
"""

import logging
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, chdir, contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from multiprocessing import parent_process, resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from threading import Lock, Thread
from typing import Any, TypeVar

from askalike.core.errors import AskalikeError, SettingsError

SAFE_PATH = "PYTHONSAFEPATH"
PieceT = TypeVar("PieceT")
ResultT = TypeVar("ResultT")
MAX_RETRIES = 5
"""Number of times that Ray retries a piece if its worker is lost."""
PIECES_PER_WORKER = 2
"""Maximum number of pieces per worker that are queued or running, since each is held in memory."""
CONNECTION_S = 5
"""Maximum time in which a Ray cluster must accept a connection, in seconds."""
BYTES_PER_PROCESS = 4 << 30
"""Memory of the machine for each process of long pieces, of which no more run at once, whatever the number of jobs."""
Submit = Callable[[Any], Callable[[], Any]]
"""Sends a piece to a worker, and returns a function that waits for its result."""
StartWorkers = Callable[[Callable[[Any], Any], bool], AbstractContextManager[tuple[int, Submit]]]
"""Starts workers for a function, and for long pieces or not. Returns their number, and what sends them pieces."""


def count_processors() -> int:
    """Return the number of processors that this process may use; where no system call tells it, that of the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Environment:
    """Has the variable set while any thread needs it; the processes that a caller starts afterwards are its own."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._before: str | None = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._users:
                self._before = os.environ.get(SAFE_PATH)
                os.environ[SAFE_PATH] = "1"
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users and self._before is None:
                del os.environ[SAFE_PATH]
            elif not self._users:
                os.environ[SAFE_PATH] = str(self._before)


safe_path = _Environment()
"""A context: each Python that is started in it, by other packages too, leaves the current folder out of its path."""


class _SafeProcess(SpawnProcess):
    def start(self) -> None:
        with safe_path:
            super().start()


class _SafeContext(SpawnContext):
    Process = _SafeProcess


def fork_context() -> Any:
    """Return multiprocessing's context for processes that are copies of this one, and read no files to begin with."""
    return multiprocessing.get_context("fork")


def spawn_context() -> Any:
    """Return multiprocessing's context for new processes, whose path is this one's without the current folder."""
    with safe_path:
        resource_tracker.ensure_running()  # a process, too; it begins with the first queue
    return _SafeContext()


def run_module(module: str, arguments: Sequence[str]) -> int:
    """Run a module of askalike as a program to its end; return its exit code."""
    return subprocess.call(_python_command(module, arguments))


def start_module(module: str, arguments: Sequence[str]) -> None:
    """Start a module of askalike as a program that prints nothing and outlives this process."""
    null = subprocess.DEVNULL
    command = _python_command(module, arguments)
    process = subprocess.Popen(command, stdin=null, stdout=null, stderr=null, start_new_session=True)
    process.returncode = 0  # nobody waits for it


def _python_command(module: str, arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-P", "-m", module, *arguments]


class WorkerError(AskalikeError):
    """A worker was lost, with its piece of the work."""


_workers: ContextVar[StartWorkers | None] = ContextVar("workers", default=None)
"""A context, and no argument: between a command and what has pieces are rankers and encoders of any package."""
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
    processes = partial(_start_processes, jobs) if jobs > 1 else None
    with _connect(ray) if ray else nullcontext(processes) as start:
        token = _workers.set(start)
        try:
            yield
        finally:
            _workers.reset(token)


def has_workers() -> bool:
    """Return whether `map_pieces` currently uses other processes."""
    return _workers.get() is not None


def map_pieces(
    function: Callable[[PieceT], ResultT], pieces: Iterable[PieceT], *, long: bool = False
) -> Iterator[ResultT]:
    """Yield the function's result for each piece, in order.

    With workers, function, pieces and results are pickled. long: each piece takes long and much memory; each gets a new
    process of this machine, and there are at most as many at once as its memory has BYTES_PER_PROCESS. Raises
    WorkerError if a worker is lost; Ray first retries its piece on others.
    """
    if (start := _workers.get()) is None:
        return map(function, pieces)
    return _map_on_workers(start(function, long), pieces)


def _map_on_workers(started: AbstractContextManager[tuple[int, Submit]], pieces: Iterable[Any]) -> Iterator[Any]:
    waiting: deque[Callable[[], Any]] = deque()
    with started as (workers, submit):
        for piece in pieces:
            waiting.append(submit(piece))
            if len(waiting) >= PIECES_PER_WORKER * workers:
                yield waiting.popleft()()
        while waiting:
            yield waiting.popleft()()


@contextmanager
def _start_processes(jobs: int, function: Callable[[Any], Any], long: bool) -> Iterator[tuple[int, Submit]]:
    """Start a pool of processes. They are spawned, since a fork copies the locks of threads that it does not have."""
    if long:
        jobs = min(jobs, max(1, _memory_bytes() // BYTES_PER_PROCESS))
    n_pieces = 1 if long else None
    pool = ProcessPoolExecutor(jobs, spawn_context(), _begin_process, (function,), max_tasks_per_child=n_pieces)
    try:
        yield jobs, lambda piece: pool.submit(_apply, piece).result
    except BrokenProcessPool:
        problem = "a worker process died (killed, or out of memory)"
        raise WorkerError(f"{problem}; run the command again, with fewer --jobs") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _begin_process(function: Callable[[Any], Any]) -> None:
    global _function
    _function = function
    _end_with_parent()


def _apply(piece: Any) -> Any:
    return _function(piece)


def _end_with_parent() -> None:
    """Let this process die without a traceback on Ctrl-C, and when its parent has died."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    if parent := parent_process():
        parent.join()
        os._exit(1)


@contextmanager
def _connect(address: str) -> Iterator[StartWorkers]:
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
        yield partial(_start_on_ray, ray)
    finally:
        ray.shutdown()


@contextmanager
def _start_on_ray(ray: Any, function: Callable[[Any], Any], long: bool) -> Iterator[tuple[int, Submit]]:
    work = ray.remote(max_retries=MAX_RETRIES)(_call)
    shared = ray.put(function)
    try:
        workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        yield workers, lambda piece: partial(ray.get, work.remote(shared, piece))
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        raise WorkerError(f"a worker of the Ray cluster was lost: {str(error).splitlines()[0]}") from None


def _call(function: Callable[[Any], Any], piece: Any) -> Any:
    return function(piece)
