"""The encoding of a file: binary formats are refused, other encodings converted to UTF-8."""

import codecs
import io
import zlib
from collections.abc import Callable
from contextlib import suppress
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
    return io.BufferedReader(_RecodedFile(stream, path, encoding), CHUNK_SIZE)


def describe_invalid_utf8(offset: int, byte: int) -> str:
    """Return the error message for a byte that is not UTF-8."""
    advice = "name the encoding, e.g. --encoding cp1252, or convert the file: iconv -f CP1252 -t UTF-8 FILE"
    return f"byte {offset} (0x{byte:02x}) is not UTF-8; {advice}"


class _RecodedFile(io.RawIOBase):
    """A stream decoded from its encoding and encoded as UTF-8. Reading raises InputError if it cannot be decoded."""

    def __init__(self, stream: IO[bytes], path: Path, encoding: str) -> None:
        self._stream, self._path, self._encoding = stream, path, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._pending = b""
        self._offset = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._pending:
            chunk = self._stream.read(CHUNK_SIZE)
            self._pending = self._decode(chunk)
            if not chunk:
                break
        size = min(len(buffer), len(self._pending))
        buffer[:size], self._pending = self._pending[:size], self._pending[size:]
        return size

    def _decode(self, chunk: bytes) -> bytes:
        undecoded = len(self._decoder.getstate()[0])
        try:
            text = self._decoder.decode(chunk, not chunk)
        except UnicodeDecodeError as error:
            place = f"byte {self._offset - undecoded + error.start}"
            problem = f"{place} is not {self._encoding} ({error.reason}); name it with --encoding"
            raise InputError(f"{self._path}: {problem}") from None
        self._offset += len(chunk)
        return text.encode("utf-8", "replace")


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
