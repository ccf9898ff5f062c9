"""Fixtures of these tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from askalike import Archive
from kitchen import make_kitchen

pytest_plugins = ("shared_fixtures", "shared_experiments")


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Small networks train on one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    """A small archive to train on."""
    with make_kitchen(tmp_path / "kitchen") as archive:
        yield archive
