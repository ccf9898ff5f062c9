"""Packed files: what one may unpack to is limited, as 64 kB can hold gigabytes of one byte."""

import bz2
import gzip
import io
import zlib
from pathlib import Path
from typing import Any

from askalike.core.errors import InputError

MAX_RATIO = 200
"""Dumps unpack to 3 to 30 times their size, tables with many equal cells to 100 times."""
ALWAYS_ALLOWED_BYTES = 10_000_000
"""Ten million line breaks are read in less than a minute."""
GZIP_MAGIC, BZIP2_MAGIC = b"\x1f\x8b", b"BZh"
CHUNK_SIZE = 1 << 18


def check_unpacked(path: Path, unpacked: int, packed: int) -> None:
    """Raise InputError if a file unpacks to over MAX_RATIO times its size, and over ALWAYS_ALLOWED_BYTES. In bytes."""
    if unpacked > max(ALWAYS_ALLOWED_BYTES, MAX_RATIO * packed):
        raise InputError(
            f"{path}: unpacks to over {unpacked >> 20:,} MB, more than {MAX_RATIO} times its size; refused. "
            "If you trust it, unpack it yourself and import what is in it"
        )


def open_unpacked(raw: Any, path: Path, head: bytes) -> Any:
    """Return a stream of what a file holds, unpacked if its first bytes are those of gzip or bzip2.

    raw: the file as a stream of bytes. Reading raises InputError where too much is in it; see `check_unpacked`.
    """
    if head.startswith(GZIP_MAGIC):
        unpacked: Any = gzip.GzipFile(fileobj=raw)
    elif head.startswith(BZIP2_MAGIC):
        unpacked = bz2.BZ2File(raw)
    else:
        return raw
    return io.BufferedReader(_CheckedStream(unpacked, path), CHUNK_SIZE)


def unpack_gzip(content: bytes, max_bytes: int) -> bytes:
    """Return what is in gzip. Raises ValueError if it is damaged, cut short, or over `max_bytes`."""
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        unpacked = unpacker.decompress(content, max_bytes)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not unpacker.eof:
        raise ValueError(f"unpacks to over {max_bytes >> 20} MB" if unpacker.unconsumed_tail else "is cut short")
    return unpacked


class _CheckedStream(io.RawIOBase):
    """An unpacked stream of which not too much is read."""

    def __init__(self, unpacked: Any, path: Path) -> None:
        self._unpacked, self._path = unpacked, path
        self._packed_bytes = path.stat().st_size
        self._read_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = int(self._unpacked.readinto(buffer))
        self._read_bytes += size
        check_unpacked(self._path, self._read_bytes, self._packed_bytes)
        return size

    def close(self) -> None:
        if not self.closed:
            self._unpacked.close()
        super().close()
