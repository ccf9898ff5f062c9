"""Files as readers see them, from bytes to records: decompression, encodings, byte counts, notes, rejected rows.

Other encodings than UTF-8 are converted to it, and binary formats are refused.
"""

import codecs
import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any, TypeVar

from pydantic import Field

from askalike.core.config import DateText, Settings
from askalike.core.errors import AskalikeError, InputError
from askalike.core.files import open_unpacked
from askalike.core.records import LocatedRecord, Place, Record, RejectedRow
from askalike.store.database import DATABASE_FILE

MAX_LINE_SIZE = 1 << 26
MAX_EXAMPLES = 3
DAMAGE_ERRORS = (EOFError, OSError, zlib.error)

ReadProgressCallback = Callable[[int, int], None]
"""Called with the number of bytes read so far and expected in total."""
T = TypeVar("T")
CHUNK_SIZE = 1 << 18
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class SourceFiles:
    """The files of one import, and the reader's notes on them."""

    def __init__(
        self,
        progress: ReadProgressCallback = lambda done, total: None,
        *,
        strict: bool = False,
        encoding: str | None = None,
        is_follow_up: bool = False,
    ) -> None:
        self.strict = strict
        """Whether doubtful rows must be rejected."""
        self.encoding = encoding
        """Encoding of text files; None for UTF-8, or UTF-16 if a file has its byte order mark."""
        self.notes: Counter[str] = Counter()
        """Notes on the import for the user, with counts: "planted posts dropped" → 2."""
        self.facts: dict[str, Any] = {}
        """Metadata found by the reader: name, license, language, groups."""
        self.is_follow_up = is_follow_up
        """True if only changes are read, so that records absent from the files are not missing."""
        self.source_prefixes: Mapping[str, str] | None = None
        """In an exported archive: source → the prefix of its ids; None if the records do not name their source."""
        self._progress = progress
        self._examples: dict[str, list[str]] = {}
        self._noted_files: set[tuple[str, Path]] = set()
        self._bytes_read = 0
        self._bytes_expected = 0

    def expect(self, files: Iterable[Path], passes: int = 1) -> None:
        """Announce which files will be read, and how many times, so that progress has a total."""
        self._bytes_expected += passes * sum(file.stat().st_size for file in files)
        self._progress(self._bytes_read, self._bytes_expected)

    def note(self, what: str, count: int = 1, example: str | None = None) -> None:
        """Add to the count of a note; `what` is a plural that can be followed by a colon and the count.

        example: shown with the note if it is among the first.
        """
        if not count:
            return
        examples = self._examples.setdefault(what, [])
        shown = _with_examples(what, examples)
        if example and len(examples) < MAX_EXAMPLES and example not in examples:
            examples.append(example)
            self.notes[_with_examples(what, examples)] = self.notes.pop(shown, 0)
        self.notes[_with_examples(what, examples)] += count

    def note_file(self, path: Path, what: str, count: int = 1) -> None:
        """Count something of a file in a note, only once even if the file is read several times."""
        if (what, path) not in self._noted_files:
            self._noted_files.add((what, path))
            self.note(what, count)

    @contextmanager
    def open(self, path: Path, *, unpack: bool = True) -> Iterator[IO[bytes]]:
        """Open a file as bytes; with `unpack` it is text, and is decompressed if its content is gzip or bzip2.

        Raises InputError, also while it is read, if too much is in it.
        """
        try:
            raw: Any = io.BufferedReader(_CountingFile(path, self._count_bytes), CHUNK_SIZE)
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}); expected a file") from None
        with raw, open_unpacked(raw, path, _peek(raw)) if unpack else raw as stream:
            if unpack:
                refuse_binary(path, _peek(stream))
            yield stream

    @contextmanager
    def open_text(self, path: Path) -> Iterator[IO[bytes]]:
        """Open a text file in any encoding as UTF-8 bytes. Raises InputError."""
        with self.open(path) as stream:
            yield recode(stream, path, self.encoding, partial(self.note_file, path))

    def read_bytes(self, path: Path) -> Iterator[bytes]:
        """Yield a file's decompressed bytes in chunks of 256 KiB."""
        with self.open(path) as stream:
            yield from _read_chunks(stream, path)

    def read_chunks(self, path: Path) -> Iterator[bytes]:
        """Yield a text file as UTF-8 bytes in chunks of 256 KiB."""
        with self.open_text(path) as stream:
            yield from _read_chunks(stream, path)

    def read_lines(self, path: Path) -> Iterator[tuple[Place, str]]:
        """Yield each line's place and text, with NULs replaced. Raises InputError if it is not UTF-8, or over 64 MB."""
        offset = 0
        place = Place(str(path))
        with self.open_text(path) as stream:
            while raw := _read_checked(lambda: stream.readline(MAX_LINE_SIZE), place):
                place = Place(place.path, place.line + 1)
                if len(raw) == MAX_LINE_SIZE:
                    raise InputError(f"{place}: is over 64 MB long; expected one row a line")
                yield place, self._decode(raw, offset, place)
                offset += len(raw)

    def read_text(self, path: Path) -> Iterator[str]:
        """Yield a file's text in pieces, for formats without lines. Raises InputError at a byte that is not UTF-8."""
        texts = decode_chunks(self.read_chunks(path), "utf-8", path)
        yield next(texts, "").removeprefix("\ufeff")
        yield from texts

    def _decode(self, raw: bytes, offset: int, place: Place) -> str:
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            problem = describe_invalid_utf8(offset + error.start, raw[error.start])
            raise InputError(f"{place}: {problem}") from None
        text = text.removeprefix("\ufeff") if not offset else text
        if "\0" in text:
            self.note("lines with NUL characters repaired")
            return text.replace("\0", "\ufffd")
        return text

    def _count_bytes(self, size: int) -> None:
        self._bytes_read += size
        self._progress(self._bytes_read, self._bytes_expected)


