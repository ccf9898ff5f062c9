"""Fixtures of these tests."""

from collections.abc import Iterator

import pytest

pytest_plugins = ("shared_fixtures", "shared_experiments")


@pytest.fixture(scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Files are not flushed to the disk, for tests that write thousands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: None)
        yield
