"""Commands in copies of a process that has imported what the service needs: a start costs a third of its time then."""

import atexit
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from unittest.mock import patch

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        "askalike.cli",
        "askalike.service.processes.indexer",
        "askalike.service.processes.worker",
        "askalike.rankers.lexical",
    ]
)


class PreloadedProcess:
    """`askalike ARGUMENTS` in a session of its own, with the methods of Popen that tests need."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        reader, writer = socket.socketpair()
        self.stderr = reader.makefile()
        self._process = CONTEXT.Process(target=_run, args=(arguments, dict(environment), writer))
        with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, PROMETHEUS_MULTIPROC_DIR=folder):
            self._process.start()  # the variable decides what is imported; the service then sets its own
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


def _run(arguments: Sequence[str], environment: Mapping[str, str], stderr: socket.socket) -> None:
    from askalike.cli import main

    os.setsid()
    os.dup2(stderr.fileno(), sys.stderr.fileno())
    stderr.close()
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["askalike", *arguments]
    main()
