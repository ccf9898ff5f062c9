"""The files in an index's folder: memory-mapped arrays, checksums, the manifest, and the lock of the writer.

The arrays of a segment are one file in the format safetensors, which other programs can read: to sync, open and remove
one file takes a fraction of the time that one per array would take. A commit stores the checksums of all files in the
manifest; a process compares them before it maps a file. They find damage, not forgery: whoever can write an index can
also write its checksums.
"""

import fcntl
import json
import math
import mmap
import os
import threading
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile

import numpy as np

from askalike.core.arrays import Array
from askalike.core.errors import IndexBusyError, UnusableIndexError, UnwritableIndexError
from askalike.core.files import make_folders, write_atomically

ARRAYS_FILE = "arrays.safetensors"
ALIGNMENT = 64
NUMBER_TYPES = {
    "BOOL": np.dtype(np.bool_), "I8": np.dtype(np.int8), "U8": np.dtype(np.uint8), "I16": np.dtype(np.int16),
    "U16": np.dtype(np.uint16), "F16": np.dtype(np.float16), "I32": np.dtype(np.int32), "U32": np.dtype(np.uint32),
    "F32": np.dtype(np.float32), "I64": np.dtype(np.int64), "U64": np.dtype(np.uint64), "F64": np.dtype(np.float64),
}  # fmt: skip
TYPE_NAMES = {number_type: name for name, number_type in NUMBER_TYPES.items()}
ArrayKinds = Mapping[str, tuple["np.dtype[Any]", tuple[int, ...]]]
"""Name → type and shape."""
VERIFIED_FILE = "verified.json"
"""The files that were found intact on this machine; it can be deleted at any time."""
TRUSTED_S = 86_400
"""Seconds for which a file that was found intact is not read again, unless it was changed."""
CHUNK_BYTES = 1 << 16

Checksums = Mapping[str, int]
"""Name of a file in the index's folder → CRC-32 of its content."""
MANIFEST = "manifest.json"
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, IndexError, EOFError, RecursionError, BadZipFile)
"""The errors of reading damaged files."""
LOCK = "lock"


def write_arrays(folder: Path, arrays: Mapping[str, Array]) -> None:
    """Write the arrays of a segment into its folder. The commit that names the folder makes them durable."""
    kinds = {name: (array.dtype, array.shape) for name, array in arrays.items()}
    with open(folder / ARRAYS_FILE, "xb") as file:
        file.write(_encode_header(kinds))
        for name in _stored_order(kinds):
            file.write(np.ascontiguousarray(arrays[name]).data)


def create_arrays(folder: Path, kinds: ArrayKinds, file_name: str = ARRAYS_FILE) -> Mapping[str, Array]:
    """Create a file of arrays in a folder and return the arrays, to be filled. Raises OSError if the disk is full.

    The space is reserved first: a process is killed if it writes to a mapped file and the disk is full.
    """
    header = _encode_header(kinds)
    size = len(header) + sum(map(_count_bytes, kinds.values()))
    with open(folder / file_name, "x+b") as file:
        file.write(header)
        file.flush()
        os.posix_fallocate(file.fileno(), 0, size)
        return _map_arrays(mmap.mmap(file.fileno(), size))


