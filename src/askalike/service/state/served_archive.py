"""An archive that is served: one thread searches it, another reads and writes it, an indexer elsewhere follows."""

import asyncio
from collections.abc import Callable
from typing import Self, TypeVar

from askalike.engines.local import LocalEngine
from askalike.moderation.gaps import GapCache
from askalike.service.settings import ServiceSettings
from askalike.service.state.bounded_executor import BoundedExecutor
from askalike.service.state.engine_state import ServedEngine
from askalike.service.state.index_status import IndexStatus, index_status
from askalike.store.archive import Archive
from askalike.store.keys import ApiKey, has_key_for_origin, verify_key
from askalike.store.sessions import session_key

R = TypeVar("R")
T = TypeVar("T")


class ServedArchive:
    """One archive with the ranker that it serves."""

    def __init__(self, name: str, served_engine: ServedEngine, archive: Archive, settings: ServiceSettings) -> None:
        self.name = name
        self.keep_days = settings.keep_days
        self.gap_cache = GapCache()
        self._settings = settings
        self._served_engine = served_engine
        self._archive = archive
        self._key_archive = Archive.open(archive.path)
        self._engine_executor = self._create_executor(served_engine.engine)
        self._archive_executor = self._create_executor(archive)

    @classmethod
    def open(cls, name: str, settings: ServiceSettings) -> Self:
        """The archive of that name. Raises ArchiveError, SettingsError."""
        path = settings.archive_paths()[name]
        return cls(name, ServedEngine.open(settings, path), Archive.open(path), settings)

    @property
    def model(self) -> str:
        """The ranker in use."""
        return self._served_engine.engine.ranker.name

    @property
    def stale(self) -> bool:
        """Whether another ranker is to be used, or what its scores mean is known anew."""
        return self._served_engine.is_stale(self._key_archive)

    async def reload_engine(self) -> None:
        """Searches with the ranker that is to be used from now on; requests before are answered by the one before."""
        opened = await asyncio.to_thread(ServedEngine.open, self._settings, self._archive.path)
        before, searching = self._served_engine, self._engine_executor
        self._served_engine, self._engine_executor = opened, self._create_executor(opened.engine)
        await asyncio.to_thread(searching.close)
        before.engine.close()

    def verify_key(self, text: str, origin: str | None = None) -> ApiKey | None:
        """The key that somebody shows, if it is good for this archive and the origin of the page that shows it."""
        return verify_key(self._key_archive.connection, text, origin)

    def has_key_for_origin(self, origin: str) -> bool:
        """Whether pages of that origin have a key."""
        return has_key_for_origin(self._key_archive.connection, origin)

    def verify_session(self, secret: str) -> ApiKey | None:
        """The key that a session was begun with, if both are good."""
        return session_key(self._key_archive.connection, secret)

    async def run_on_engine(self, work: Callable[[LocalEngine], R]) -> R:
        """What a search finds in the state last indexed."""
        return await self._engine_executor.run(work)

    async def run_on_archive(self, work: Callable[[Archive], R]) -> R:
        """What the work on the archive returns; what it wrote is committed then."""
        return await self._archive_executor.run(work)

    async def index_status(self) -> IndexStatus:
        """Where its index stands."""
        return await self.run_on_archive(lambda archive: index_status(archive, self._served_engine.engine.ranker))

    def close(self) -> None:
        """Finishes what is begun and closes the archive."""
        self._engine_executor.close()
        self._archive_executor.close()
        self._served_engine.engine.close()
        self._archive.close()
        self._key_archive.close()

    def _create_executor(self, resource: T) -> BoundedExecutor[T]:
        return BoundedExecutor(resource, self._settings.max_waiting, self._settings.timeout_s)
