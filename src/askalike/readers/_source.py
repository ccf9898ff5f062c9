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
from askalike.types import Rejected

CHUNK = 1 << 18
LONGEST_LINE = 1 << 26
DAMAGED = (EOFError, OSError, zlib.error)

Progress = Callable[[int, int], None]
"""Called with the bytes read so far and those expected in all."""


class Source:
    """The files of one import, as a reader sees them.

    `where` and `line` (from 1) say what was handed out last. `notes` counts what a person should hear of ("planted
    posts dropped": 2). `facts` is what the reader learned of the whole: name, license, language, groups. While
    `ids_are_given` a repeated id is an error of the file; ids made from content may repeat. `strict`: nothing doubtful
    is to be taken.
    """

    def __init__(self, progress: Progress = lambda done, total: None, *, strict: bool = False) -> None:
        self.strict = strict
        self.where = ""
        self.line = 0
        self.notes: Counter[str] = Counter()
        self.facts: dict[str, Any] = {}
        self.ids_are_given = True
        self._progress = progress
        self._done = 0
        self._total = 0

    def expect(self, files: Iterable[Path], passes: int = 1) -> None:
        """Tells the progress bar which files will be read, and how often."""
        self._total += passes * sum(file.stat().st_size for file in files)
        self._progress(self._done, self._total)

    def note(self, what: str, count: int = 1) -> None:
        """Counts something worth a line at the end; `what` reads well after a number."""
        if count:
            self.notes[what] += count

    def reject(self, reason: str, row: object = "") -> Rejected:
        """The row read last, as one that cannot be taken."""
        text = row if isinstance(row, str) else json.dumps(row, ensure_ascii=False, default=str)
        return Rejected(self.where, self.line, reason, text)

    def error(self, problem: str) -> InputError:
        """An error of the file as a whole, at the line read last."""
        at = f", line {self.line}" if self.line else ""
        return InputError(f"{self.where}{at}: {problem}")

    @contextmanager
    def open(self, path: Path, *, unpack: bool = True) -> Iterator[IO[bytes]]:
        """A file's bytes, those of a .gz or .bz2 unpacked (told by its first bytes). Raises InputError."""
        self.where, self.line = str(path), 0
        try:
            raw: Any = io.BufferedReader(_Counted(path, self._count), CHUNK)
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}); expected a file") from None
        with raw, _unpacked(raw) if unpack else raw as stream:
            yield stream

    def chunks(self, path: Path) -> Iterator[bytes]:
        """A file's bytes, unpacked, a quarter of a megabyte at a time."""
        with self.open(path) as stream:
            while chunk := self._reading(lambda: stream.read(CHUNK)):
                yield chunk

    def lines(self, path: Path) -> Iterator[str]:
        """A file's lines with their ends: UTF-8, a byte order mark dropped, NULs replaced.

        Raises InputError at the first byte that is not UTF-8, and for a line over 64 MB.
        """
        position = number = 0
        with self.open(path) as stream:
            while raw := self._reading(lambda: stream.readline(LONGEST_LINE)):
                number += 1
                self.line = number
                if len(raw) == LONGEST_LINE:
                    raise self.error("is over 64 MB long; expected one row a line")
                yield self._decoded(raw, position)
                position += len(raw)

    def text(self, path: Path) -> Iterator[str]:
        """A file's text in pieces, for formats without lines. Raises InputError at a byte that is not UTF-8."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        position = 0
        for chunk in chain(self.chunks(path), [b""]):
            kept = len(decoder.getstate()[0])
            try:
                text = decoder.decode(chunk, not chunk)
            except UnicodeDecodeError as error:
                raise self.error(not_utf8(position - kept + error.start, error.object[error.start])) from None
            yield text.removeprefix("\ufeff") if not position else text
            position += len(chunk)

    def _reading(self, read: Callable[[], bytes]) -> bytes:
        try:
            return read()
        except DAMAGED as error:
            raise self.error(f"cannot be read on ({error}); the file is damaged or cut short, fetch it again") from None

    def _decoded(self, raw: bytes, position: int) -> str:
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            raise self.error(not_utf8(position + error.start, raw[error.start])) from None
        text = text.removeprefix("\ufeff") if not position else text
        if "\0" in text:
            self.note("lines with NUL characters mended")
            return text.replace("\0", "\ufffd")
        return text

    def _count(self, size: int) -> None:
        self._done += size
        self._progress(self._done, self._total)


class _Counted(io.FileIO):
    def __init__(self, path: Path, count: Callable[[int], None]) -> None:
        super().__init__(path)
        self._count = count

    def readinto(self, buffer: Any) -> int:
        size = super().readinto(buffer) or 0
        self._count(size)
        return size


def _unpacked(raw: Any) -> Any:
    try:
        head = raw.peek(3)
    except OSError:
        head = b""
    if head.startswith(b"\x1f\x8b"):
        return gzip.open(raw)
    return bz2.open(raw) if head.startswith(b"BZh") else raw


def not_utf8(position: int, byte: int) -> str:
    """The message for a byte that is not UTF-8."""
    return f"byte {position} (0x{byte:02x}) is not UTF-8; save the file as UTF-8, e.g. with iconv -t UTF-8"


def files_of(paths: Iterable[Path], *patterns: str) -> list[Path]:
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
