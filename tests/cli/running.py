"""The command line in a process of its own, as people run it."""

import subprocess
import sys

MAIN = "import sys; from askalike.cli import main; sys.argv[0] = 'askalike'; main()"


def askalike(*words: object) -> "subprocess.CompletedProcess[str]":
    """Runs a command line to its end."""
    command = [sys.executable, "-c", MAIN, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
