"""The engine that answers an archive's searches, and whether it is still the one that should."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from askalike import rankers
from askalike.calibration.calibration import calibration_version
from askalike.engines.local import LocalEngine
from askalike.rankers import Ranker
from askalike.service.settings import ServiceSettings
from askalike.store.archive import Archive
from askalike.store.committed_view import committed_view
from askalike.store.deployments import ServedRanker, ready_ranker


@dataclass(frozen=True, slots=True)
class ServedEngine:
    """An engine with what it was opened for: which ranker is to be used, and the calibration of it."""

    engine: LocalEngine
    version: tuple[int | None, int]
    ranker_pinned: bool
    """Whether the service was started with a ranker's name: then no other comes into service."""

    @classmethod
    def open(cls, settings: ServiceSettings, path: Path) -> Self:
        """Ready to search, so that the first person who asks does not wait for what is loaded on first use.

        Raises ArchiveError, SettingsError.
        """
        archive, named = Archive.open(path), settings.ranker is not None
        served = ready_ranker(archive)
        ranker = resolve_ranker(settings, path, served)
        mark = _engine_version(archive, ranker, named)
        engine = LocalEngine(archive, ranker, committed_view(archive))
        for (title,) in archive.connection.execute("SELECT title FROM questions LIMIT 1").fetchall():
            engine.search(title, 1, prefix=True)
        return cls(engine, mark, named)

    def is_stale(self, archive: Archive) -> bool:
        """Whether another ranker is to be used, or what its scores mean is known anew."""
        return self.version != _engine_version(archive, self.engine.ranker, self.ranker_pinned)


def _engine_version(archive: Archive, ranker: Ranker, ranker_pinned: bool) -> tuple[int | None, int]:
    served = None if ranker_pinned else ready_ranker(archive)
    return served.number if served else None, calibration_version(archive, ranker)


def resolve_ranker(settings: ServiceSettings, path: Path, served: ServedRanker | None) -> Ranker:
    """The ranker that the service was started with, else the one in service, else the default. Raises SettingsError."""
    if settings.ranker or served is None:
        return rankers.create(settings.ranker or rankers.default_name(), settings.values, path)
    return rankers.create(served.ranker, {**served.settings, **settings.values}, path)
