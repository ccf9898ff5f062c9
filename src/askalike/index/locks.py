"""The lock of an index's directory: one process at a time writes it."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from askalike.core.errors import IndexBusyError, SearchIndexError
from askalike.index.manifests import MANIFEST

LOCK = "lock"


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold an index's writer lock. Raises IndexBusyError if another writer holds it, SearchIndexError for I/O."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with open(path / LOCK, "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _require_in_place(lock, path / LOCK)
            yield
    except BlockingIOError:
        problem = "another process is writing this index; wait until it has finished and repeat"
        raise IndexBusyError(f"{path}: {problem}", searchable=(path / MANIFEST).exists()) from None
    except OSError as error:
        raise SearchIndexError(
            f"{path}: cannot be written ({error.strerror or error}); free some space or change the "
            "directory's permissions and repeat, the last committed state is safe"
        ) from None


def _require_in_place(lock: IO[str], path: Path) -> None:
    """Raise BlockingIOError if another process removed the index, with this lock, before the lock was acquired."""
    try:
        in_place = os.path.samestat(os.fstat(lock.fileno()), os.stat(path))
    except FileNotFoundError:
        in_place = False
    if not in_place:
        raise BlockingIOError
