"""Work in pieces: in this process, or on the cores and machines of a Ray cluster."""

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from askalike.errors import SettingsError

PieceT = TypeVar("PieceT")
ResultT = TypeVar("ResultT")
LOCAL = "auto"
"""A Ray cluster of this machine's cores, for as long as the work takes."""
MAX_RETRIES = 5
"""How often a piece is done again whose worker was lost."""
PIECES_PER_CORE = 2
"""How many pieces wait or are worked on, as each is held in memory."""


def map_pieces(function: Callable[[PieceT], ResultT], pieces: Iterable[PieceT], cluster: str) -> Iterator[ResultT]:
    """Yield the function's result for each piece, in their order, worked out on a Ray cluster.

    cluster: `auto`, or the address of a running cluster. A piece whose worker is lost is done again by another one.
    Raises SettingsError where Ray is not installed, or no cluster answers.
    """
    ray = _connect(cluster)
    try:
        work, shared = ray.remote(max_retries=MAX_RETRIES)(_apply), ray.put(function)
        limit = PIECES_PER_CORE * max(1, int(ray.cluster_resources().get("CPU", 1)))
        waiting: deque[Any] = deque()
        for piece in pieces:
            waiting.append(work.remote(shared, piece))
            if len(waiting) >= limit:
                yield ray.get(waiting.popleft())
        while waiting:
            yield ray.get(waiting.popleft())
    finally:
        ray.shutdown()


def _apply(function: Callable[[PieceT], ResultT], piece: PieceT) -> ResultT:
    return function(piece)


def _connect(cluster: str) -> Any:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # Ray reports to its makers otherwise
    if cluster == LOCAL:  # it listens at the machine's own address otherwise, whatever node_ip_address says
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    try:
        import ray
    except ImportError:
        raise SettingsError("--cluster needs the extra: pip install 'askalike[ray]'") from None
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if cluster == LOCAL:
            ray.init(_node_ip_address="127.0.0.1", num_cpus=os.cpu_count(), include_dashboard=False, **options)
        else:
            ray.init(address=cluster, **options)
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise SettingsError(
            f"--cluster {cluster}: no Ray cluster there ({reason}); expected auto, or HOST:PORT"
        ) from None
    return ray
