"""Commands in copies of a process that has imported what the service needs: a start costs a third of its time then."""

import atexit
import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from multiprocessing import forkserver
from pathlib import Path
from unittest.mock import patch

from waiting import PATIENCE_S

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        "askalike.cli",
        "askalike.service.processes.indexer",
        "askalike.service.processes.worker",
        "warmed",
    ]
)


@cache
def start_template() -> None:
    """Start the process that others are copies of, once, without waiting until it has imported and compiled all."""
    folder = tempfile.mkdtemp()  # what it imports depends on the variable that names one; a service then sets its own
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with patch.dict(os.environ, PROMETHEUS_MULTIPROC_DIR=folder):
        forkserver.ensure_running()


class PreloadedProcess:
    """`askalike ARGUMENTS` in a session of its own, with the methods of Popen that tests need."""

    def __init__(self, arguments: Sequence[object], environment: Mapping[str, str], output: Path | None = None) -> None:
        """output: the file for its standard output."""
        start_template()
        reader, writer = socket.socketpair()
        self.stderr = reader.makefile()
        self._process = CONTEXT.Process(
            target=_run, args=(list(map(str, arguments)), dict(environment), output, writer)
        )
        self._process.start()
        reader.close()
        writer.close()
        self.pid = self._process.pid or 0
        atexit.register(self.kill)  # otherwise multiprocessing waits for it

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout_s: float) -> int:
        self._process.join(timeout_s)
        if (exit_code := self._process.exitcode) is None:
            raise subprocess.TimeoutExpired("askalike", timeout_s)
        return exit_code

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill -9 all processes of the session, where any is left."""
        if self.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)


def run_preloaded(*arguments: object) -> tuple[int, str]:
    """Run a command line to its end; returns its exit code and standard error."""
    process = PreloadedProcess(arguments, os.environ)
    with process.stderr as lines:
        said = lines.read()
    return process.wait(PATIENCE_S), said


def _run(arguments: list[str], environment: Mapping[str, str], output: Path | None, stderr: socket.socket) -> None:
    from askalike.cli import main

    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored where the tests run under nohup
    os.dup2(stderr.fileno(), sys.stderr.fileno())
    if output:
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT), sys.stdout.fileno())
    stderr.close()
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # which the template has chosen
    sys.argv = ["askalike", *arguments]
    main()
