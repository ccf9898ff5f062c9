"""The command line as its tests run it: inside this process, for speed."""

from collections.abc import Callable

import pytest

from commands import askalike


@pytest.fixture
def run() -> Callable[..., tuple[int, str, str]]:
    """Runs a command line: its exit code, and what it printed on standard output and standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        done = askalike(*arguments)
        return done.returncode, done.stdout, done.stderr

    return run
