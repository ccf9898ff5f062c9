"""What readers read through: opens files, knows which line is being read, counts bytes, keeps notes."""

import bz2
import codecs
import gzip
import io
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any

from askalike.errors import InputError
from askalike.types import RejectedRow

CHUNK = 1 << 18
MAX_LINE_SIZE = 1 << 26
DAMAGE_ERRORS = (EOFError, OSError, zlib.error)

ReadProgressCallback = Callable[[int, int], None]
"""Called with the bytes read so far and those expected in all."""


class SourceFiles:
    """The files of one import, as a reader sees them.

    `where` and `line` (from 1) say what was handed out last. `notes` counts what a person should hear of ("planted
    posts dropped": 2). `facts` is what the reader learned of the whole: name, license, language, groups. While
    `ids_are_given` a repeated id is an error of the file; ids made from content may repeat. `strict`: nothing doubtful
    is to be taken.
    """

    def __init__(self, progress: ReadProgressCallback = lambda done, total: None, *, strict: bool = False) -> None:
        self.strict = strict
        self.current_path = ""
        self.line = 0
        self.notes: Counter[str] = Counter()
        self.facts: dict[str, Any] = {}
        self.ids_are_given = True
        self._progress = progress
        self._bytes_read = 0
        self._bytes_expected = 0

    def expect(self, files: Iterable[Path], passes: int = 1) -> None:
        """Tells the progress bar which files will be read, and how often."""
        self._bytes_expected += passes * sum(file.stat().st_size for file in files)
        self._progress(self._bytes_read, self._bytes_expected)

    def note(self, what: str, count: int = 1) -> None:
        """Counts something worth a line at the end; `what` reads well after a number."""
        if count:
            self.notes[what] += count

    def reject(self, reason: str, row: object = "") -> RejectedRow:
        """The row read last, as one that cannot be taken."""
        text = row if isinstance(row, str) else json.dumps(row, ensure_ascii=False, default=str)
        return RejectedRow(self.current_path, self.line, reason, text)

    def error(self, problem: str) -> InputError:
        """An error of the file as a whole, at the line read last."""
        at = f", line {self.line}" if self.line else ""
        return InputError(f"{self.current_path}{at}: {problem}")

    @contextmanager
    def open(self, path: Path, *, unpack: bool = True) -> Iterator[IO[bytes]]:
        """A file's bytes, those of a .gz or .bz2 unpacked (told by its first bytes). Raises InputError."""
        self.current_path, self.line = str(path), 0
        try:
            raw: Any = io.BufferedReader(_CountingFile(path, self._count_bytes), CHUNK)
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}); expected a file") from None
        with raw, _open_decompressed(raw) if unpack else raw as stream:
            yield stream

    def read_chunks(self, path: Path) -> Iterator[bytes]:
        """A file's bytes, unpacked, a quarter of a megabyte at a time."""
        with self.open(path) as stream:
            while chunk := self._read_checked(lambda: stream.read(CHUNK)):
                yield chunk

    def read_lines(self, path: Path) -> Iterator[str]:
        """A file's lines with their ends: UTF-8, a byte order mark dropped, NULs replaced.

        Raises InputError at the first byte that is not UTF-8, and for a line over 64 MB.
        """
        position = number = 0
        with self.open(path) as stream:
            while raw := self._read_checked(lambda: stream.readline(MAX_LINE_SIZE)):
                number += 1
                self.line = number
                if len(raw) == MAX_LINE_SIZE:
                    raise self.error("is over 64 MB long; expected one row a line")
                yield self._decode(raw, position)
                position += len(raw)

    def read_text(self, path: Path) -> Iterator[str]:
        """A file's text in pieces, for formats without lines. Raises InputError at a byte that is not UTF-8."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        position = 0
        for chunk in chain(self.read_chunks(path), [b""]):
            kept = len(decoder.getstate()[0])
            try:
                text = decoder.decode(chunk, not chunk)
            except UnicodeDecodeError as error:
                raise self.error(
                    describe_invalid_utf8(position - kept + error.start, error.object[error.start])
                ) from None
            yield text.removeprefix("\ufeff") if not position else text
            position += len(chunk)

    def _read_checked(self, read: Callable[[], bytes]) -> bytes:
        try:
            return read()
        except DAMAGE_ERRORS as error:
            raise self.error(f"cannot be read on ({error}); the file is damaged or cut short, fetch it again") from None

    def _decode(self, raw: bytes, position: int) -> str:
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            raise self.error(describe_invalid_utf8(position + error.start, raw[error.start])) from None
        text = text.removeprefix("\ufeff") if not position else text
        if "\0" in text:
            self.note("lines with NUL characters mended")
            return text.replace("\0", "\ufffd")
        return text

    def _count_bytes(self, size: int) -> None:
        self._bytes_read += size
        self._progress(self._bytes_read, self._bytes_expected)


class _CountingFile(io.FileIO):
    def __init__(self, path: Path, on_read: Callable[[int], None]) -> None:
        super().__init__(path)
        self._on_read = on_read

    def readinto(self, buffer: Any) -> int:
        size = super().readinto(buffer) or 0
        self._on_read(size)
        return size


def _open_decompressed(raw: Any) -> Any:
    try:
        head = raw.peek(3)
    except OSError:
        head = b""
    if head.startswith(b"\x1f\x8b"):
        return gzip.open(raw)
    return bz2.open(raw) if head.startswith(b"BZh") else raw


def describe_invalid_utf8(position: int, byte: int) -> str:
    """The message for a byte that is not UTF-8."""
    return f"byte {position} (0x{byte:02x}) is not UTF-8; save the file as UTF-8, e.g. with iconv -t UTF-8"


def find_files(paths: Iterable[Path], *patterns: str) -> list[Path]:
    """The files that `paths` name; a folder stands for those below it that match a pattern, sorted.

    Raises InputError for a path that is not there and for a folder without such a file.
    """
    found: list[Path] = []
    for path in paths:
        inside = sorted({f for pattern in patterns for f in path.rglob(pattern)}) if path.is_dir() else [path]
        if not path.exists() or not inside:
            problem = "no such file in it" if path.exists() else "not there"
            raise InputError(f"{path}: {problem}; expected {' or '.join(patterns)}")
        found += inside
    return found
