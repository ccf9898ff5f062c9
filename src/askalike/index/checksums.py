"""Checksums of an index's files. A commit stores them in the manifest; a process compares them before it maps a file.

They find damage, not forgery: whoever can write an index can also write its checksums.
"""

import json
import os
import threading
import time
import zlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from askalike.index.rows import Array

VERIFIED_FILE = "verified.json"
"""The files that were found intact on this machine; it can be deleted at any time."""
TRUSTED_S = 86_400
"""Seconds for which a file that was found intact is not read again, unless it was changed."""
CHUNK_BYTES = 1 << 16

Checksums = Mapping[str, int]
"""Name of a file in the index's folder → CRC-32 of its content."""


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
    verified, at = _read_verified(folder), time.time()
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
