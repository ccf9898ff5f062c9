"""Reads exports of QnA Maker and custom question answering (Azure AI Language): TSV or Excel."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import Field

from askalike.core.config import Settings
from askalike.core.errors import InputError
from askalike.core.records import Answer, Link, LocatedRecord, Place, Question, Record
from askalike.core.values import hash_texts
from askalike.readers._json import PlacedRow
from askalike.readers._rows import WORKBOOK_SUFFIXES, check_columns, group_rows, open_sheets, open_table
from askalike.readers._source import DerivedIds, SourceFiles, find_files, parse_rows
from askalike.readers._values import to_text

NEEDED = ("Question", "Answer")
Group = Sequence[Mapping[str, Any]]
"""Rows of one question with its answer; each but the first has another phrasing."""


class AzureQnaReader(Settings):
    """A project of QnA Maker or custom question answering: PATHs are its exports as TSV or Excel.

    Rows with the same QnaId are one question with its alternates.

    Examples:

    ```
    askalike import azure-qna export.tsv -o faq
    askalike import azure-qna export.xlsx -o faq --language en
    ```
    """

    quotes: bool = Field(True, description="fields of TSV may be in double quotes; off: quotes are text")

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield questions with their answers, and prompts as related links. Raises InputError."""
        files = find_files(paths, "*.tsv", "*.tsv.gz", *(f"*{suffix}" for suffix in WORKBOOK_SUFFIXES))
        source.expect(files)
        for file in files:
            is_workbook = file.suffix.lower() in WORKBOOK_SUFFIXES
            rows = _read_workbook(source, file) if is_workbook else open_table(source, file, quotes=self.quotes).rows
            groups = group_rows(check_columns(rows, file, NEEDED), _group_key)
            yield from parse_rows(groups, lambda group: _build_records(group, source), shown=lambda group: group[0])


def _build_records(group: Group, source: SourceFiles) -> list[Record]:
    """Return a question, its answer, and links to the targets of its prompts. Raises KeyError."""
    first = group[0]
    titles = list(dict.fromkeys(title for row in group if (title := _text(row, "Question"))))
    if not titles:
        raise KeyError("Question")
    body, origin = _text(first, "Answer"), _text(first, "Source")
    file_id = _text(first, "QnaId")
    id = file_id or hash_texts(titles[0], body)
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
    text = _text(row, "Prompts")
    prompts: Any = []
    with suppress(ValueError, RecursionError):
        prompts = json.loads(text) if text else []
    if not isinstance(prompts, list):
        prompts = []
    source.note("prompts that are not JSON left out", bool(text) and not prompts and text != "[]")
    for prompt in prompts:
        target = to_text(prompt.get("qnaId", prompt.get("QnaId"))) if isinstance(prompt, dict) else ""
        if target not in ("", "0"):
            yield target


def _group_key(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the row's QnaId, or, without one, its answer and source."""
    id = _text(row, "QnaId")
    return (id,) if id else (_text(row, "Answer"), _text(row, "Source"))


def _text(row: Mapping[str, Any], name: str) -> str:
    """Return the text of a cell; the exports write a line break as a backslash and an n."""
    return to_text(row.get(name)).replace("\\n", "\n")


def _read_workbook(source: SourceFiles, file: Path) -> Iterator[PlacedRow]:
    """Yield the rows of the first sheet with the needed columns. Raises InputError."""
    with open_sheets(source, file) as sheets:
        for rows in sheets.values():
            _, header = next(rows, (0, []))
            if all(name in header for name in NEEDED):
                yield from ((Place(str(file), line), dict(zip(header, cells, strict=False))) for line, cells in rows)
                return
    raise InputError(f"{file}: no sheet has the columns {' and '.join(NEEDED)}; expected an export of the project")
