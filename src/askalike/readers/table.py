"""Reads tables of questions and answers: CSV, TSV, Excel, JSON lines or JSON, gzipped or not, one question per row."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from askalike.core.config import Settings
from askalike.core.filters import parse_marks
from askalike.core.records import Answer, Link, LocatedRecord, Mark, Question, Record, RejectedRow
from askalike.core.values import hash_texts
from askalike.readers._columns import NUMBERED_COLUMNS, USUAL_COLUMNS, Columns, TableOpener, read_table
from askalike.readers._exported import read_csv_export, read_export_facts
from askalike.readers._rows import TABLE_PATTERNS, open_table
from askalike.readers._source import DerivedIds, SourceFiles, find_files
from askalike.readers._values import DateOrder, DateReader, require_text, split_cell, to_text
from askalike.store.database import FirstTextStore
from askalike.text.clean import collapse_spaces, looks_like_html, readable_text

REPEATED_ID_NOTE = (
    "rows with the id of an earlier row and another text (kept as questions of their own; else: --repeated-ids reject)"
)
MAX_DROPPED_LENGTH = 3
"""Rephrasings of at most this many characters are not questions."""
HTML_NOTE = "titles, bodies and answers that look like HTML and are read as plain text (else: --markup html)"
NO_HEADER_ADVICE = "; or, if the first row is a question, use --no-header"
CLEANED_NOTE = "titles with HTML made plain text"
TAG_SEPARATORS = "|;,"
WIDE_SCRIPTS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts in which three characters may be a whole question."""


class QuestionTable(Settings):
    """The columns of a question's parts, and the format of their values."""

    question: str | None = Field(None, description="the column of the question's title")
    answer: str | None = Field(None, description="the column of its answer, or of a list of answers")
    body: str | None = Field(None, description="the column of the question's body")
    tags: str | None = Field(None, description="the column of tags: a JSON list, or separated by |, ; or a comma")
    category: str | None = Field(None, description="the column of the category")
    id: str | None = Field(None, description="the column of the id")
    alternates: str | None = Field(
        None, description="the column of other phrasings: a JSON list, or separated by | or ;"
    )
    duplicate_of: str | None = Field(None, description="the column of the id of the question that it repeats")
    url: str | None = Field(None, description="the column of its address")
    lang: str | None = Field(None, description="the column of its language, e.g. en")
    created_at: str | None = Field(None, description="the column of its date")
    state: str | None = Field(None, description="the column of its state: open, answered, closed, locked, outdated")
    solved_in: str | None = Field(None, description="the column of the release in which it was solved")
    dates: DateOrder | None = Field(None, description="how 03/04/2023 is read")
    markup: Literal["text", "html"] = Field(
        "text", description="the format of bodies and answers; with html, titles are made plain text"
    )
    repeated_ids: Literal["keep", "reject"] | None = Field(
        None,
        description="a row with an earlier row's id and another text: keep it as a question of its own, or reject it",
    )

    def read_questions(
        self,
        files: Sequence[Path],
        source: SourceFiles,
        open_table: TableOpener,
        usual: Mapping[str, Sequence[str]] = USUAL_COLUMNS,
    ) -> Iterator[LocatedRecord]:
        """Yield each row as a question, its answers and its links. Raises InputError."""
        source.expect(files)
        advice = NO_HEADER_ADVICE if "header" in type(self).model_fields else ""
        columns = Columns({part: getattr(self, part) for part in usual}, usual, ("question",), advice)

        def all_dates() -> Iterator[Any]:
            for file in files:
                unread = SourceFiles(encoding=source.encoding)
                for _, row in open_table(unread, file).rows:
                    if not isinstance(row, RejectedRow):
                        with suppress(ValueError):
                            yield columns.extract(row, unread.note).get("created_at")

        dates = DateReader(self.dates, all_dates, source)
        with FirstTextStore() as first_texts:
            parse = partial(self._build_records, first_texts, dates, source)
            yield from read_table(source, files, columns, parse, open_table)

    def _build_records(
        self, first: FirstTextStore, dates: DateReader, source: SourceFiles, cells: Mapping[str, Any]
    ) -> list[Record]:
        """Return a question with its answers and links. Raises KeyError or ValueError."""
        title = require_text(cells, "question")
        body, file_id = to_text(cells.get("body")), to_text(cells.get("id"))
        id = self._choose_id(file_id, hash_texts(title, body), first, source)
        texts = _split_answers(cells.get("answer"))
        ids = (f"{id}_{n if file_id else hash_texts(text)}" for n, text in enumerate(texts, 1))
        if self.markup == "text":
            source.note(HTML_NOTE, sum(map(looks_like_html, (title, body, *texts))))
        title = self._clean_title(title, source)
        phrasings = _split_rephrasings(cells.get("alternates"), source)
        answers = [Answer(a, id, text, self.markup, len(texts) == 1) for a, text in zip(ids, texts, strict=True)]
        question = Question(
            id,
            title,
            body,
            self.markup,
            split_cell(cells.get("tags"), TAG_SEPARATORS),
            to_text(cells.get("category")) or None,
            _parse_language(cells.get("lang")),
            dates.read(cells.get("created_at")),
            url=to_text(cells.get("url")) or None,
            accepted_answer_id=answers[0].id if len(answers) == 1 else None,
            rephrasings=tuple(dict.fromkeys(p for p in phrasings if p != title)),
            marks=self._parse_marks(to_text(cells.get("state")), source),
            solved_in=to_text(cells.get("solved_in")) or None,
        )
        links = (Link(id, target) for target in split_cell(cells.get("duplicate_of")))
        return (list if file_id else DerivedIds)((question, *answers, *links))

    def _clean_title(self, title: str, source: SourceFiles) -> str:
        """Return a title, which has no markup, as plain text if markup is HTML and it looks like that."""
        if self.markup == "text" or not looks_like_html(title):
            return title
        source.note(CLEANED_NOTE)
        return collapse_spaces(readable_text(title, "html")) or title

    def _parse_marks(self, cell: str, source: SourceFiles) -> tuple[Mark, ...]:
        """Return the states in a cell. Raises ValueError for other words if --state names the column."""
        try:
            return parse_marks(cell)
        except ValueError:
            if self.state is not None:
                raise
            source.note("unknown states left out", example=cell)
            return ()

    def _choose_id(self, file_id: str, derived: str, first_texts: FirstTextStore, source: SourceFiles) -> str:
        """Return the id in the file, or, if an earlier row with another text has it, `derived`, made from the text."""
        if not file_id:
            return derived
        rejects = self.repeated_ids == "reject" or (self.repeated_ids is None and source.strict)
        if rejects or first_texts.get_or_add(file_id, derived) == derived:
            return file_id
        source.note(REPEATED_ID_NOTE)
        return f"{file_id}#{derived}"


