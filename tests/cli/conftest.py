"""The command line as its tests run it: inside this process, for speed."""

from collections.abc import Callable

import pytest

from commands import run_command


@pytest.fixture
def command() -> Callable[..., tuple[int, str, str]]:
    """See commands.run_command."""
    return run_command


@pytest.fixture
def run() -> Callable[..., tuple[int, str, str]]:
    """See commands.run_command."""
    return run_command
