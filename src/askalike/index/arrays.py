"""The arrays of a segment in one memory-mapped file. Its format is safetensors, which other programs can read.

Syncing, opening and removing one file takes a fraction of the time that one file per array would take.
"""

import json
import math
import mmap
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from askalike.index.rows import Array

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
        number_type, shape, first = NUMBER_TYPES[entry["dtype"]], entry["shape"], start + entry["data_offsets"][0]
        arrays[name] = np.frombuffer(mapped, number_type, math.prod(shape), first).reshape(shape)
    return arrays


def _encode_header(kinds: ArrayKinds) -> bytes:
    entries, end = {}, 0
    for name in _stored_order(kinds):
        (number_type, shape), start = kinds[name], end
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
