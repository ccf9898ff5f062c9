"""Threads that work on one resource each, so as not to block the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from askalike.service.settings import ServiceSettings

ResourceT = TypeVar("ResourceT")
ResultT = TypeVar("ResultT")


class OverloadedError(Exception):
    """The queue of an executor is full, so the request is rejected."""


class BoundedExecutor(Generic[ResourceT]):
    """Runs tasks on one resource, one after the other, in a thread of its own, so as not to block the event loop."""

    def __init__(self, resource: ResourceT, settings: ServiceSettings) -> None:
        self._resource = resource
        self._settings = settings
        self._n_waiting = 0
        self._thread = ThreadPoolExecutor(1)

    async def run(self, work: Callable[[ResourceT], ResultT]) -> ResultT:
        """Return the result of the work.

        Raises OverloadedError if the queue is full, TimeoutError if the result is late. Work that has not begun by then
        is dropped; work that has begun is finished and its result discarded.
        """
        if self._n_waiting >= self._settings.max_waiting:
            raise OverloadedError
        self._n_waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._thread, work, self._resource)
        future.add_done_callback(self._release_slot)
        async with asyncio.timeout(self._settings.timeout_s):
            return await future

    def close(self) -> None:
        """Finish the work in the queue, then end the thread."""
        self._thread.shutdown()

    def _release_slot(self, _: object) -> None:
        self._n_waiting -= 1
