"""Has a running service take the ranker that was put into service, once its index is built."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from askalike.errors import AskalikeError
from askalike.service.desk import Desk
from askalike.service.log import say

EVERY_S = 0.5
RETRY_S = 60


@asynccontextmanager
async def renewing(desks: Iterable[Desk]) -> AsyncIterator[None]:
    """As long as the block lasts, each desk follows what its archive serves."""
    tasks = [asyncio.create_task(_follow(desk)) for desk in desks]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _follow(desk: Desk) -> None:
    while True:
        await asyncio.sleep(EVERY_S)
        try:
            if desk.stale:
                await desk.renew()
                say("ranker", archive=desk.name, model=desk.model)
        except AskalikeError as error:
            say("ranker", archive=desk.name, model=desk.model, error=str(error))
            await asyncio.sleep(RETRY_S)
