"""Fixtures that every test may use; without torch, if the variable WITHOUT_TORCH is set."""

import fcntl
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

import random_examples  # noqa: F401 (how many examples property tests draw)
from askalike import rankers
from askalike.calibration.calibrate import calibrate
from askalike.core import parallel
from askalike.store.archive import Archive
from calibration.riverside import DEFAULT_RANKER, riverside
from chromium import browser  # noqa: F401 (a fixture)
from needs import SHARED_DATA
from without_torch import needs_torch

# Ray reads these on import: its cluster listens at 127.0.0.1, with a token of its own instead of one in the home
os.environ |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": uuid4().hex}


def is_torch_run(config: pytest.Config) -> bool:
    return str(config.option.markexpr).startswith("torch")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Reads only files with tests of the chosen kind: those that need torch, or the others."""
    if os.environ.get("WITHOUT_TORCH"):
        return True if needs_torch(collection_path) else None
    if not is_torch_run(config) or collection_path.suffix != ".py" or needs_torch(collection_path):
        return None
    return True if "mark.torch" not in collection_path.read_text("utf-8") else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that need real data, and those in files that need torch."""
    for item in items:
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker("data")
        if needs_torch(item.path):
            item.add_marker("torch")


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    """An empty archive."""
    with Archive.create(tmp_path / "archive") as archive:
        yield archive


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


@pytest.fixture(scope="session")
def calibrated_riverside(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled example as an archive with a calibration of the default ranker. Copy it before changing it.

    One process of the run makes it, and each has a copy of its own.
    """
    made = run_folder / "calibrated-riverside"
    with open(run_folder / "calibrated-riverside-lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            path = riverside(tmp_path_factory.mktemp("making") / "riverside")
            with Archive.open(path) as archive:
                calibrate(archive, rankers.create(DEFAULT_RANKER)).calibration.save(path)
            path.rename(made)
    return Path(shutil.copytree(made, tmp_path_factory.mktemp("calibrated") / "riverside"))


@pytest.fixture(scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Files are not flushed to the disk, for tests that write thousands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: None)
        yield


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
def without_figures(monkeypatch):
    """Reports have no figures, which take most of an experiment's time; experiments/test_report.py draws them."""
    from askalike.experiments import report

    monkeypatch.setattr(report, "draw_figures", lambda *of: [])


@pytest.fixture
def ray():
    return pytest.importorskip("ray", reason="needs the extra ray")


@pytest.fixture(scope="session")
def ray_cluster(tmp_path_factory):
    """The address of a Ray cluster of two cores, which listens at 127.0.0.1 only."""
    pytest.importorskip("ray", reason="needs the extra ray")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    folder = tempfile.mkdtemp(prefix="ray")  # a socket's path has at most 107 characters
    start = [Path(sys.executable).with_name("ray"), "start", "--head", "--node-ip-address=127.0.0.1", "--block"]
    options = [f"--port={address.split(':')[1]}", "--num-cpus=2", "--include-dashboard=false", f"--temp-dir={folder}"]
    command = [*start, "--disable-usage-stats", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as cluster:
        try:
            assert any("Ray runtime started" in line for line in cluster.stdout), "no Ray cluster"
            yield address
        finally:
            cluster.terminate()
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def fragile_workers(monkeypatch, tmp_path):
    """The first worker of Ray that works on a kind of piece is killed at it."""
    folder = tmp_path / "killed"
    folder.mkdir()

    def call(function, piece):
        marker = folder / getattr(function, "func", function).__name__
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return function(piece)

    monkeypatch.setattr(parallel, "_call", call)
    yield
    assert list(folder.iterdir())