def _with_examples(what: str, examples: Sequence[str]) -> str:
    return f"{what}, e.g. {', '.join(map(repr, examples))}" if examples else what


class _CountingFile(io.FileIO):
    def __init__(self, path: Path, on_read: Callable[[int], None]) -> None:
        super().__init__(path)
        self._on_read = on_read

    def readinto(self, buffer: Any) -> int:
        size = super().readinto(buffer) or 0
        self._on_read(size)
        return size


class DerivedIds(list[Record]):
    """The records of a row without an id; their ids are derived from its content."""


def parse_rows(
    rows: Iterable[tuple[Place, T | RejectedRow]],
    parse: Callable[[T], Iterable[Record]],
    shown: Callable[[T], object] = lambda row: row,
) -> Iterator[LocatedRecord]:
    """Yield the records of each row; a row for which `parse` raises KeyError or ValueError is rejected as `shown`."""
    for place, row in rows:
        if isinstance(row, RejectedRow):
            yield row, place
            continue
        try:
            parsed = parse(row)
            records = list(parsed)
            place = place._replace(ids_are_given=not isinstance(parsed, DerivedIds))
        except (KeyError, ValueError) as error:
            reason = f"no {error.args[0]}" if isinstance(error, KeyError) else str(error)
            records = [reject(place, reason, shown(row))]
        for record in records:
            yield record, place


def reject(place: Place, reason: str, row: object = "") -> RejectedRow:
    """Return a rejected row with the reason."""
    return RejectedRow(place.path, place.line, reason, row)


def find_files(paths: Iterable[Path], *patterns: str) -> list[Path]:
    """Return files, and those in folders that match a pattern, sorted. Raises InputError if there are none."""
    files: list[Path] = []
    for path in paths:
        inside = _list_folder(path, patterns) if path.is_dir() else [path]
        if not path.exists() or not inside:
            problem = "it has no such file" if path.exists() else "not there"
            raise InputError(f"{path}: {problem}; expected {' or '.join(patterns)}")
        files += inside
    return files


def _list_folder(folder: Path, patterns: Iterable[str]) -> list[Path]:
    """Return the files below a folder that match a pattern, sorted, without those of archives below it.

    One of them may be the archive that the import writes.
    """
    archives = {database.parent for database in folder.rglob(DATABASE_FILE)} - {folder}
    found = {file for pattern in patterns for file in folder.rglob(pattern)}
    return sorted(file for file in found if archives.isdisjoint(file.parents))


def _peek(stream: Any) -> bytes:
    """Return the first bytes; none if they cannot be read, which the file's reader will report."""
    try:
        return stream.peek(CHUNK_SIZE)  # type: ignore[no-any-return]
    except DAMAGE_ERRORS:
        return b""


def _read_chunks(stream: IO[bytes], path: Path) -> Iterator[bytes]:
    while chunk := _read_checked(lambda: stream.read(CHUNK_SIZE), Place(str(path))):
        yield chunk


def _read_checked(read: Callable[[], bytes], place: Place) -> bytes:
    try:
        return read()
    except DAMAGE_ERRORS as error:
        problem = f"reading failed ({error}); the file is damaged or cut short, fetch it again"
        raise InputError(f"{place}: {problem}") from None


@contextmanager
def refuse_damage(path: Path, format: str) -> Iterator[None]:
    """Raise InputError if another package's parser fails in the block: it checks little, and may raise anything."""
    try:
        yield
    except AskalikeError:
        raise
    except Exception as error:
        reason = str(error).partition("\n")[0].partition(". ")[0] or type(error).__name__
        raise InputError(f"{path}: is not {format}, or is damaged ({reason}); fetch it again") from None


