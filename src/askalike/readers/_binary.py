"""Refuses files that are not text, recognised by their first bytes."""

from pathlib import Path

from askalike.core.errors import InputError

BINARY_KINDS = (
    (b"%PDF-", "a PDF; save its questions as CSV"),
    (b"SQLite format 3\0", "an SQLite database; export its table of questions as CSV"),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "a file of an old Office program such as Excel (.xls); save it as CSV (UTF-8)",
    ),
    (b"PAR1", "a Parquet file; read it with: askalike import parquet"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it, and import the files in it"),
    (b"PK\x03\x04", "a ZIP archive; unpack it, and import the files in it"),
)
"""First bytes → the kind of file, and what to do with it."""
ZIPPED_KINDS = (
    (b"xl/work", "an Excel file; save it as CSV (UTF-8)"),
    (b"opendocument.spreadsheet", "a LibreOffice spreadsheet; save it as CSV (UTF-8)"),
)
"""Bytes near the beginning of a ZIP archive → the kind of file, and what to do with it."""


def refuse_binary(path: Path, head: bytes) -> None:
    """Raise InputError if the first bytes of a file are those of a binary format."""
    kinds = [kind for start, kind in BINARY_KINDS if head.startswith(start)]
    if head.startswith(b"PK\x03\x04"):
        kinds = [kind for part, kind in ZIPPED_KINDS if part in head] + kinds
    if kinds:
        raise InputError(f"{path}: is not text but {kinds[0]}")
