"""What a process of the service runs: `python -m askalike.service.processes.child indexer`, or `builder`, or `worker` with the
numbers of two files that it inherits: the socket, and what callers are counted in.

Its settings come as one line of JSON on standard input; another line lets it begin. The supervisor keeps standard input
open: where it ends, the supervisor is gone, and the process ends itself.
"""

import importlib
import io
import os
import signal
import sys
import threading

from askalike.errors import AskalikeError
from askalike.service.settings import ServiceSettings

PRELOADED_MODULE = "askalike.rankers.lexical"
"""What nearly every ranker needs, and takes longest."""
PROCESS_MODULES = {"indexer": "indexer", "builder": "builder", "worker": "worker"}


def main(arguments: list[str]) -> int:
    """Runs one process of the service; returns its exit code: 2 for what a person can mend.

    It imports and prepares what it can while others are at work, and waits until it may begin.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor says when to end
    part = importlib.import_module(f"askalike.service.processes.{PROCESS_MODULES[arguments[0]]}")
    importlib.import_module(PRELOADED_MODULE)
    given = os.fdopen(0, "rb", buffering=0, closefd=False)  # a buffer's lock would be held at exit
    line = given.readline()
    if not line:
        return 0
    settings = ServiceSettings.model_validate_json(line)
    if hasattr(part, "prepare"):
        part.prepare(settings)
    given.readline()
    threading.Thread(target=_exit_with_supervisor, args=(given,), daemon=True).start()
    try:
        part.run(settings, *map(int, arguments[1:]))
    except AskalikeError as error:
        print(f"askalike: {error}", file=sys.stderr)
        return 2
    return 0


def _exit_with_supervisor(stdin: io.FileIO) -> None:
    stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
