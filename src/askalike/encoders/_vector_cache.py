"""A cache of vectors on disk, so that a slow encoder reads each text once."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askalike.errors import ArchiveError

KEY_BYTES = 16
Array = NDArray[np.float32]


class VectorCache:
    """The vectors of one encoder in a folder, appended as they are computed, by one process; only whole rows count."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder = folder
        self._file_prefix = fingerprint[:16]
        self._row_by_key: dict[bytes, int] | None = None
        self._path = Path()
        self._dtype = np.dtype("V1")

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Other processes get None, as one process alone appends."""
        return type(None), ()

    def get_or_encode(self, texts: Sequence[str], encode: Callable[[Sequence[str]], Array]) -> Array:
        """Return the vectors of texts, (texts, dim); `encode` makes the new ones. Raises ArchiveError."""
        keys = list(map(_compute_key, texts))
        row_by_key = self._load_rows()
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in row_by_key}
        if new:
            self._append(list(new), encode(list(new.values())))
        rows = np.array([row_by_key[key] for key in keys], np.int64)
        return np.array(np.memmap(self._path, self._dtype, "r")["vector"][rows]) if len(rows) else encode(())

    def _load_rows(self) -> dict[bytes, int]:
        """Return digest → row."""
        if self._row_by_key is None:
            self._row_by_key = {}
            for path in self.folder.glob(f"{self._file_prefix}-*.vectors"):
                self._set_layout(path, int(path.stem.rpartition("-")[2]))
                count = path.stat().st_size // self._dtype.itemsize
                keys = np.fromfile(path, self._dtype, count)["key"] if count else ()
                self._row_by_key = {bytes(key): row for row, key in enumerate(keys)}
        return self._row_by_key

    def _set_layout(self, path: Path, dim: int) -> None:
        self._path = path
        self._dtype = np.dtype([("key", f"V{KEY_BYTES}"), ("vector", np.float32, (dim,))])

    def _append(self, keys: Sequence[bytes], vectors: Array) -> None:
        row_by_key = self._load_rows()
        begin = len(row_by_key)
        if not row_by_key:
            self._set_layout(self.folder / f"{self._file_prefix}-{vectors.shape[1]}.vectors", vectors.shape[1])
        rows = np.zeros(len(keys), self._dtype)
        rows["key"], rows["vector"] = np.array(keys, f"V{KEY_BYTES}"), vectors
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with open(self._path, "ab") as file:
                file.truncate(begin * self._dtype.itemsize)
                rows.tofile(file)
        except OSError as error:
            raise ArchiveError(f"{self._path}: {error.strerror}; computed vectors are cached there") from None
        row_by_key.update((key, begin + n) for n, key in enumerate(keys))


def _compute_key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=KEY_BYTES).digest()
