"""Reads Excel workbooks (.xlsx), row by row: values only; formulas and macros are not run."""

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date, datetime, time
from pathlib import Path
from typing import IO, Any

from askalike.core.errors import InputError
from askalike.readers._source import SourceFiles, refuse_damage
from askalike.readers._values import to_text
from askalike.text.clean import replace_forbidden

WORKBOOK = "an Excel workbook"
WORKBOOK_SUFFIXES = (".xlsx", ".xlsm")
MAX_UNPACKED_BYTES = 100 << 20
MAX_UNPACKED_RATIO = 100
"""A workbook that unpacks to more than both is refused: it would fill the memory."""
CellRow = tuple[int, list[str]]
"""A row's number, from 1, and the texts of its cells."""


def is_workbook(path: Path) -> bool:
    """Return whether a file is an Excel workbook, by its content; by its name if the content leaves it open."""
    with SourceFiles().open(path, unpack=False) as stream:
        head = stream.peek()  # type: ignore[attr-defined]
    return head.startswith(b"PK\x03\x04") and (b"xl/work" in head or path.suffix.lower() in WORKBOOK_SUFFIXES)


@contextmanager
def open_sheets(source: SourceFiles, path: Path) -> Iterator[dict[str, Iterator[CellRow]]]:
    """Yield the name and the rows of each sheet, without empty rows. Raises InputError."""
    from openpyxl import load_workbook

    with source.open(path, unpack=False) as stream:
        with refuse_damage(path, WORKBOOK):
            _refuse_bomb(path, stream)
            workbook = load_workbook(stream, read_only=True, data_only=True, keep_links=False)
        with closing(workbook):
            yield {sheet.title: _read_rows(path, sheet) for sheet in workbook.worksheets}


def _read_rows(path: Path, sheet: Any) -> Iterator[CellRow]:
    with refuse_damage(path, WORKBOOK):
        sheet.reset_dimensions()  # some programs write a wrong size, beyond which cells would be lost
        for number, cells in enumerate(sheet.iter_rows(values_only=True), 1):
            texts = _to_texts(cells)
            if any(texts):
                yield number, texts


def _to_texts(cells: Sequence[Any]) -> list[str]:
    """Return the cells as texts: dates as ISO 8601, whole numbers without a fraction."""
    return [replace_forbidden(to_text(c.isoformat() if isinstance(c, date | datetime | time) else c)) for c in cells]


def _refuse_bomb(path: Path, stream: IO[bytes]) -> None:
    """Raise InputError for a workbook whose unpacked size would be too large, BadZipFile if it is not a ZIP archive."""
    with zipfile.ZipFile(stream) as packed:
        size = sum(member.file_size for member in packed.infolist())
    if size > MAX_UNPACKED_BYTES and size > MAX_UNPACKED_RATIO * path.stat().st_size:
        raise InputError(f"{path}: would unpack to {size >> 20} MB, more than 100 times its size; refused")
