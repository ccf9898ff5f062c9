"""Has a running service search with a newly deployed ranker once its index is built."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from askalike.errors import AskalikeError
from askalike.service.log import log_event
from askalike.service.state.served_archive import ServedArchive

POLL_S = 0.5
RETRY_S = 60


@asynccontextmanager
async def hot_reload(served_archives: Iterable[ServedArchive]) -> AsyncIterator[None]:
    """Reload the engine of each archive whenever it is stale, as long as the block lasts."""
    tasks = [asyncio.create_task(_reload_when_stale(served_archive)) for served_archive in served_archives]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _reload_when_stale(served_archive: ServedArchive) -> None:
    while True:
        await asyncio.sleep(POLL_S)
        try:
            if served_archive.is_stale:
                await served_archive.reload_engine()
                log_event("ranker", archive=served_archive.name, model=served_archive.model)
        except AskalikeError as error:
            log_event("ranker", archive=served_archive.name, model=served_archive.model, error=str(error))
            await asyncio.sleep(RETRY_S)
