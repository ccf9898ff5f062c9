"""How the tests of askalike run, and fixtures that every one of them may use."""

import fcntl
import gc
import os
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

pytest_plugins = ("shared_fixtures",)
# Ray reads these on import: its cluster listens at 127.0.0.1, with a token of its own instead of one in the home
os.environ |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": uuid4().hex}


def pytest_configure() -> None:
    """Collects no garbage while tests are collected: CPython 3.11 fails if it does so within `ast.parse`."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Collects garbage again, but nothing of what was imported is any."""
    gc.freeze()
    gc.enable()


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
