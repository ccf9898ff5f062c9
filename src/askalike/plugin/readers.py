"""Names for readers: opening files, rows that are refused, XML, and the values of cells.

A reader is a class of settings with the method of `askalike.Reader`, and is registered in the group `askalike.readers`.
"""

from askalike.core.records import Markup, Record
from askalike.readers import (
    Element,
    SourceFiles,
    find_files,
    parse_optional_utc,
    parse_rows,
    read_elements,
    reject,
    to_text,
    unescape,
)
from askalike.text.clean import guess_markup, replace_forbidden

__all__ = [
    "Element",
    "Markup",
    "Record",
    "SourceFiles",
    "find_files",
    "guess_markup",
    "parse_optional_utc",
    "parse_rows",
    "read_elements",
    "reject",
    "replace_forbidden",
    "to_text",
    "unescape",
]