def open_arrays(folder: Path, file_name: str = ARRAYS_FILE) -> Mapping[str, Array]:
    """Map a file of arrays into memory, read-only. Raises FileNotFoundError, and ValueError for a damaged file."""
    with open(folder / file_name, "rb") as file:
        return _map_arrays(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def release_pages(arrays: Iterable[Array]) -> None:
    """Take the files that arrays are mapped from out of this process's memory, until they are read again.

    What was written into them stays in the system's cache until it is on the disk. Other arrays are left alone.
    """
    maps = (getattr(getattr(array.base, "base", None), "obj", None) for array in arrays)
    for mapped in {id(one): one for one in maps if isinstance(one, mmap.mmap)}.values():
        mapped.madvise(mmap.MADV_DONTNEED)


def _map_arrays(mapped: mmap.mmap) -> Mapping[str, Array]:
    start = 8 + int.from_bytes(mapped[:8], "little")
    arrays = {}
    for name, entry in json.loads(mapped[8:start]).items():
        number_type = NUMBER_TYPES[entry["dtype"]]
        shape = entry["shape"]
        first = start + entry["data_offsets"][0]
        arrays[name] = np.frombuffer(mapped, number_type, math.prod(shape), first).reshape(shape)
    return arrays


def _encode_header(kinds: ArrayKinds) -> bytes:
    entries, end = {}, 0
    for name in _stored_order(kinds):
        (number_type, shape) = kinds[name]
        start = end
        end = start + _count_bytes(kinds[name])
        entries[name] = {"dtype": TYPE_NAMES[number_type], "shape": shape, "data_offsets": (start, end)}
    header = json.dumps(entries).encode()
    header += b" " * (-(8 + len(header)) % ALIGNMENT)
    return len(header).to_bytes(8, "little") + header


def _stored_order(kinds: ArrayKinds) -> list[str]:
    """Return the names in file order: first arrays whose rows fill cache lines, then those of the widest numbers.

    This aligns every number, and every row that fills cache lines.
    """

    def order(name: str) -> tuple[bool, int]:
        number_type, (_, *rest) = kinds[name]
        return bool(number_type.itemsize * math.prod(rest) % ALIGNMENT), -number_type.itemsize

    return sorted(kinds, key=order)


def _count_bytes(kind: "tuple[np.dtype[Any], tuple[int, ...]]") -> int:
    number_type, shape = kind
    return number_type.itemsize * math.prod(shape)


class ChecksumError(ValueError):
    """A file differs from its checksum."""


def compute_checksum(path: Path) -> int:
    """Return the CRC-32 of a file's content."""
    checksum = 0
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            checksum = zlib.crc32(chunk, checksum)
    return checksum


def verify_files(folder: Path, checksums: Checksums, *, all_known: Checksums | None = None) -> None:
    """Raise ChecksumError if a file differs from its checksum, FileNotFoundError if it is missing.

    A file that was found intact within TRUSTED_S, and was not written since, is not read again. all_known: the
    checksums of all files of the index, whose results are remembered; by default these are.
    """
    verified = _read_verified(folder)
    at = time.time()
    trusted = {name: entry for name, entry in verified.items() if 0 <= at - entry[-1] < TRUSTED_S}
    fresh = {}
    for name, checksum in checksums.items():
        identity = [checksum, *_identify(folder / name)]
        if trusted.get(name, [])[:-1] != identity:
            if compute_checksum(folder / name) != checksum:
                raise ChecksumError(f"{name} differs from its checksum")
            fresh[name] = [*identity, at]
    if fresh:
        kept = checksums if all_known is None else all_known
        _write_verified(folder, {name: entry for name, entry in (trusted | fresh).items() if name in kept})


def remember_verified(folder: Path, checksums: Checksums, written: Collection[str]) -> None:
    """Remember that the written files are intact, and forget those that the index no longer has.

    checksums: of all files of the index; those of the written ones were just computed.
    """
    at = time.time()
    kept = {name: entry for name, entry in _read_verified(folder).items() if name in checksums}
    _write_verified(folder, kept | {name: [checksums[name], *_identify(folder / name), at] for name in written})


def find_damaged_files(folder: Path, checksums: Checksums) -> list[str]:
    """Return the files that are missing or differ from their checksums. All are read."""
    return [name for name, checksum in checksums.items() if not _is_intact(folder / name, checksum)]


def check_offsets(offsets: Array, end: int) -> None:
    """Raise ValueError unless the offsets begin at 0, ascend, and end at `end`: compiled code does not check them."""
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != end or bool((offsets[1:] < offsets[:-1]).any()):
        raise ValueError(f"its offsets do not ascend from 0 to {end}")


def _is_intact(path: Path, checksum: int) -> bool:
    try:
        return compute_checksum(path) == checksum
    except OSError:
        return False


def _identify(path: Path) -> list[int]:
    """Return values that change when a file is written or replaced."""
    stat = os.stat(path)
    return [stat.st_ino, stat.st_size, stat.st_ctime_ns]


def _read_verified(folder: Path) -> dict[str, list[float]]:
    """Return name → [checksum, *identity, time]; empty if the file is missing or unreadable."""
    try:
        entries = json.loads((folder / VERIFIED_FILE).read_bytes())
        return {name: entry for name, entry in entries.items() if len(entry) == 5 and all(map(_is_number, entry))}
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        return {}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _write_verified(folder: Path, entries: Mapping[str, list[float]]) -> None:
    """Replace the file if the folder can be written. It need not be durable: without it, files are read again."""
    partial = folder / f".{VERIFIED_FILE}.{os.getpid()}-{threading.get_ident()}"
    with suppress(OSError):
        try:
            partial.write_text(json.dumps(entries), encoding="utf-8")
            os.replace(partial, folder / VERIFIED_FILE)
        finally:
            partial.unlink(missing_ok=True)


def write_manifest(folder: Path, content: Mapping[str, Any]) -> None:
    """Replace the manifest of the index in a directory; it is then durable. Raises OSError."""
    write_atomically(folder / MANIFEST, json.dumps({**content, "checksum": _compute_checksum(content)}, indent=1))


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of the index in a directory.

    Raises FileNotFoundError, and UnusableIndexError if it is damaged, or of a version without checksums.
    """
    text = (folder / MANIFEST).read_bytes()
    try:
        content: dict[str, Any] = json.loads(text)
        version = content["format"]
        checksum = content.pop("checksum", None)
        is_intact = checksum == _compute_checksum(content)
    except UNREADABLE:
        raise UnusableIndexError(folder, f"damaged ({MANIFEST} is not a valid manifest)") from None
    if checksum is None and "checksums" not in content:
        raise UnusableIndexError(folder, f"format {version} without checksums, of an earlier askalike")
    if not is_intact:
        raise UnusableIndexError(folder, f"damaged ({MANIFEST} differs from its checksum)")
    return content


def find_damage(folder: Path) -> str | None:
    """Read all files of the index in a directory and return what is damaged; None if nothing is, or it is not built.

    Damaged files are then no longer remembered as intact. Raises UnusableIndexError for a damaged manifest, or one of
    another version.
    """
    while (folder / MANIFEST).exists():
        manifest = read_manifest(folder)
        damaged = find_damaged_files(folder, manifest["checksums"])
        if not damaged:
            return None
        if manifest == read_manifest(folder):  # otherwise a commit has removed files
            (folder / VERIFIED_FILE).unlink(missing_ok=True)
            return ", ".join(damaged)
    return None


def _compute_checksum(content: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())


@contextmanager
def hold_lock(path: Path) -> Iterator[Callable[[], bool]]:
    """Hold an index's writer lock; yield a function that returns whether it is still in place.

    The folder and the one above it are created, but not the archive's: one that was removed does not come back. Raises
    IndexBusyError if another writer holds the lock, UnwritableIndexError for I/O.
    """
    try:
        make_folders(path.parents[1], path)
        with open(path / LOCK, "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_in_place = partial(_is_in_place, lock, path / LOCK)
            if not is_in_place():  # another process removed the index, with this lock, before the lock was acquired
                raise BlockingIOError
            yield is_in_place
    except BlockingIOError:
        problem = "another process is writing this index; wait until it has finished and repeat"
        raise IndexBusyError(f"{path}: {problem}", searchable=(path / MANIFEST).exists()) from None
    except OSError as error:
        raise UnwritableIndexError(
            f"{path}: cannot be written ({error.strerror or error}); free some space or change the "
            "directory's permissions and repeat, the last committed state is safe"
        ) from None


def _is_in_place(lock: IO[str], path: Path) -> bool:
    """Return whether an open file is the one at its path."""
    try:
        return os.path.samestat(os.fstat(lock.fileno()), os.stat(path))
    except OSError:
        return False
