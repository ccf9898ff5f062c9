"""A cache of vectors on disk, with which a slow encoder encodes each text only once."""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import Floats32
from askalike.core.files import folder_errors, identify, make_folders

KEY_BYTES = 16
SHARED_FOLDER = Path("index/encoded")
"""Folder of the vectors of an archive's documents; they are recomputed if it is missing."""
MAX_ENCODERS = 4
"""Number of encoders whose shared vectors are kept: the most recently used."""
MIN_CAPACITY = 1 << 20
ROWS_PER_DOCUMENT = 8
"""Capacity of a shared cache in rows per document: its phrasings, with different fields and in several versions."""


class VectorCache:
    """The vectors of one encoder in a folder, appended as they are computed; incomplete rows are ignored.

    below: a read-only cache that is looked up first. capacity: the number of rows above which the file is emptied.
    Several processes may append at the same time.
    """

    def __init__(
        self, folder: Path, fingerprint: str, below: "VectorCache | None" = None, capacity: int | None = None,
        root: Path | None = None,
    ) -> None:  # fmt: skip
        """root: the folder above, which must stay where it is; by default the root of the file system."""
        self.folder, self._root = folder, root or Path(folder.anchor)
        self._identity = identify(self._root)
        self._file_prefix = fingerprint[:16]
        self._below, self._capacity = below, capacity
        self._rows: NDArray[np.void] | None = None
        """The rows of the file when it was last mapped; None before that."""
        self._row_by_key: dict[bytes, int] = {}
        self._inode = 0

    @classmethod
    def share(
        cls, archive: Path, fingerprint: str, documents: int, kind: str = "", below: "VectorCache | None" = None
    ) -> Self:
        """Return the cache of an encoder's vectors of an archive's documents, shared by all commands.

        documents: their number, which limits the size of the cache. kind: the folder of other texts than documents.
        """
        folder = archive / SHARED_FOLDER / kind
        with suppress(FileNotFoundError):  # another process may remove the same files
            files = sorted(folder.glob("*.vectors"), key=lambda file: -file.stat().st_mtime)
            for old in [file for file in files if not file.name.startswith(fingerprint[:16])][MAX_ENCODERS - 1 :]:
                old.unlink()
        return cls(folder, fingerprint, below, max(MIN_CAPACITY, ROWS_PER_DOCUMENT * documents), archive)

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Return None for other processes: they return the vectors they encode, and this process appends them."""
        return type(None), ()

    def get_or_encode(self, texts: Sequence[str], encode: Callable[[Sequence[str]], Floats32]) -> Floats32:
        """Return the vectors of texts, (texts, dim); `encode` computes missing ones. Raises ArchiveError."""
        keys = list(map(_compute_key, texts))
        vectors = self._read(keys)
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors}
        if new:
            encoded = encode(list(new.values()))
            self._append(list(new), encoded)
            vectors |= zip(new, encoded, strict=True)
        return np.stack([vectors[key] for key in keys]) if keys else encode(())

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, Floats32]:
        """Return the vectors of the keys that are in the cache."""
        found = self._below._read(keys) if self._below else {}
        if self._rows is None:
            self._open_existing()
        places = {key: row for key in keys if key not in found and (row := self._row_by_key.get(key)) is not None}
        if places and self._rows is not None:
            found |= zip(places, np.array(self._rows["vector"][list(places.values())]), strict=True)
        return found

    def _append(self, keys: Sequence[bytes], vectors: Floats32) -> None:
        dim = vectors.shape[1]
        path = self.folder / f"{self._file_prefix}-{dim}.vectors"
        with folder_errors(self.folder, "computed vectors are cached there: free some space or change its permissions"):
            self._require_in_place()
            make_folders(self._root, self.folder)
            self._require_in_place()
            with _lock_folder(self.folder):
                if self._rows is not None and self._capacity and len(self._rows) + len(keys) > self._capacity:
                    path.unlink(missing_ok=True)
                with open(path, "ab") as file:
                    old = self._map_rows(path, dim)
                    rows = np.zeros(len(keys), old.dtype)
                    rows["key"] = np.array(keys, f"V{KEY_BYTES}")
                    rows["vector"] = vectors
                    file.truncate(old.nbytes)  # an incomplete row of a killed process
                    file.write(rows.tobytes())
                    file.flush()
                    self._map_rows(path, dim)

    def _require_in_place(self) -> None:
        if identify(self._root) != self._identity:
            raise FileNotFoundError(f"{self._root} was removed, moved or replaced")

    def _open_existing(self) -> None:
        """Map the encoder's file if there is one."""
        for path in self.folder.glob(f"{self._file_prefix}-*.vectors"):
            with folder_errors(path, "change its permissions"):
                self._map_rows(path, int(path.stem.rpartition("-")[2]))

    def _map_rows(self, path: Path, dim: int) -> NDArray[np.void]:
        """Map all complete rows of the file, and read the keys of rows appended since the last call."""
        stat = os.stat(path)
        dtype = np.dtype([("key", f"V{KEY_BYTES}"), ("vector", np.float32, (dim,))])
        if stat.st_ino != self._inode:  # the first time, or another process has emptied the cache
            self._rows, self._row_by_key, self._inode = None, {}, stat.st_ino
        known = 0 if self._rows is None else len(self._rows)
        count = stat.st_size // dtype.itemsize
        rows = np.memmap(path, dtype, "r", shape=count) if count else np.zeros(0, dtype)
        keys = rows["key"][known:].tobytes()
        starts = range(0, len(keys), KEY_BYTES)
        self._rows = rows
        self._row_by_key |= {keys[start : start + KEY_BYTES]: row for row, start in enumerate(starts, known)}
        return rows


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, exclusive among threads and processes."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _compute_key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()
