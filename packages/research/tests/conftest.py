"""Fixtures of these tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from askalike import Archive

pytest_plugins = ("shared_fixtures", "shared_experiments")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need real data."""
    for item in items:
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker("data")


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    """An empty archive."""
    with Archive.create(tmp_path / "archive") as archive:
        yield archive


@pytest.fixture(scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Files are not flushed to the disk, for tests that write thousands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: None)
        yield
