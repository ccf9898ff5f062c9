"""The engine whose indexes are in the archive's directory keeps to the contract of engines."""

import pytest

from contracts.engine_contract import *  # noqa: F403 (tests and their fixtures)


@pytest.fixture
def address():
    """The archive's directory."""
    return
