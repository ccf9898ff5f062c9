"""A process that answers requests at a socket that it was given."""

import logging
import socket
import sys
from contextlib import suppress

import uvicorn

from askalike.errors import AskalikeError
from askalike.service.app import create_app
from askalike.service.log import JsonLines
from askalike.service.opening import Opened
from askalike.service.protocol import protocol
from askalike.service.rate import Rate
from askalike.service.settings import ServiceSettings

GRACE_S = 10
KEEP_ALIVE_S = 5
SWITCH_S = 0.0005
"""How long a search holds Python's lock where a request waits to be taken; ten times that is the default."""


class Server(uvicorn.Server):
    """Says `ready` on standard output once requests are taken."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begins to take requests."""
        await super().startup(sockets)
        print("ready", flush=True)


def prepare(settings: ServiceSettings) -> None:
    """Searches once what is indexed already: what is loaded on first use is there when requests are taken."""
    for path in settings.folders().values():
        with suppress(AskalikeError):  # said when it is opened in earnest
            Opened.open(settings, path).engine.close()


def run(settings: ServiceSettings, listening: int, rate_number: int) -> None:
    """Answers until it is told to end; then it finishes the requests that it has begun.

    The numbers are file descriptors: of the socket, and of what the processes count callers in.
    """
    _log_as_json()
    sys.setswitchinterval(SWITCH_S)
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
        loop="uvloop",
    )
    Server(config).run([socket.socket(fileno=listening)])


def _log_as_json() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("askalike").setLevel(logging.INFO)
