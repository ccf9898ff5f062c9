"""The engine that answers an archive's searches, and whether it is still the one that should."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from askalike.archive.serving import in_use
from askalike.archive.settled import settled
from askalike.archive.store import Archive
from askalike.engines._calibration import stamp
from askalike.engines.local import Local
from askalike.rankers import Ranker
from askalike.service.served import ranker_of
from askalike.service.settings import ServiceSettings


@dataclass(frozen=True, slots=True)
class Opened:
    """An engine with what it was opened for: which ranker is to be used, and the calibration of it."""

    engine: Local
    mark: tuple[int | None, int]
    named: bool
    """Whether the service was started with a ranker's name: then no other comes into service."""

    @classmethod
    def open(cls, settings: ServiceSettings, path: Path) -> Self:
        """Ready to search, so that the first person who asks does not wait for what is loaded on first use.

        Raises ArchiveError, SettingsError.
        """
        archive, named = Archive.open(path), settings.ranker is not None
        served = in_use(archive)
        ranker = ranker_of(settings, path, served)
        mark = _mark(archive, ranker, named)
        engine = Local(archive, ranker, settled(archive))
        for (title,) in archive.connection.execute("SELECT title FROM questions LIMIT 1").fetchall():
            engine.search(title, 1, prefix=True)
        return cls(engine, mark, named)

    def stale(self, archive: Archive) -> bool:
        """Whether another ranker is to be used, or what its scores mean is known anew."""
        return self.mark != _mark(archive, self.engine.ranker, self.named)


def _mark(archive: Archive, ranker: Ranker, named: bool) -> tuple[int | None, int]:
    served = None if named else in_use(archive)
    return served.number if served else None, stamp(archive, ranker)
