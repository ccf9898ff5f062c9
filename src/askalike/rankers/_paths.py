"""Where the indexes of an archive are."""

import hashlib
from pathlib import Path

from askalike.store.view import View


def index_directory(view: View, name: str) -> Path:
    """The directory of an index of that name of a view; views that end at a date, or hold one group, have their own."""
    part = hashlib.sha256(f"{view.before} {view.group}".encode()).hexdigest()[:8]
    return Path(view.archive) / "index" / (f"{name}-{part}" if view.before or view.group else name)
