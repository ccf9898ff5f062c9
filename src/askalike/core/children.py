"""The processes of this Python that askalike starts, all of them here: none imports a file of the current folder.

`python -m` and `python -c`, by which multiprocessing starts its processes, put the folder in which a command was typed
first on the path. Somebody else may have written there, or it has a `types.py` of its own.
"""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Sequence
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from threading import Lock
from typing import Any

SAFE_PATH = "PYTHONSAFEPATH"


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
