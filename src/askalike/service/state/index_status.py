"""How far an archive's index has followed it, read off the files: the process that indexes is another one."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from askalike.index.commits import MANIFEST
from askalike.rankers import Ranker
from askalike.store.archive import Archive


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """How many changes cannot be searched yet, how long the oldest of them has waited, and how large the index is."""

    behind: int
    lag_s: float
    size_bytes: int


def index_status(archive: Archive, ranker: Ranker) -> IndexStatus:
    """Where the ranker's index of an archive stands."""
    paths = ranker.index_paths(archive.view())
    done = min(map(_committed_change, paths), default=0)
    sql = "SELECT COUNT(*), MIN(made_at) FROM changes WHERE number > ?"
    behind, oldest = archive.connection.execute(sql, (done,)).fetchone()
    return IndexStatus(behind, _seconds_since(oldest) if oldest else 0.0, sum(map(_size_bytes, paths)))


def _committed_change(index: Path) -> int:
    try:
        return int(json.loads((index / MANIFEST).read_text(encoding="utf-8"))["change"])
    except (OSError, ValueError, KeyError):  # none yet, or one that the indexer will make again
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
    made = datetime.fromisoformat(moment)
    return max(0.0, (datetime.now(UTC) - (made if made.tzinfo else made.replace(tzinfo=UTC))).total_seconds())
