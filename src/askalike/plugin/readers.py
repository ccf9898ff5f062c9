"""Names for readers: opening files, rows that are refused, XML, and the values of cells.

A reader is a class of settings with the method of `askalike.Reader`, and is registered in the group `askalike.readers`.
"""

from askalike.core.records import Record
from askalike.readers import (
    Element,
    SourceFiles,
    find_files,
    parse_optional_utc,
    parse_rows,
    read_elements,
    reject,
    unescape,
)

__all__ = [
    "Element",
    "Record",
    "SourceFiles",
    "find_files",
    "parse_optional_utc",
    "parse_rows",
    "read_elements",
    "reject",
    "unescape",
]
