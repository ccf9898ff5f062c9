"""Fixtures that the tests of packages use, too."""

import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from askalike.core import registry
from askalike.store import Archive
from needs import SHARED_DATA


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need real data."""
    for item in items:
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker("data")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The real archives that lie beside the project; tests that need them skip where they are not."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs the real archives in ../shared/data")
    return SHARED_DATA


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of a run share: a worker of pytest-xdist has one of its own inside it."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    """An empty archive."""
    with Archive.create(tmp_path / "archive") as archive:
        yield archive


@pytest.fixture
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A disk of three megabytes, or of the size that the parameter names."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={getattr(request, 'param', '3m')}", "tmpfs", disk]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs root, to mount a small tmpfs")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.fixture
def limit_file_size():
    """`limit_file_size(n)`: no file can grow beyond n bytes, as on a full disk, until the test ends."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def add_package(tmp_path, monkeypatch):
    """Install a package of one module and its entry points, as a folder on the path with its metadata."""

    def add(name: str, entry_points: str, module: str = "") -> Path:
        metadata = tmp_path / f"{name}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(entry_points)
        (tmp_path / f"{name}.py").write_text(module)
        return tmp_path

    monkeypatch.syspath_prepend(tmp_path)
    registry.installed_entry_points.cache_clear()
    registry._entry_points.cache_clear()
    yield add
    registry.installed_entry_points.cache_clear()
    registry._entry_points.cache_clear()
