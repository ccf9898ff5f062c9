"""A process that answers requests at an inherited socket."""

import logging
import socket
import sys
from contextlib import suppress
from functools import partial

import uvicorn

from askalike.errors import AskalikeError
from askalike.service.app import create_app
from askalike.service.log import JsonFormatter
from askalike.service.processes.protocol import TimedHttpProtocol
from askalike.service.settings import ServiceSettings
from askalike.service.state.engine_state import ServedEngine
from askalike.service.state.rate import RateLimiter

GRACE_S = 10
KEEP_ALIVE_S = 5
SWITCH_INTERVAL_S = 0.0005
"""How long a search may hold Python's lock while a request waits, a tenth of Python's default."""


class Server(uvicorn.Server):
    """A server that prints `ready` once it accepts requests."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print("ready", flush=True)


def prepare(settings: ServiceSettings) -> None:
    """Search each index once, so that what loads lazily is there when requests are accepted."""
    for path in settings.archive_paths().values():
        with suppress(AskalikeError):  # the error shows when the application opens it
            ServedEngine.open(settings, path).engine.close()


def run(settings: ServiceSettings, socket_fd: int, rate_fd: int) -> None:
    """Answer requests until the process is asked to end; then finish those that have begun."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("askalike").setLevel(logging.INFO)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    receive_s, max_connections = settings.receive_s, settings.max_connections
    protocol = partial(TimedHttpProtocol, receive_s=receive_s, max_connections=max_connections)
    config = uvicorn.Config(
        create_app(settings, RateLimiter(rate_fd, settings.requests_per_s, settings.burst)),
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=KEEP_ALIVE_S,
        http=protocol,  # type: ignore[arg-type]
        ws="none",
        loop="uvloop",
    )
    Server(config).run([socket.socket(fileno=socket_fd)])
