"""An archive that is served: one thread searches it, another reads and writes it, an indexer elsewhere follows."""

from collections.abc import Callable
from typing import Self, TypeVar

from askalike.archive.keys import Key, verified
from askalike.archive.settled import settled
from askalike.archive.store import Archive
from askalike.engines.local import Local
from askalike.service.following import Following, following
from askalike.service.lane import Lane
from askalike.service.served import served_ranker
from askalike.service.settings import ServiceSettings

R = TypeVar("R")


class Desk:
    """One archive with the ranker that it serves."""

    def __init__(self, name: str, engine: Local, archive: Archive, settings: ServiceSettings) -> None:
        self.name = name
        self.model = engine.ranker.name
        self.keep_days = settings.keep_days
        self._engine = engine
        self._archive = archive
        self._keys = Archive.open(archive.path)
        self._searching = Lane(engine, settings.max_waiting, settings.timeout_s)
        self._storing = Lane(archive, settings.max_waiting, settings.timeout_s)

    @classmethod
    def open(cls, name: str, settings: ServiceSettings) -> Self:
        """The archive of that name. Raises ArchiveError, SettingsError."""
        path = settings.folders()[name]
        archive = Archive.open(path)
        engine = Local(archive, served_ranker(settings, path), settled(archive))
        _warm(engine)
        return cls(name, engine, Archive.open(path), settings)

    def key(self, text: str) -> Key | None:
        """The key that somebody shows, if it is good for this archive."""
        return verified(self._keys.connection, text)

    async def search(self, ask: Callable[[Local], R]) -> R:
        """What a search finds in the state last indexed."""
        return await self._searching.run(ask)

    async def store(self, work: Callable[[Archive], R]) -> R:
        """What the work on the archive returns; what it wrote is committed then."""
        return await self._storing.run(work)

    async def following(self) -> Following:
        """Where its index stands."""
        return await self.store(lambda archive: following(archive, self._engine.ranker))

    def close(self) -> None:
        """Finishes what is begun and closes the archive."""
        self._searching.close()
        self._storing.close()
        self._engine.close()
        self._archive.close()
        self._keys.close()


def _warm(engine: Local) -> None:
    """Searches once, so that the first person who asks does not wait for what is loaded on first use."""
    titles = engine.archive.connection.execute("SELECT title FROM questions LIMIT 1").fetchall()
    for (title,) in titles:
        engine.search(title, 1, prefix=True)
