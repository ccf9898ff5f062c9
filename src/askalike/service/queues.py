"""The queues of an archive: a thread that works on one resource, and writes that are made as a batch."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Generic, TypeVar

from askalike.service.settings import ServiceSettings
from askalike.store import Archive
from askalike.store.editing import write_together

WRITE_WINDOW_S = 0.1
"""Time after the beginning of a batch of writes in which further ones are collected for the next batch."""
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


class WriteBatcher:
    """Collects writes and makes those of a window in one transaction, in order of arrival.

    A write that comes after a pause, or while nobody searches, is made at once. Each is answered when it is durable; an
    error is that of its own write.
    """

    def __init__(
        self, executor: BoundedExecutor[Archive], settings: ServiceSettings, is_searching: Callable[[], bool]
    ) -> None:
        self._executor, self._settings, self._is_searching = executor, settings, is_searching
        self._waiting: list[tuple[Callable[[Archive], Any], asyncio.Future[Any]]] = []
        self._writing: asyncio.Task[None] | None = None
        self._next_at = 0.0

    async def run(self, write: Callable[[Archive], ResultT]) -> ResultT:
        """Return the result of a write. Raises OverloadedError, TimeoutError, and what the write raises."""
        if len(self._waiting) >= self._settings.max_waiting:
            raise OverloadedError
        result: asyncio.Future[ResultT] = asyncio.get_running_loop().create_future()
        self._waiting.append((write, result))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_waiting())
        async with asyncio.timeout(self._settings.timeout_s):
            return await result

    async def _write_waiting(self) -> None:
        clock = asyncio.get_running_loop().time
        while self._waiting:
            await asyncio.sleep(self._next_at - clock() if self._is_searching() else 0)
            self._next_at = clock() + WRITE_WINDOW_S
            batch = [(write, result) for write, result in self._waiting if not result.done()]
            self._waiting = []
            try:
                outcomes = await self._executor.run(partial(write_together, writes=[write for write, _ in batch]))
            except Exception as error:  # which each of the requests reports
                outcomes = [error] * len(batch)
            for (_, result), outcome in zip(batch, outcomes, strict=True):
                if not result.done():
                    result.set_exception(outcome) if isinstance(outcome, Exception) else result.set_result(outcome)
