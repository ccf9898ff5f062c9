"""A thread with something that only it may touch, and a bounded queue before it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class OverloadedError(Exception):
    """More work waits for a lane than it may hold: the request is turned away."""


class BoundedExecutor(Generic[T]):
    """Runs work on `held`, one piece after the other, in a thread of its own: the event loop goes on meanwhile."""

    def __init__(self, resource: T, max_waiting: int, timeout_s: float) -> None:
        self._resource = resource
        self._max_waiting = max_waiting
        self._timeout_s = timeout_s
        self._waiting = 0
        self._thread = ThreadPoolExecutor(1)

    async def run(self, work: Callable[[T], R]) -> R:
        """What the work returns. Raises OverloadedError where too much waits, TimeoutError where it takes too long.

        What has not begun when its time is up is never begun; what has begun is finished, and nobody told.
        """
        if self._waiting >= self._max_waiting:
            raise OverloadedError
        self._waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._thread, self._run_work, work)
        future.add_done_callback(self._release_slot)
        async with asyncio.timeout(self._timeout_s):
            return await future

    def close(self) -> None:
        """Finishes what waits, then ends the thread."""
        self._thread.shutdown()

    def _run_work(self, work: Callable[[T], R]) -> R:
        return work(self._resource)

    def _release_slot(self, _: object) -> None:
        self._waiting -= 1
