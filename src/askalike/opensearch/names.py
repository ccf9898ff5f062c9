"""Names of indexes in a cluster: `askalike-ARCHIVE-DIGEST-INDEX`."""

import hashlib
import re
from pathlib import Path

PREFIX = "askalike-"


def archive_prefix(path: Path, created_at: str | None) -> str:
    """Return the prefix of the names of an archive's indexes. created_at: the date of its first change."""
    folder = path.resolve().name
    slug = re.sub("[^a-z0-9]+", "-", folder.lower()).strip("-")[:40]
    return f"{PREFIX}{slug}-{hashlib.sha256(f'{folder} {created_at}'.encode()).hexdigest()[:8]}-"


def index_name(path: Path, created_at: str | None, name: str) -> str:
    """Return the name of one of an archive's indexes."""
    return archive_prefix(path, created_at) + name
