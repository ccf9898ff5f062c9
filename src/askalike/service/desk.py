"""An archive that is served: one thread searches it, another reads and writes it, an indexer elsewhere follows."""

import asyncio
from collections.abc import Callable
from typing import Self, TypeVar

from askalike.archive.keys import Key, published, verified
from askalike.archive.sessions import key_of
from askalike.archive.store import Archive
from askalike.curation.gaps import Latest
from askalike.engines.local import Local
from askalike.service.following import Following, following
from askalike.service.lane import Lane
from askalike.service.opening import Opened
from askalike.service.settings import ServiceSettings

R = TypeVar("R")
T = TypeVar("T")


class Desk:
    """One archive with the ranker that it serves."""

    def __init__(self, name: str, opened: Opened, archive: Archive, settings: ServiceSettings) -> None:
        self.name = name
        self.keep_days = settings.keep_days
        self.gaps = Latest()
        self._settings = settings
        self._opened = opened
        self._archive = archive
        self._keys = Archive.open(archive.path)
        self._searching = self._lane(opened.engine)
        self._storing = self._lane(archive)

    @classmethod
    def open(cls, name: str, settings: ServiceSettings) -> Self:
        """The archive of that name. Raises ArchiveError, SettingsError."""
        path = settings.folders()[name]
        return cls(name, Opened.open(settings, path), Archive.open(path), settings)

    @property
    def model(self) -> str:
        """The ranker in use."""
        return self._opened.engine.ranker.name

    @property
    def stale(self) -> bool:
        """Whether another ranker is to be used, or what its scores mean is known anew."""
        return self._opened.stale(self._keys)

    async def renew(self) -> None:
        """Searches with the ranker that is to be used from now on; requests before are answered by the one before."""
        opened = await asyncio.to_thread(Opened.open, self._settings, self._archive.path)
        before, searching = self._opened, self._searching
        self._opened, self._searching = opened, self._lane(opened.engine)
        await asyncio.to_thread(searching.close)
        before.engine.close()

    def key(self, text: str, origin: str | None = None) -> Key | None:
        """The key that somebody shows, if it is good for this archive and the origin of the page that shows it."""
        return verified(self._keys.connection, text, origin)

    def published(self, origin: str) -> bool:
        """Whether pages of that origin have a key."""
        return published(self._keys.connection, origin)

    def person(self, secret: str) -> Key | None:
        """The key that a session was begun with, if both are good."""
        return key_of(self._keys.connection, secret)

    async def search(self, ask: Callable[[Local], R]) -> R:
        """What a search finds in the state last indexed."""
        return await self._searching.run(ask)

    async def store(self, work: Callable[[Archive], R]) -> R:
        """What the work on the archive returns; what it wrote is committed then."""
        return await self._storing.run(work)

    async def following(self) -> Following:
        """Where its index stands."""
        return await self.store(lambda archive: following(archive, self._opened.engine.ranker))

    def close(self) -> None:
        """Finishes what is begun and closes the archive."""
        self._searching.close()
        self._storing.close()
        self._opened.engine.close()
        self._archive.close()
        self._keys.close()

    def _lane(self, held: T) -> Lane[T]:
        return Lane(held, self._settings.max_waiting, self._settings.timeout_s)
