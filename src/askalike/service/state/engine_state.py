"""The engine that answers an archive's searches, and whether another ranker or calibration has replaced its own."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Self

from askalike import rankers
from askalike.calibration.calibration import calibration_version
from askalike.engines.local import LocalEngine
from askalike.rankers import Ranker
from askalike.service.settings import ServiceSettings
from askalike.store import Archive, ServedRanker
from askalike.store.deployments import ready_ranker


@dataclass(frozen=True, slots=True)
class ServedEngine:
    """An engine, and the deployment and calibration that it was opened with."""

    engine: LocalEngine
    version: tuple[int | None, int]
    """The number of the ranker's deployment, None for the default ranker, and the version of its calibration."""
    ranker_pinned: bool
    """Whether the service was started with a ranker by name, so that deployments do not replace it."""

    @classmethod
    def open(cls, settings: ServiceSettings, path: Path) -> Self:
        """Open the engine of an archive and search once, so that the first request does not wait for what loads lazily.

        Raises ArchiveError, SettingsError.
        """
        archive, ranker_pinned = Archive.open(path), settings.ranker is not None
        served = ready_ranker(archive)
        ranker = resolve_ranker(settings, path, served)
        version = _engine_version(archive, ranker, ranker_pinned)
        engine = LocalEngine(archive, ranker, archive.committed_view())
        for _, _, title in list(islice(archive.view().titles(), 1)):
            engine.search(title, 1, prefix=True)
        return cls(engine, version, ranker_pinned)

    def is_stale(self, archive: Archive) -> bool:
        """Return whether another ranker was deployed since, or the ranker was calibrated again."""
        return self.version != _engine_version(archive, self.engine.ranker, self.ranker_pinned)


def _engine_version(archive: Archive, ranker: Ranker, ranker_pinned: bool) -> tuple[int | None, int]:
    served = None if ranker_pinned else ready_ranker(archive)
    return served.number if served else None, calibration_version(archive, ranker)


def resolve_ranker(settings: ServiceSettings, path: Path, served: ServedRanker | None) -> Ranker:
    """Return the ranker that the service was started with, else the deployed one, else the default.

    Raises SettingsError.
    """
    if settings.ranker or served is None:
        return rankers.create(settings.ranker or rankers.default_name(), settings.values, path)
    return rankers.create(served.ranker, {**served.settings, **settings.values}, path)
