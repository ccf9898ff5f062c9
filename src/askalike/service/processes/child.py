"""Both ends of a process of the service: how it is started, and what it runs.

`python -m askalike.service.processes.child` takes `indexer`, `builder`, or `worker` with two numbers: the inherited
file descriptors of the socket and of the callers' rates. Its settings come as one line of JSON on standard input;
another line lets it begin. Whoever started it keeps its standard input open: where that ends, the process ends itself.
"""

import importlib
import io
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any

from askalike.errors import AskalikeError
from askalike.service.settings import ServiceSettings

PRELOADED_MODULE = "askalike.rankers.lexical"
"""What nearly every ranker needs, and takes longest to import."""
USER_ERROR_EXIT_CODE = 2
"""The exit code of a process whose error a user has to fix."""


def start_child(settings: ServiceSettings, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start a process with these options of Popen; it prepares what it can and then waits for `begin_child`."""
    command = [sys.executable, "-m", "askalike.service.processes.child", *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, **options)
    _send_line(process, settings.model_dump_json())
    return process


def begin_child(process: subprocess.Popen[bytes]) -> None:
    """Let a process begin."""
    _send_line(process, "")


def main(arguments: list[str]) -> int:
    """Run one process of the service and return its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor says when to end
    module = importlib.import_module(f"askalike.service.processes.{arguments[0]}")
    importlib.import_module(PRELOADED_MODULE)
    stdin = os.fdopen(0, "rb", buffering=0, closefd=False)  # a buffer's lock would be held at exit
    if not (line := stdin.readline()):
        return 0
    settings = ServiceSettings.model_validate_json(line)
    if hasattr(module, "prepare"):
        module.prepare(settings)
    stdin.readline()
    threading.Thread(target=_end_with_parent, args=(stdin,), daemon=True).start()
    try:
        module.run(settings, *map(int, arguments[1:]))
    except AskalikeError as error:
        print(f"askalike: {error}", file=sys.stderr)
        return USER_ERROR_EXIT_CODE
    return 0


def _send_line(process: subprocess.Popen[bytes], line: str) -> None:
    with suppress(BrokenPipeError):  # it has ended, which whoever waits for it will see
        if process.stdin:
            process.stdin.write(f"{line}\n".encode())
            process.stdin.flush()


def _end_with_parent(stdin: io.FileIO) -> None:
    stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
