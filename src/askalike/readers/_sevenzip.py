"""Streams members out of a .7z without unpacking it to disk; archives built to do harm are refused first."""

import lzma
import queue
import struct
import threading
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path, PureWindowsPath

import py7zr
from py7zr.exceptions import ArchiveError, PasswordRequired, UnsupportedCompressionMethodError

from askalike.readers._source import SourceFiles

MAX_COMPRESSION_RATIO = 100
ALWAYS_ALLOWED_BYTES = 100_000_000
MAX_QUEUED_PIECES = 16
DAMAGE_ERRORS = (
    ArchiveError, PasswordRequired, UnsupportedCompressionMethodError, lzma.LZMAError, zlib.error, struct.error,
    EOFError, OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, AssertionError, NotImplementedError,
)  # fmt: skip
"""What py7zr raises for files that are none, or broken ones: its parser checks little itself."""

Piece = tuple[str, bytes]


def read_pieces(source: SourceFiles, path: Path, wanted: Collection[str]) -> Iterator[Piece]:
    """The wanted members' bytes in the archive's order, each piece with its member's base name in lower case.

    Raises InputError for an archive that is damaged, has members outside its folder or links, or would unpack to more
    than 100 times its size (and more than 100 MB).
    """
    with source.open(path, unpack=False) as raw:
        try:
            archive = py7zr.SevenZipFile(raw)
            listed = archive.list()
        except DAMAGE_ERRORS as error:
            raise source.error(f"cannot be opened as .7z ({_summarise_error(error)}); fetch it again") from None
        _check_members(source, listed, path.stat().st_size)
        yield from _stream_members(source, archive, [f.filename for f in listed if _base_name(f.filename) in wanted])


def _check_members(source: SourceFiles, listed: list[py7zr.FileInfo], size: int) -> None:
    for member in listed:
        windows = PureWindowsPath(member.filename)
        if windows.anchor or member.filename.startswith("/") or ".." in windows.parts:
            raise source.error(f"member {member.filename!r} lies outside the archive's folder; the archive is refused")
        if not (member.is_file or member.is_directory):
            raise source.error(f"member {member.filename!r} is a link or device; the archive is refused")
    unpacked = sum(member.uncompressed for member in listed)
    if unpacked > max(ALWAYS_ALLOWED_BYTES, size * MAX_COMPRESSION_RATIO):
        raise source.error(
            f"would unpack to {unpacked:,} bytes, over {MAX_COMPRESSION_RATIO} times its size; refused. "
            "If you trust it, unpack it yourself and import the folder"
        )


def _stream_members(source: SourceFiles, archive: py7zr.SevenZipFile, names: list[str]) -> Iterator[Piece]:
    pipe = _Pipe()
    thread = threading.Thread(target=_unpack_members, args=(archive, names, pipe), daemon=True)
    thread.start()
    try:
        while (piece := pipe.queue.get()) is not None:
            yield piece
    finally:
        pipe.abandon()
        thread.join()
    if pipe.error:
        raise source.error(
            f"cannot be unpacked to its end ({_summarise_error(pipe.error)}); it is damaged, fetch it again"
        )


def _unpack_members(archive: py7zr.SevenZipFile, names: list[str], pipe: "_Pipe") -> None:
    try:
        archive.extract(targets=names, factory=pipe)
    except _Abandoned:
        return
    except DAMAGE_ERRORS as error:
        pipe.error = error
    pipe.put(None)


class _Abandoned(BaseException):
    """Raised in the unpacking thread once nobody reads on."""


class _Pipe(py7zr.WriterFactory):
    """Where the unpacking thread leaves pieces and the reader takes them; a full one makes the thread wait."""

    def __init__(self) -> None:
        self.queue: queue.Queue[Piece | None] = queue.Queue(MAX_QUEUED_PIECES)
        self.error: BaseException | None = None
        self._abandoned = threading.Event()

    def create(self, filename: str) -> "_Member":
        """The end that py7zr writes one member to."""
        return _Member(_base_name(filename), self)

    def put(self, piece: Piece | None) -> None:
        """Waits for room."""
        while not self._abandoned.is_set():
            try:
                return self.queue.put(piece, timeout=0.1)
            except queue.Full:
                continue
        raise _Abandoned

    def abandon(self) -> None:
        """Ends the thread at its next piece."""
        self._abandoned.set()


class _Member(py7zr.Py7zIO):
    """A member as py7zr writes it; nothing can be read back."""

    def __init__(self, name: str, pipe: _Pipe) -> None:
        self._name, self._pipe, self._size = name, pipe, 0

    def write(self, s: bytes | bytearray) -> int:
        """Passes a piece on."""
        self._size += len(s)
        if s:
            self._pipe.put((self._name, bytes(s)))
        return len(s)

    def read(self, size: int | None = None) -> bytes:
        """Nothing."""
        return b""

    def seek(self, offset: int, whence: int = 0) -> int:
        """Does nothing: a stream."""
        return offset

    def flush(self) -> None:
        """Does nothing: pieces pass at once."""

    def size(self) -> int:
        """Bytes written so far."""
        return self._size


def _base_name(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2].lower()


def _summarise_error(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
