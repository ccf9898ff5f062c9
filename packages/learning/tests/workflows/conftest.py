"""Fixtures of tests of what askalike's own commands and calls do with networks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from askalike import Archive
from calibration.riverside import riverside


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    """An empty archive."""
    with Archive.create(tmp_path / "archive") as archive:
        yield archive


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled example as an archive, for all tests of a file."""
    return riverside(tmp_path_factory.mktemp("cli") / "riverside")
