"""A process that answers requests at a socket that it was given."""

import logging
import socket
import sys

import uvicorn

from askalike.service.app import create_app
from askalike.service.log import JsonLines
from askalike.service.protocol import protocol
from askalike.service.rate import Rate
from askalike.service.settings import ServiceSettings

GRACE_S = 10
KEEP_ALIVE_S = 5
LONGEST_HEAD = 32 << 10


class Server(uvicorn.Server):
    """Says `ready` on standard output once requests are taken."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begins to take requests."""
        await super().startup(sockets)
        print("ready", flush=True)


def run(settings: ServiceSettings, listening: int, rate_number: int) -> None:
    """Answers until it is told to end; then it finishes the requests that it has begun.

    The numbers are file descriptors: of the socket, and of what the processes count callers in.
    """
    _log_as_json()
    config = uvicorn.Config(
        create_app(settings, Rate(rate_number, settings.requests_per_s, settings.burst)),
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=KEEP_ALIVE_S,
        http=protocol(settings),
        ws="none",
        h11_max_incomplete_event_size=LONGEST_HEAD,
    )
    Server(config).run([socket.socket(fileno=listening)])


def _log_as_json() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("askalike").setLevel(logging.INFO)