class FollowUpReader(Settings):
    """Settings of a reader whose files have dates of changes."""

    since: DateText | None = Field(
        None, description="import only what changed on or after this date, e.g. 2026-01-31; for follow-up imports"
    )

    def is_unchanged(self, changed_at: str | None, source: SourceFiles) -> bool:
        """Return whether an item last changed before `since`, and must be left out; it is then counted.

        changed_at: ISO 8601 in UTC. An item without a date is imported.
        """
        if self.since is None:
            return False
        is_older = bool(changed_at) and (changed_at or "") < self.since
        source.note("older than --since left out", is_older)
        return is_older


def recode(stream: Any, path: Path, encoding: str | None, count: Callable[[str], None]) -> IO[bytes]:
    """Return a stream of UTF-8; without an encoding, a file with a byte order mark of UTF-16 is read as UTF-16.

    stream: a buffered stream of bytes. count: called with a note about the conversion.
    """
    if encoding is None:
        head = b""
        with suppress(EOFError, OSError, zlib.error):  # the error recurs when the rest is read
            head = stream.peek(2)
        if not head.startswith(UTF16_MARKS):
            return stream  # type: ignore[no-any-return]
        encoding = "utf-16"
        count("files read as UTF-16, as their first two bytes say")
    chunks = iter(lambda: stream.read(CHUNK_SIZE), b"")
    return io.BufferedReader(_TextFile(decode_chunks(chunks, encoding, path)), CHUNK_SIZE)


def describe_invalid_utf8(offset: int, byte: int) -> str:
    """Return the error message for a byte that is not UTF-8."""
    advice = "name the encoding, e.g. --encoding cp1252, or convert the file: iconv -f CP1252 -t UTF-8 FILE"
    return f"byte {offset} (0x{byte:02x}) is not UTF-8; {advice}"


def decode_chunks(chunks: Iterable[bytes], encoding: str, path: Path) -> Iterator[str]:
    """Yield the text of a file's chunks, none of it empty. Raises InputError if they cannot be decoded."""
    decoder = codecs.getincrementaldecoder(encoding)()
    offset = 0
    for chunk in chain(chunks, [b""]):
        undecoded = len(decoder.getstate()[0])
        try:
            text = decoder.decode(chunk, not chunk)
        except UnicodeDecodeError as error:
            at = offset - undecoded + error.start
            problem = f"byte {at} is not {encoding} ({error.reason}); name it with --encoding"
            if encoding == "utf-8":
                problem = describe_invalid_utf8(at, error.object[error.start])
            raise InputError(f"{path}: {problem}") from None
        except UnicodeError as error:  # of `punycode` and the like, without a place
            raise InputError(f"{path}: is not {encoding} ({error}); name its encoding with --encoding") from None
        offset += len(chunk)
        if text:
            yield text


class _TextFile(io.RawIOBase):
    """Texts as a stream of UTF-8."""

    def __init__(self, texts: Iterator[str]) -> None:
        self._texts = texts
        self._pending = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._pending = self._pending or next(self._texts, "").encode("utf-8", "replace")
        size = min(len(buffer), len(self._pending))
        buffer[:size], self._pending = self._pending[:size], self._pending[size:]
        return size


BINARY_KINDS = (
    (b"%PDF-", "a PDF; save its questions as CSV"),
    (b"SQLite format 3\0", "an SQLite database; export its table of questions as CSV"),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "a file of an old Office program such as Excel (.xls); save it as .xlsx or CSV (UTF-8)",
    ),
    (b"PAR1", "a Parquet file; read it with: askalike import parquet"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it, and import the files in it"),
    (b"PK\x03\x04", "a ZIP archive; unpack it, and import the files in it"),
)
"""First bytes → the kind of file, and what to do with it."""
ZIPPED_KINDS = (
    (b"xl/work", "an Excel file; read it, unpacked, with: askalike import table"),
    (b"opendocument.spreadsheet", "a LibreOffice spreadsheet; save it as .xlsx or CSV (UTF-8)"),
)
"""Bytes near the beginning of a ZIP archive → the kind of file, and what to do with it."""


def refuse_binary(path: Path, head: bytes) -> None:
    """Raise InputError if the first bytes of a file are those of a binary format."""
    kinds = [kind for start, kind in BINARY_KINDS if head.startswith(start)]
    if head.startswith(b"PK\x03\x04"):
        kinds = [kind for part, kind in ZIPPED_KINDS if part in head] + kinds
    if kinds:
        raise InputError(f"{path}: is not text but {kinds[0]}")
