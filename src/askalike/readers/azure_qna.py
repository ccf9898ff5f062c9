"""Reads exports of QnA Maker and custom question answering (Azure AI Language): TSV or Excel."""

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from pydantic import Field

from askalike.core.config import Settings
from askalike.core.errors import InputError, SettingsError
from askalike.core.types import Answer, Link, LocatedRecord, Place, Question, Record, RejectedRow
from askalike.readers._json import PlacedRow
from askalike.readers._rows import open_table
from askalike.readers._source import DerivedIds, SourceFiles, find_files, parse_rows, refuse_damage
from askalike.readers._values import derive_id, to_text
from askalike.text.clean import replace_forbidden

WORKBOOK_SUFFIXES = (".xlsx", ".xlsm")
NEEDED = ("Question", "Answer")
MAX_UNPACKED_RATIO, MAX_UNPACKED_BYTES = 100, 100 << 20
"""A workbook whose unpacked size would exceed both limits is refused."""

Group = Sequence[Mapping[str, Any]]
"""Rows of one question with its answer; each but the first has another phrasing."""


class AzureQnaReader(Settings):
    """A project of QnA Maker or custom question answering: PATHs are its exports as TSV or Excel.

    Rows with the same QnaId are one question with its alternates. Excel needs the extra `excel`.

    Examples:

    ```
    askalike import azure-qna export.tsv -o faq
    askalike import azure-qna export.xlsx -o faq --language en
    ```
    """

    quotes: bool = Field(True, description="fields of TSV may be in double quotes; off: quotes are text")

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield questions with their answers, and prompts as related links. Raises InputError or SettingsError."""
        files = find_files(paths, "*.tsv", "*.tsv.gz", *(f"*{suffix}" for suffix in WORKBOOK_SUFFIXES))
        source.expect(files)
        for file in files:
            is_workbook = file.suffix.lower() in WORKBOOK_SUFFIXES
            rows = _read_workbook(file) if is_workbook else open_table(source, file, quotes=self.quotes).rows
            groups = _group_rows(_check_columns(rows, file))
            yield from parse_rows(groups, lambda group: _build_records(group, source), shown=lambda group: group[0])


def _build_records(group: Group, source: SourceFiles) -> list[Record]:
    """Return a question, its answer, and links to the targets of its prompts. Raises KeyError."""
    first = group[0]
    titles = list(dict.fromkeys(title for row in group if (title := _text(row, "Question"))))
    if not titles:
        raise KeyError("Question")
    body, origin = _text(first, "Answer"), _text(first, "Source")
    file_id = _text(first, "QnaId")
    id = file_id or derive_id(titles[0], body)
    answers = [Answer(f"{id}_1", id, body, accepted=True)] if body else []
    question = Question(
        id,
        titles[0],
        tags=tuple(filter(None, (tag.strip() for tag in _text(first, "Metadata").split("|")))),
        category=_text(first, "SourceDisplayName") or origin or None,
        url=origin if origin.startswith(("https://", "http://")) else None,
        accepted_answer_id=answers[0].id if answers else None,
        rephrasings=tuple(titles[1:]),
    )
    prompts = dict.fromkeys(target for row in group for target in _prompt_targets(row, source))
    links = (Link(id, target, "related") for target in prompts if target != id)
    return (list if file_id else DerivedIds)((question, *answers, *links))


def _prompt_targets(row: Mapping[str, Any], source: SourceFiles) -> Iterator[str]:
    """Yield the ids of the targets of a row's prompts."""
    text = _text(row, "Prompts")
    prompts: Any = []
    with suppress(ValueError):
        prompts = json.loads(text) if text else []
    if not isinstance(prompts, list):
        prompts = []
    source.note("prompts that are not JSON left out", bool(text) and not prompts and text != "[]")
    for prompt in prompts:
        target = to_text(prompt.get("qnaId", prompt.get("QnaId"))) if isinstance(prompt, dict) else ""
        if target not in ("", "0"):
            yield target


def _group_rows(rows: Iterator[PlacedRow]) -> Iterator[tuple[Place, Group | RejectedRow]]:
    """Yield consecutive rows with the same QnaId, or, without one, with the same answer and source."""
    group: list[Mapping[str, Any]] = []
    group_place, group_key = Place(""), ("", "")
    for place, row in rows:
        if isinstance(row, RejectedRow):
            yield place, row
            continue
        id = _text(row, "QnaId")
        key = ("", id) if id else (_text(row, "Answer"), _text(row, "Source"))
        if group and key != group_key:
            yield group_place, group
            group = []
        if not group:
            group_place, group_key = place, key
        group.append(row)
    if group:
        yield group_place, group


def _check_columns(rows: Iterator[PlacedRow], file: Path) -> Iterator[PlacedRow]:
    """Yield the rows. Raises InputError if the first one lacks a column."""
    is_checked = False
    for place, row in rows:
        if not is_checked and not isinstance(row, RejectedRow):
            is_checked = True
            if missing := [name for name in NEEDED if name not in row]:
                raise InputError(f"{file}: no column {', '.join(missing)}; there are: {', '.join(row)}")
        yield place, row


def _text(row: Mapping[str, Any], name: str) -> str:
    """Return the text of a cell; the exports write a line break as a backslash and an n."""
    return to_text(row.get(name)).replace("\\n", "\n")


def _read_workbook(file: Path) -> Iterator[PlacedRow]:
    """Yield the rows of the first sheet with the needed columns: only values; formulas and macros are not run."""
    try:
        from openpyxl import load_workbook
    except ModuleNotFoundError:
        raise SettingsError("openpyxl is not installed: pip install 'askalike[excel]'") from None
    with file.open("rb") as stream, refuse_damage(file, "an Excel workbook"):
        _refuse_bomb(file)
        with closing(load_workbook(stream, read_only=True, data_only=True, keep_links=False)) as workbook:
            for sheet in workbook.worksheets:
                rows = enumerate(sheet.iter_rows(values_only=True), 1)
                header = [to_text(cell) for cell in next(rows, (0, ()))[1]]
                if all(name in header for name in NEEDED):
                    for line, cells in rows:
                        if any(cell is not None for cell in cells):
                            row = dict(zip(header, map(replace_forbidden, map(to_text, cells)), strict=False))
                            yield Place(str(file), line), row
                    return
    raise InputError(f"{file}: no sheet has the columns {' and '.join(NEEDED)}; expected an export of the project")


def _refuse_bomb(file: Path) -> None:
    """Raise InputError for a workbook whose unpacked size would be too large."""
    with zipfile.ZipFile(file) as packed:
        size = sum(member.file_size for member in packed.infolist())
    if size > MAX_UNPACKED_BYTES and size > MAX_UNPACKED_RATIO * file.stat().st_size:
        raise InputError(f"{file}: would unpack to {size >> 20} MB, more than 100 times its size; refused")
