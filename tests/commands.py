"""The command line for tests: inside this process, which is quick, or in one of its own."""

import io
import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import askalike as package
from askalike.cli import main

MAIN = "import sys; from askalike.cli import main; sys.argv[0] = 'askalike'; main()"
Finished = subprocess.CompletedProcess[str]


def askalike(*words: object, cwd: Path | str = ".", merged: bool = False, input: str = "") -> Finished:
    """Run a command line to its end in this process; returns its exit code and what it printed.

    merged: standard error is part of the standard output, as on a terminal. input: the standard input.
    """
    command = ["askalike", *map(str, words)]
    output = io.StringIO()
    errors = output if merged else io.StringIO()
    stdin = io.TextIOWrapper(io.BytesIO(input.encode()))
    outputs = redirect_stdout(output), redirect_stderr(errors)
    variables = patch.dict(os.environ)  # a command sets some for the processes that it starts
    with chdir(cwd), variables, patch.multiple(sys, argv=command, stdin=stdin), outputs[0], outputs[1]:
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return Finished(command, code, output.getvalue(), "" if merged else errors.getvalue())


def run_command(*words: object) -> tuple[int, str, str]:
    """Run a command line as `askalike` does: its exit code, standard output and standard error."""
    done = askalike(*words)
    return done.returncode, done.stdout, done.stderr


def assert_refused(done: tuple[int, str, str], *messages: str) -> None:
    """Exit code 2, nothing on standard output, and one line on standard error that contains the messages."""
    code, out, err = done
    assert (code, out) == (2, ""), done
    assert err.startswith("askalike: ")
    assert err.count("\n") == 1
    for message in messages:
        assert message in err


def environment() -> dict[str, str]:
    """The environment of a process that imports the askalike under test."""
    return os.environ | {"PYTHONPATH": str(Path(package.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
