"""Work split into pieces, done in this process or on the cores and machines of a Ray cluster."""

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from askalike.core.errors import SettingsError

PieceT = TypeVar("PieceT")
ResultT = TypeVar("ResultT")
LOCAL = "auto"
"""The name for a temporary Ray cluster of this machine's cores."""
MAX_RETRIES = 5
"""Number of times that a piece is retried if its worker is lost."""
PIECES_PER_CORE = 2
"""Maximum number of pieces per core that are queued or running, since each is held in memory."""


_ray: ContextVar[Any] = ContextVar("ray", default=None)


@contextmanager
def work_on(cluster: str | None) -> Iterator[None]:
    """Make `map_pieces` use a Ray cluster until the context ends.

    cluster: `auto`, or the address of a running cluster; None for this process. Raises SettingsError if Ray is not
    installed or no cluster answers.
    """
    if cluster is None:
        yield
        return
    with _connect(cluster) as ray:
        token = _ray.set(ray)
        try:
            yield
        finally:
            _ray.reset(token)


@contextmanager
def work_here() -> Iterator[None]:
    """Make `map_pieces` use this process until the context ends, even if there is a cluster."""
    token = _ray.set(None)
    try:
        yield
    finally:
        _ray.reset(token)


def has_cluster() -> bool:
    """Return whether `map_pieces` currently uses a cluster."""
    return _ray.get() is not None


def map_pieces(function: Callable[[PieceT], ResultT], pieces: Iterable[PieceT]) -> Iterator[ResultT]:
    """Yield the function's result for each piece, in order.

    On a cluster, a piece whose worker is lost is retried on another one.
    """
    ray = _ray.get()
    return map(function, pieces) if ray is None else _map_on_ray(ray, function, pieces)


def _map_on_ray(ray: Any, function: Callable[[PieceT], ResultT], pieces: Iterable[PieceT]) -> Iterator[ResultT]:
    work, shared = ray.remote(max_retries=MAX_RETRIES)(_apply), ray.put(function)
    limit = PIECES_PER_CORE * max(1, int(ray.cluster_resources().get("CPU", 1)))
    waiting: deque[Any] = deque()
    for piece in pieces:
        waiting.append(work.remote(shared, piece))
        if len(waiting) >= limit:
            yield ray.get(waiting.popleft())
    while waiting:
        yield ray.get(waiting.popleft())


def _apply(function: Callable[[PieceT], ResultT], piece: PieceT) -> ResultT:
    return function(piece)


@contextmanager
def _connect(cluster: str) -> Iterator[Any]:
    """Yield Ray, connected to a cluster until the context ends; a temporary cluster is then shut down."""
    try:
        import ray
    except ImportError:
        raise SettingsError("--cluster needs the extra: pip install 'askalike[ray]'") from None
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    with _environment(RAY_USAGE_STATS_ENABLED="0"):  # else Ray sends usage statistics
        try:
            if cluster == LOCAL:
                with _loopback_alone():
                    ray.init(_node_ip_address="127.0.0.1", num_cpus=os.cpu_count(), include_dashboard=False, **options)
            else:
                ray.init(address=cluster, **options)
        except (ConnectionError, ValueError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
            raise SettingsError(
                f"--cluster {cluster}: no Ray cluster there ({reason}); expected auto, or HOST:PORT"
            ) from None
        try:
            yield ray
        finally:
            ray.shutdown()


@contextmanager
def _loopback_alone() -> Iterator[None]:
    """Make the nodes that Ray starts inside the `with` block listen on 127.0.0.1.

    Ray replaces that address by the machine's own if clusters of several machines are possible. It reads that from
    the environment on import, which may have been long ago; the processes that it starts read it again.
    """
    from ray._private import ray_constants

    before, ray_constants.ENABLE_RAY_CLUSTER = ray_constants.ENABLE_RAY_CLUSTER, False
    try:
        with _environment(RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0"):
            yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Set variables of the environment until the context ends."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
