"""Streams members of a .7z without unpacking it to disk; refuses malicious archives."""

import queue
import threading
from collections.abc import Collection, Iterator
from pathlib import Path, PureWindowsPath

import py7zr

from askalike.core.errors import InputError
from askalike.core.files import check_unpacked
from askalike.readers._source import SourceFiles

MAX_QUEUED_PIECES = 16

Piece = tuple[str, bytes]


def read_pieces(source: SourceFiles, path: Path, wanted: Collection[str]) -> Iterator[Piece]:
    """Yield the bytes of the wanted members in the archive's order, each piece with the member's lower-case base name.

    Raises InputError for an archive that is damaged, has links or members outside its folder, or would unpack to too
    much; see `check_unpacked`.
    """
    with source.open(path, unpack=False) as raw:
        try:
            archive = py7zr.SevenZipFile(raw)
            listed = archive.list()
        except Exception as error:  # the parser checks little, and each decompressor has its own exceptions
            raise InputError(f"{path}: cannot be opened as .7z ({_summarise_error(error)}); fetch it again") from None
        _check_members(path, listed)
        yield from _stream_members(path, archive, [f.filename for f in listed if _base_name(f.filename) in wanted])


def _check_members(path: Path, listed: list[py7zr.FileInfo]) -> None:
    for member in listed:
        name = f"{path}: member {member.filename!r}"
        windows = PureWindowsPath(member.filename)
        if windows.anchor or member.filename.startswith("/") or ".." in windows.parts:
            raise InputError(f"{name} lies outside the archive's folder; the archive is refused")
        if not (member.is_file or member.is_directory):
            raise InputError(f"{name} is a link or device; the archive is refused")
    check_unpacked(path, sum(member.uncompressed for member in listed), path.stat().st_size)


def _stream_members(path: Path, archive: py7zr.SevenZipFile, names: list[str]) -> Iterator[Piece]:
    pipe = _Pipe()
    thread = threading.Thread(target=_unpack_members, args=(archive, names, pipe), daemon=True)
    thread.start()
    unpacked = 0
    try:
        while (piece := pipe.queue.get()) is not None:
            unpacked += len(piece[1])  # which may be more than it lists
            check_unpacked(path, unpacked, path.stat().st_size)
            yield piece
    finally:
        pipe.abandon()
        thread.join()
    if pipe.error:
        problem = f"cannot be unpacked completely ({_summarise_error(pipe.error)})"
        raise InputError(f"{path}: {problem}; it is damaged; download it again")


def _unpack_members(archive: py7zr.SevenZipFile, names: list[str], pipe: "_Pipe") -> None:
    try:
        archive.extract(targets=names, factory=pipe)
    except _Abandoned:
        return
    except Exception as error:
        pipe.error = error
    pipe.put(None)


class _Abandoned(BaseException):
    """Raised in the unpacking thread after the reader has stopped."""


class _Pipe(py7zr.WriterFactory):
    """A bounded queue from the unpacking thread to the reader: the thread waits while it is full."""

    def __init__(self) -> None:
        self.queue: queue.Queue[Piece | None] = queue.Queue(MAX_QUEUED_PIECES)
        self.error: Exception | None = None
        self._abandoned = threading.Event()

    def create(self, filename: str) -> "_Member":
        return _Member(_base_name(filename), self)

    def put(self, piece: Piece | None) -> None:
        """Put a piece into the queue; wait until there is room."""
        while not self._abandoned.is_set():
            try:
                return self.queue.put(piece, timeout=0.1)
            except queue.Full:
                continue
        raise _Abandoned

    def abandon(self) -> None:
        """End the thread at its next piece."""
        self._abandoned.set()


class _Member(py7zr.Py7zIO):
    """The write-only file of one member."""

    def __init__(self, name: str, pipe: _Pipe) -> None:
        self._name, self._pipe, self._size = name, pipe, 0

    def write(self, s: bytes | bytearray) -> int:
        self._size += len(s)
        if s:
            self._pipe.put((self._name, bytes(s)))
        return len(s)

    def read(self, size: int | None = None) -> bytes:
        return b""

    def seek(self, offset: int, whence: int = 0) -> int:
        return offset

    def flush(self) -> None:
        """Do nothing: pieces are passed on at once."""

    def size(self) -> int:
        return self._size


def _base_name(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2].lower()


def _summarise_error(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
