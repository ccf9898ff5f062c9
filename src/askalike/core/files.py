"""Files that do no harm: what is written is complete or absent, and durable; what is unpacked has a limit.

64 kB can hold gigabytes of one byte.
"""

import bz2
import csv
import fcntl
import gzip
import hashlib
import io
import os
import shutil
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from askalike.core.errors import ArchiveError, InputError

PARTIAL_SUFFIX = ".new"
"""Suffix of files that are still being written; backups skip them."""
REPLACED = "old"
"""The name, within a scratch folder, of a folder that is being replaced, until the new one is in place."""
MAX_RATIO = 200
"""Dumps unpack to 3 to 30 times their size, tables with many equal cells to 100 times."""
ALWAYS_ALLOWED_BYTES = 10_000_000
"""Ten million line breaks are read in less than a minute."""
GZIP_MAGIC, BZIP2_MAGIC = b"\x1f\x8b", b"BZh"
CHUNK_SIZE = 1 << 18


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file atomically: readers see either the old or the new content. Text is UTF-8. Raises OSError."""
    with replace_file(path) as partial:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)


def write_output(path: Path, content: str | bytes) -> Path:
    """Write a file that a person asked for, atomically. Raises InputError if it cannot be written."""
    try:
        write_atomically(path, content.encode(errors="replace") if isinstance(content, str) else content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    return path


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Iterable[Any]]) -> int:
    """Write a table that a person asked for, atomically; return the number of its rows. Raises InputError."""
    n_rows = 0
    try:
        with replace_file(path) as partial, open(partial, "w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(header)
            for row in rows:
                table.writerow(row)
                n_rows += 1
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; cannot be written there; choose another file") from None
    return n_rows


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Yield the path of a file to write, which replaces `path` when the block ends without an error.

    The file is then durable. After an error it is removed, and `path` is unchanged. Threads and processes may write
    the same file at the same time: the last one wins. A symbolic link is kept and its target replaced; a device or a
    pipe is yielded itself. Raises OSError.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    path = path.resolve()
    partial = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}{PARTIAL_SUFFIX}")
    try:
        yield partial
        fsync_path(partial)
        os.replace(partial, path)
        fsync_path(path.parent)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def replace_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder to fill, which replaces `path` when the block ends without an error.

    The folder and its content are then durable. After an error it is removed, and `path` is unchanged.
    Raises BlockingIOError if another process is filling the same folder, and any other OSError.
    """
    with scratch_folder(path) as scratch:
        new = scratch / "new"
        new.mkdir()
        yield new
        fsync_folder(new)
        if path.exists():
            os.replace(path, scratch / REPLACED)
        os.replace(new, path)
        fsync_path(path.parent)


@contextmanager
def scratch_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder next to `path`, which one process at a time may use and which is removed at the end.

    Leftovers of a killed process are removed first. Missing parents of `path` are created.
    Raises BlockingIOError if another process uses the folder, and any other OSError.
    """
    scratch = path.with_name(f".{path.name}{PARTIAL_SUFFIX}")
    with lock_folder(scratch, fcntl.LOCK_EX | fcntl.LOCK_NB):
        try:
            _put_back(path, scratch)
            _clear_folder(scratch)
            yield scratch
        finally:
            _put_back(path, scratch)
            shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def lock_folder(path: Path, operation: int) -> Iterator[int]:
    """Hold a lock on a folder, which is created if missing; yield the descriptor that holds it.

    operation: as for `fcntl.flock`. Raises BlockingIOError with LOCK_NB if another process holds the lock, and any
    other OSError.
    """
    while (lock := _open_locked(path, operation)) is None:
        pass
    try:
        yield lock
    finally:
        os.close(lock)


def try_lock(file: int) -> bool:
    """Return whether a descriptor now holds the lock of its file or folder, for which it does not wait."""
    with suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


@contextmanager
def folder_errors(path: Path, advice: str) -> Iterator[None]:
    """Turn errors of `replace_folder` and `scratch_folder` into an ArchiveError that ends with the advice."""
    try:
        yield
    except BlockingIOError:
        raise ArchiveError(f"{path}: another process is writing it; wait until it has finished") from None
    except shutil.Error as error:  # of several files, as (source, target, reason)
        raise ArchiveError(f"{path}: cannot be written ({error.args[0][0][-1]}); {advice}") from None
    except OSError as error:
        raise ArchiveError(f"{path}: cannot be written ({error.strerror or error}); {advice}") from None


@contextmanager
def tensor_errors() -> Iterator[None]:
    """Turn errors of safetensors, which writes a file past Python, into an OSError: a full disk is one of them."""
    from safetensors import SafetensorError

    try:
        yield
    except SafetensorError as error:
        raise OSError(str(error)) from None


def make_folders(root: Path, path: Path) -> None:
    """Create a folder below `root`, and those between. A `root` that is gone does not come back: raises OSError."""
    for name in path.relative_to(root).parts:
        root = root / name
        root.mkdir(exist_ok=True)


def identify(path: Path) -> tuple[int, int] | None:
    """Return values that differ between two files or folders; None if there is none."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def user_cache() -> Path:
    """Return this user's cache folder. Raises RuntimeError for a user without a home directory."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "askalike"


def fsync_path(path: Path) -> None:
    """Make a file's content, or a folder's entries, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def fsync_folder(folder: Path) -> None:
    """Make a folder durable with everything in it, at any depth."""
    for path in folder.rglob("*"):
        fsync_path(path)
    fsync_path(folder)


def _open_locked(path: Path, operation: int) -> int | None:
    """Return the descriptor that holds a folder's lock; None if another process has just removed the folder."""
    path.mkdir(parents=True, exist_ok=True)
    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock, operation)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), path.stat()):
                return lock
    except BaseException:
        os.close(lock)
        raise
    os.close(lock)
    return None


def _put_back(path: Path, scratch: Path) -> None:
    """Move a folder that was to be replaced back to its path, if nothing is there."""
    if (scratch / REPLACED).exists() and not path.exists():
        os.replace(scratch / REPLACED, path)


def _clear_folder(folder: Path) -> None:
    for entry in folder.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def measure_folder(folder: Path) -> int:
    """Return the size in bytes of all files in a folder, at any depth; files removed in the meantime do not count."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += os.lstat(os.path.join(parent, name)).st_size
    return total


def compute_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal digits. Raises OSError."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
