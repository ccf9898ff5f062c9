"""Text from bytes: other encodings than UTF-8 are converted to it, and binary formats are refused."""

import codecs
import io
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any

from askalike.core.errors import InputError

CHUNK_SIZE = 1 << 18
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


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
