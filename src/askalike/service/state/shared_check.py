"""A check that those who ask for it at the same time share: however many they are, it costs one."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

ResultT = TypeVar("ResultT")


class SharedCheck(Generic[ResultT]):
    """Begins the check unless it is under way."""

    def __init__(self, check: Callable[[], Coroutine[Any, Any, ResultT]]) -> None:
        self._check = check
        self._running: asyncio.Task[ResultT] | None = None

    async def result(self) -> ResultT:
        """Return what the check under way returns. Raises what it raises."""
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._check())
        return await asyncio.shield(self._running)  # one who no longer waits does not end it for the others
