"""Names for readers: opening files, rows that are refused, XML, and the values of cells.

A reader is a class of settings with the method of `askalike.Reader`, and is registered in the group `askalike.readers`.
"""

from askalike.core.records import Markup as Markup, Record as Record
from askalike.readers import (
    Element as Element,
    SourceFiles as SourceFiles,
    find_files as find_files,
    parse_optional_utc as parse_optional_utc,
    parse_rows as parse_rows,
    read_elements as read_elements,
    reject as reject,
    to_text as to_text,
    unescape as unescape,
)
from askalike.text.clean import guess_markup as guess_markup, replace_forbidden as replace_forbidden
