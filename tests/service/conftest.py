"""Archives, services and a browser for the service's tests."""

import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from serving import Service, index

from askalike.readers import import_archive
from askalike.service import REQUIRED_MODULES

collect_ignore_glob = ["test_*.py"] if any(find_spec(name) is None for name in REQUIRED_MODULES) else []

EXAMPLE = Path(__file__).parents[2] / "examples" / "riverside.csv"


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled archive, imported and indexed once; tests must not change it."""
    path = tmp_path_factory.mktemp("example") / "riverside"
    import_archive("table", [EXAMPLE], path)
    return index(path)


@pytest.fixture
def archive(example: Path, tmp_path: Path) -> Path:
    """A copy of the bundled archive."""
    return Path(shutil.copytree(example, tmp_path / "riverside"))


@pytest.fixture(scope="module")
def service(example: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of a copy of the bundled archive, for all tests of a file."""
    copy = Path(shutil.copytree(example, tmp_path_factory.mktemp("served") / "riverside"))
    service = Service(copy)
    yield service
    service.end()


@pytest.fixture
def serve() -> Iterator[Callable[..., Service]]:
    """Start services that are ended after the test."""
    started: list[Service] = []

    def start(*archives: Path, **arguments: tuple[str, ...]) -> Service:
        started.append(Service(*archives, **arguments))
        return started[-1]

    yield start
    for service in started:
        if service.process.poll() is None:
            service.end()
