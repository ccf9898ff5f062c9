"""A process that answers requests on a socket that all workers share."""

import asyncio
import gc
import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

import uvicorn
from threadpoolctl import threadpool_limits

from askalike.core.errors import AskalikeError
from askalike.service.app import create_app
from askalike.service.log import start_log
from askalike.service.processes.child import Heartbeat
from askalike.service.processes.protocol import configure
from askalike.service.served_retriever import ServedRetriever
from askalike.service.settings import ServiceSettings
from askalike.service.shared_files import SharedFiles

BLAS_THREADS_VARIABLE = "OPENBLAS_NUM_THREADS"
"""If it is unset, a worker limits numpy to one thread: the matrix products of a request are too small for more."""
GRACE_S = 10
KEEP_ALIVE_S = 5
SWITCH_INTERVAL_S = 0.0005
"""Time for which a search may hold the GIL while a request waits, a tenth of Python's default."""
GC_THRESHOLDS = 1_000, 10, 10
"""Thresholds of Python's garbage collector; on the command line they are far higher."""


class Server(uvicorn.Server):
    """A server that notifies its supervisor once it accepts requests, and beats in its event loop from then on."""

    def __init__(self, config: uvicorn.Config, parent: Connection, heartbeat: Heartbeat) -> None:
        super().__init__(config)
        self._parent = parent
        self._heartbeat = heartbeat

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._beating = asyncio.create_task(self._heartbeat.beat_in_loop())
        _collect_garbage_often()
        self._parent.send(None)


def run(
    settings: ServiceSettings, parent: Connection, folder: Path, row: int, listener: socket.socket,
    faults: Mapping[str, str],
) -> None:  # fmt: skip
    """Answer requests until the process is asked to end; then finish those that have begun.

    folder, row: see SharedFiles. faults: see create_app.
    """
    shared = SharedFiles(folder, row, settings)
    heartbeat = Heartbeat(shared)
    if BLAS_THREADS_VARIABLE not in os.environ:
        threadpool_limits(1, user_api="blas")
    _prepare(settings)
    parent.recv()
    start_log()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    config = configure(
        create_app(settings, shared, faults),
        settings,
        lifespan="on",
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=KEEP_ALIVE_S,
        loop="uvloop",
    )
    Server(config, parent, heartbeat).run([listener])


def _collect_garbage_often() -> None:
    """Make Python collect garbage in small steps, and only new objects: every request waits for a step."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


def _prepare(settings: ServiceSettings) -> None:
    """Search each index once, so that everything loaded lazily is loaded before requests are accepted."""
    for path in settings.archive_paths().values():
        with suppress(AskalikeError):  # the application raises it again when it opens the archive
            ServedRetriever.open(settings, path).retriever.close()
