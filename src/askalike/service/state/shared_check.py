"""A check shared by concurrent callers: it runs once for all of them."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

ResultT = TypeVar("ResultT")


class SharedCheck(Generic[ResultT]):
    """Runs the check unless it is already running."""

    def __init__(self, check: Callable[[], Coroutine[Any, Any, ResultT]]) -> None:
        self._check = check
        self._running: asyncio.Task[ResultT] | None = None

    async def result(self) -> ResultT:
        """Return the result of the running check. Raises its exception."""
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._check())
        return await asyncio.shield(self._running)  # a cancelled caller does not cancel it for the others