def _split_answers(value: Any) -> list[str]:
    """Return the answers in a cell, which is a text or a list of texts, without repetitions."""
    if isinstance(value, str) and not value.lstrip().startswith("["):
        value = [value]
    return list(dict.fromkeys(split_cell(value, separators="")))


def _split_rephrasings(value: Any, source: SourceFiles) -> Sequence[str]:
    """Return the other phrasings without empty ones, and those of three letters or fewer."""
    if isinstance(value, list):
        source.note("empty alternates dropped", sum(not to_text(v) for v in value))
    alternates = split_cell(value)
    rephrasings = [text for text in alternates if len(text) > MAX_DROPPED_LENGTH or WIDE_SCRIPTS.search(text)]
    source.note("alternates of three letters or fewer dropped", len(alternates) - len(rephrasings))
    return rephrasings


def _parse_language(value: Any) -> str | None:
    """Return `en` for `en`, `EN` and `en-US`. Raises ValueError for anything that is not a language code."""
    code = re.split("[-_]", to_text(value).lower())[0]
    if code and not re.fullmatch("[a-z]{2}", code):
        raise ValueError(f"language {value!r}: expected a two-letter code such as en")
    return code or None


class TableReader(QuestionTable):
    """A table, one question per row: CSV, TSV, Excel (.xlsx), JSON lines, or JSON with --records.

    Usual names of columns in English, German, French, Spanish and Russian are recognised.

    A folder that `askalike export --format csv` wrote gives back the whole archive.

    Examples:

    ```
    askalike import table faq.csv -o faq
    askalike import table faq.xlsx -o faq --sheet Fragen
    askalike import table export.json -o faq --records data.items --question title.text
    ```
    """

    records: str | None = Field(None, description="the path to the list of rows in a JSON document, e.g. root.items")
    sheet: str | None = Field(None, description="the sheet of an Excel workbook")
    header: bool = Field(
        True, description="the first row names the columns; off: they are called 1, 2, … (1 the question, 2 the answer)"
    )
    quotes: bool = Field(True, description="fields of CSV and TSV may be in double quotes; off: quotes are text")

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield each row as a question, its answers and its links. Raises InputError."""
        if len(paths) == 1 and read_export_facts(paths[0], "csv", source):
            yield from read_csv_export(paths[0], source)
            return
        files = find_files(paths, *TABLE_PATTERNS)
        source.facts["name"] = paths[0].resolve().name.partition(".")[0]
        open_file = partial(open_table, keys=self.records, quotes=self.quotes, header=self.header, sheet=self.sheet)
        yield from self.read_questions(files, source, open_file, USUAL_COLUMNS if self.header else NUMBERED_COLUMNS)
