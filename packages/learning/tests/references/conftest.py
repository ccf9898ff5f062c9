"""Fixtures of tests that compare askalike with other libraries, which need torch."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from askalike import Archive


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    """An empty archive."""
    with Archive.create(tmp_path / "archive") as archive:
        yield archive
