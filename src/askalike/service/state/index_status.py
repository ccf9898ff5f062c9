"""How far the index of an archive is behind it, read from the files: another process writes them."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from askalike.index.commits import MANIFEST
from askalike.rankers import Ranker
from askalike.store import Archive


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """How far an index is behind its archive, and its size on disk."""

    behind: int
    """The number of changes that cannot be searched yet."""
    lag_s: float
    """The seconds since the oldest of them was made; 0 where there is none."""
    size_bytes: int


def index_status(archive: Archive, ranker: Ranker) -> IndexStatus:
    """Return the status of the ranker's index of an archive."""
    paths = ranker.index_paths(archive.view())
    done = min(map(_committed_change, paths), default=0)
    behind, oldest = archive.view().pending_changes(done)
    return IndexStatus(behind, _seconds_since(oldest) if oldest else 0.0, sum(map(_size_bytes, paths)))


def _committed_change(index: Path) -> int:
    try:
        return int(json.loads((index / MANIFEST).read_text(encoding="utf-8"))["change"])
    except (OSError, ValueError, KeyError):  # not built yet, or damaged and about to be rebuilt by the indexer
        return 0


def _size_bytes(index: Path) -> int:
    total = 0
    for path in index.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # a commit has just removed it
            continue
    return total


def _seconds_since(moment: str) -> float:
    start = datetime.fromisoformat(moment)
    return max(0.0, (datetime.now(UTC) - (start if start.tzinfo else start.replace(tzinfo=UTC))).total_seconds())
