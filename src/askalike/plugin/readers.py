"""Names for readers: opening files, rows that are refused, XML, and the values of cells.

A reader is a class of settings with the method of `askalike.Reader`, and is registered in the group `askalike.readers`.
"""

from askalike.core.types import Record
from askalike.readers._source import SourceFiles, find_files, parse_rows, reject
from askalike.readers._values import parse_optional_utc, unescape
from askalike.readers._xml import Element, read_elements

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
