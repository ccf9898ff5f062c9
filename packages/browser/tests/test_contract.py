"""The format keeps to the contract of exports."""

import pytest

from contracts.export_contract import *  # noqa: F403 (tests and their fixtures)


@pytest.fixture
def format() -> str:
    """The name as users type it."""
    return "static-site"
