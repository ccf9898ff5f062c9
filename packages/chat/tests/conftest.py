"""A service of the bundled archive, and the small servers that the bot talks to."""

import logging
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from calibration.riverside import riverside
from chat_servers import ChatServer, DiscordServer, SlackServer, ZulipServer
from service.serving import Service

KINDS: dict[str, type[ChatServer]] = {"zulip": ZulipServer, "slack": SlackServer, "discord": DiscordServer}


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled archive; tests must not change it."""
    return riverside(tmp_path_factory.mktemp("example") / "desk")


@pytest.fixture
def archive(example: Path, tmp_path: Path) -> Path:
    """A copy of the bundled archive."""
    return Path(shutil.copytree(example, tmp_path / "desk"))


@pytest.fixture
def serve() -> Iterator[Callable[..., Service]]:
    """Start services that are ended afterwards."""
    started: list[Service] = []

    def start(archive: Path, *options: str) -> Service:
        started.append(Service(archive, options=options, ranker=("--ranker", "bm25")))
        return started[-1]

    yield start
    for service in started:
        if service.process.poll() is None:
            service.end()


@pytest.fixture(scope="session")
def desk(example: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of a copy of the bundled archive, for all tests."""
    copy = Path(shutil.copytree(example, tmp_path_factory.mktemp("desk") / "desk"))
    service = Service(copy, ranker=("--ranker", "bm25"))
    yield service
    service.end()


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A small server of each product."""
    with KINDS[request.param]() as running:
        yield running


@pytest.fixture(autouse=True)
def every_event_is_understood(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail a test in which the bot met an event that it does not know, or has a fault, unless that is its subject."""
    caplog.set_level(logging.INFO, "askalike_chat")
    yield
    if "odd" not in request.node.name:
        assert "an event was not understood" not in caplog.messages
    if "fault" not in request.node.name:
        assert "an event had no effect, by a fault of the bot" not in caplog.messages
