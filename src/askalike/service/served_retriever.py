"""The retriever of a served archive, the ranker that it was opened with, and how far the ranker's index is behind."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Self

from askalike import rankers
from askalike.calibration.calibration import calibration_version
from askalike.core.errors import SettingsError, UnknownSettingError
from askalike.core.files import measure_folder
from askalike.index.files import MANIFEST
from askalike.rankers import Ranker
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.service.settings import ServiceSettings
from askalike.store import Archive, ServedRanker, View
from askalike.store.contents import pending_changes
from askalike.store.deployments import ready_ranker


@dataclass(frozen=True, slots=True)
class ServedRetriever:
    """A retriever, and the deployment and calibration that it was opened with."""

    retriever: ArchiveRetriever
    version: tuple[int | None, int]
    """The number of the ranker's deployment, None for the default ranker, and the version of its calibration."""
    ranker_pinned: bool
    """Whether the service was started with a named ranker, which deployments do not replace."""

    @classmethod
    def open(cls, settings: ServiceSettings, path: Path) -> Self:
        """Open an archive's retriever and search once, to load everything lazy. Raises ArchiveError, SettingsError."""
        archive = Archive.open(path, settings.engine)
        ranker_pinned = settings.ranker is not None
        ranker = resolve_ranker(settings, path, ready_ranker(archive))
        version = _retriever_version(archive, ranker, ranker_pinned)
        retriever = ArchiveRetriever(
            archive, ranker, archive.committed_view(), settings.filter, settings.answered_first
        )
        for _, _, title in list(islice(archive.view().titles(), 1)):
            retriever.search(title, 1, prefix=True)
        return cls(retriever, version, ranker_pinned)

    def is_stale(self, archive: Archive) -> bool:
        """Return whether another ranker has been deployed, or the ranker recalibrated, since it was opened."""
        return self.version != _retriever_version(archive, self.retriever.ranker, self.ranker_pinned)


def _retriever_version(archive: Archive, ranker: Ranker, ranker_pinned: bool) -> tuple[int | None, int]:
    served = None if ranker_pinned else ready_ranker(archive)
    return served.number if served else None, calibration_version(archive, ranker)


def resolve_ranker(settings: ServiceSettings, path: Path, served: ServedRanker | None) -> Ranker:
    """Return the ranker named at the start, else the deployed one, else the default. Raises SettingsError."""
    try:
        if settings.ranker or served is None:
            return rankers.create(settings.ranker or rankers.DEFAULT_NAME, settings.values, path)
        return rankers.create(served.ranker, {**served.settings, **settings.values}, path)
    except UnknownSettingError as error:
        if not settings.values:
            raise
        raise SettingsError(f"{error}; settings of the service: {', '.join(type(settings).assignable())}") from None


TRIAL_BYTES = 1 << 18


def can_write(archive: Archive) -> bool:
    """Return whether the archive's folder takes a file, unlike on a full disk; nothing of it stays."""
    try:
        with TemporaryFile(dir=archive.path) as file:
            file.write(bytes(TRIAL_BYTES))
    except OSError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The number of changes by which an index is behind its archive, and its size on disk."""

    behind: int
    lag_s: float
    """The age of the oldest of them in seconds; 0 if there is none."""
    size_bytes: int


def index_status(archive: Archive, ranker: Ranker) -> IndexStatus:
    """Return the status of the ranker's index, read from its files or the cluster, as another process writes it."""
    view = archive.view()
    if view.engine:
        behind, oldest = pending_changes(view, min((index.change for index in ranker.indexes(view)), default=0))
        return IndexStatus(behind, _seconds_since(oldest) if oldest else 0.0, 0)
    paths = ranker.index_paths(view)
    behind, oldest = pending_changes(archive, min(map(_committed_change, paths), default=0))
    return IndexStatus(behind, _seconds_since(oldest) if oldest else 0.0, sum(map(measure_folder, paths)))


def is_present(ranker: Ranker, view: View) -> bool:
    """Return whether each of the ranker's indexes was built, and is still there; an empty archive needs none."""
    if view.engine:
        return not view.change or all(index.change for index in ranker.indexes(view))
    return not view.change or all((path / MANIFEST).exists() for path in ranker.index_paths(view))


def _committed_change(index: Path) -> int:
    try:
        return int(json.loads((index / MANIFEST).read_text(encoding="utf-8"))["change"])
    except (OSError, ValueError, KeyError):  # not built yet, or damaged and about to be rebuilt by the indexer
        return 0


def _seconds_since(moment: str) -> float:
    start = datetime.fromisoformat(moment)
    return max(0.0, (datetime.now(UTC) - (start if start.tzinfo else start.replace(tzinfo=UTC))).total_seconds())
