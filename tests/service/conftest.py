"""Archives, services and a browser for the service's tests."""

import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from serving import Service, index

from askalike.service import REQUIRED_MODULES
from calibration.riverside import riverside

collect_ignore_glob = ["test_*.py"] if any(find_spec(name) is None for name in REQUIRED_MODULES) else []


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled archive, imported and indexed once; tests must not change it."""
    return index(riverside(tmp_path_factory.mktemp("example") / "riverside"))


@pytest.fixture(scope="session")
def copy(example: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Copy the bundled archive, or another one, into a folder of its own."""

    def copy_archive(path: Path = example) -> Path:
        return Path(shutil.copytree(path, tmp_path_factory.mktemp("copy") / "riverside"))

    return copy_archive


@pytest.fixture
def archive(copy: Callable[..., Path]) -> Path:
    """A copy of the bundled archive."""
    return copy()


def start_services() -> Iterator[Callable[..., Service]]:
    """Start services that are ended afterwards."""
    started: list[Service] = []

    def start(*archives: Path, **arguments: tuple[str, ...]) -> Service:
        started.append(Service(*archives, **arguments))
        return started[-1]

    yield start
    for service in started:
        if service.process.poll() is None:
            service.end()


serve = pytest.fixture(start_services)
"""For services of one test."""
serve_all = pytest.fixture(start_services, scope="module")
"""For services of all tests of a file."""


@pytest.fixture(scope="module")
def service(copy: Callable[..., Path], serve_all: Callable[..., Service]) -> Service:
    """A service of a copy of the bundled archive, for all tests of a file."""
    return serve_all(copy())
