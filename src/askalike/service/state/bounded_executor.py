"""A thread of its own for a resource that only one thread may use, with a bounded queue in front of it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

ResourceT = TypeVar("ResourceT")
ResultT = TypeVar("ResultT")


class OverloadedError(Exception):
    """The queue of an executor is full, so the request is turned away."""


class BoundedExecutor(Generic[ResourceT]):
    """Runs work on one resource, one piece after the other, in a thread of its own; the event loop is never blocked."""

    def __init__(self, resource: ResourceT, max_waiting: int, timeout_s: float) -> None:
        self._resource = resource
        self._max_waiting = max_waiting
        self._timeout_s = timeout_s
        self._n_waiting = 0
        self._thread = ThreadPoolExecutor(1)

    async def run(self, work: Callable[[ResourceT], ResultT]) -> ResultT:
        """Return what the work returns.

        Raises OverloadedError where the queue is full, TimeoutError where the result is not there in time. Work that
        has not begun by then is dropped; work that has begun is finished and its result discarded.
        """
        if self._n_waiting >= self._max_waiting:
            raise OverloadedError
        self._n_waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._thread, work, self._resource)
        future.add_done_callback(self._release_slot)
        async with asyncio.timeout(self._timeout_s):
            return await future

    def close(self) -> None:
        """Finish the work in the queue, then end the thread."""
        self._thread.shutdown()

    def _release_slot(self, _: object) -> None:
        self._n_waiting -= 1
