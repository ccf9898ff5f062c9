"""A process that answers requests at a socket that it was given."""

import logging
import socket
import sys
from contextlib import suppress

import uvicorn

from askalike.errors import AskalikeError
from askalike.service.app import create_app
from askalike.service.log import JsonFormatter
from askalike.service.processes.protocol import create_protocol_factory
from askalike.service.settings import ServiceSettings
from askalike.service.state.engine_state import ServedEngine
from askalike.service.state.rate import RateLimiter

GRACE_S = 10
KEEP_ALIVE_S = 5
SWITCH_INTERVAL_S = 0.0005
"""How long a search holds Python's lock where a request waits to be taken; ten times that is the default."""


class Server(uvicorn.Server):
    """Says `ready` on standard output once requests are taken."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begins to take requests."""
        await super().startup(sockets)
        print("ready", flush=True)


def prepare(settings: ServiceSettings) -> None:
    """Searches once what is indexed already: what is loaded on first use is there when requests are taken."""
    for path in settings.archive_paths().values():
        with suppress(AskalikeError):  # said when it is opened in earnest
            ServedEngine.open(settings, path).engine.close()


def run(settings: ServiceSettings, socket_fd: int, rate_fd: int) -> None:
    """Answers until it is told to end; then it finishes the requests that it has begun.

    The numbers are file descriptors: of the socket, and of what the processes count callers in.
    """
    _configure_json_logging()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    config = uvicorn.Config(
        create_app(settings, RateLimiter(rate_fd, settings.requests_per_s, settings.burst)),
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=KEEP_ALIVE_S,
        http=create_protocol_factory(settings),
        ws="none",
        loop="uvloop",
    )
    Server(config).run([socket.socket(fileno=socket_fd)])


def _configure_json_logging() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("askalike").setLevel(logging.INFO)
