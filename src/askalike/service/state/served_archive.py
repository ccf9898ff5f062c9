"""An archive that is served: one thread searches it, another reads and writes it, an indexer process follows it."""

import asyncio
from collections.abc import Callable
from typing import Self, TypeVar

from askalike.engines.local import LocalEngine
from askalike.moderation.gaps import GapCache
from askalike.service.settings import ServiceSettings
from askalike.service.state.bounded_executor import BoundedExecutor
from askalike.service.state.engine_state import ServedEngine
from askalike.service.state.index_status import IndexStatus, index_status
from askalike.store import Archive
from askalike.store.keys import ApiKey, has_key_for_origin, session_key, verify_key

ResultT = TypeVar("ResultT")
ResourceT = TypeVar("ResourceT")


class ServedArchive:
    """One archive with the engine that searches it."""

    def __init__(self, name: str, served_engine: ServedEngine, archive: Archive, settings: ServiceSettings) -> None:
        self.name = name
        self.retention_days = settings.keep_days
        self.gap_cache = GapCache()
        self._settings = settings
        self._served_engine = served_engine
        self._archive = archive
        self._key_archive = Archive.open(archive.path)
        self._engine_executor = self._create_executor(served_engine.engine)
        self._archive_executor = self._create_executor(archive)

    @classmethod
    def open(cls, name: str, settings: ServiceSettings) -> Self:
        """Open the archive of that name. Raises ArchiveError, SettingsError."""
        path = settings.archive_paths()[name]
        return cls(name, ServedEngine.open(settings, path), Archive.open(path), settings)

    @property
    def model(self) -> str:
        """The name of the ranker in use."""
        return self._served_engine.engine.ranker.name

    @property
    def is_stale(self) -> bool:
        """Whether another ranker was deployed since the engine was opened, or its ranker was calibrated again."""
        return self._served_engine.is_stale(self._key_archive)

    async def reload_engine(self) -> None:
        """Open the engine of the deployed ranker for the next searches; searches under way end on the old one."""
        new_engine = await asyncio.to_thread(ServedEngine.open, self._settings, self._archive.path)
        old_engine, old_executor = self._served_engine, self._engine_executor
        self._served_engine, self._engine_executor = new_engine, self._create_executor(new_engine.engine)
        await asyncio.to_thread(old_executor.close)
        old_engine.engine.close()

    def verify_key(self, text: str, origin: str | None = None) -> ApiKey | None:
        """Return the key of that text, if it is valid for this archive and for pages of that origin."""
        return verify_key(self._key_archive, text, origin)

    def has_key_for_origin(self, origin: str) -> bool:
        """Return whether a key was created for pages of that origin."""
        return has_key_for_origin(self._key_archive, origin)

    def verify_session(self, secret: str) -> ApiKey | None:
        """Return the key that a session was begun with, if both are valid."""
        return session_key(self._key_archive, secret)

    async def run_on_engine(self, work: Callable[[LocalEngine], ResultT]) -> ResultT:
        """Return what the work on the engine returns. Raises OverloadedError, TimeoutError."""
        return await self._engine_executor.run(work)

    async def run_on_archive(self, work: Callable[[Archive], ResultT]) -> ResultT:
        """Return what the work on the archive returns, once it is committed. Raises OverloadedError, TimeoutError."""
        return await self._archive_executor.run(work)

    async def index_status(self) -> IndexStatus:
        """Return the status of its index."""
        return await self.run_on_archive(lambda archive: index_status(archive, self._served_engine.engine.ranker))

    def close(self) -> None:
        """Finish the work under way and close the archive."""
        self._engine_executor.close()
        self._archive_executor.close()
        self._served_engine.engine.close()
        self._archive.close()
        self._key_archive.close()

    def _create_executor(self, resource: ResourceT) -> BoundedExecutor[ResourceT]:
        return BoundedExecutor(resource, self._settings.max_waiting, self._settings.timeout_s)
