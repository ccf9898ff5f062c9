"""Vectors of texts that were encoded before, on disk: a slow encoder reads each text once."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askalike.errors import ArchiveError

KEY_BYTES = 16
Array = NDArray[np.float32]


class Memory:
    """One encoder's vectors in a folder: rows of a digest and numbers, appended as they come.

    A row that a kill has cut short does not count. One process writes at a time.
    """

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder = folder
        self._name = fingerprint[:16]
        self._rows: dict[bytes, int] | None = None
        self._path = Path()
        self._dtype = np.dtype("V1")

    def recalled(self, texts: Sequence[str], encode: Callable[[Sequence[str]], Array]) -> Array:
        """The vectors of texts, (texts, dim); `encode` is called for those that are new, each once.

        Raises ArchiveError where they cannot be written.
        """
        keys = list(map(_key, texts))
        known = self._known()
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if new:
            self._keep(list(new), encode(list(new.values())))
        rows = np.array([known[key] for key in keys], np.int64)
        return np.array(np.memmap(self._path, self._dtype, "r")["vector"][rows]) if len(rows) else encode(())

    def knows(self, text: str) -> bool:
        """Whether a text's vector is there."""
        return _key(text) in self._known()

    def _known(self) -> dict[bytes, int]:
        """Digest → row."""
        if self._rows is None:
            self._rows = {}
            for path in self.folder.glob(f"{self._name}-*.vectors"):
                self._open(path, int(path.stem.rpartition("-")[2]))
                count = path.stat().st_size // self._dtype.itemsize
                keys = np.fromfile(path, self._dtype, count)["key"] if count else ()
                self._rows = {bytes(key): row for row, key in enumerate(keys)}
        return self._rows

    def _open(self, path: Path, dim: int) -> None:
        self._path = path
        self._dtype = np.dtype([("key", f"V{KEY_BYTES}"), ("vector", np.float32, (dim,))])

    def _keep(self, keys: Sequence[bytes], vectors: Array) -> None:
        rows, begin = self._known(), len(self._known())
        if not rows:
            self._open(self.folder / f"{self._name}-{vectors.shape[1]}.vectors", vectors.shape[1])
        added = np.zeros(len(keys), self._dtype)
        added["key"], added["vector"] = np.array(keys, f"V{KEY_BYTES}"), vectors
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with open(self._path, "ab") as file:
                file.truncate(begin * self._dtype.itemsize)
                added.tofile(file)
        except OSError as error:
            raise ArchiveError(f"{self._path}: {error.strerror}; vectors are kept there while they are made") from None
        rows.update((key, begin + n) for n, key in enumerate(keys))


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=KEY_BYTES).digest()
