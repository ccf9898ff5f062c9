"""The archive as CSV tables: `questions.csv` with the columns that the `table` reader knows, the rest beside it."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from askalike.export.rows import write_table
from askalike.iteration import chunks
from askalike.store.archive import Archive
from askalike.store.statistics import summarise_archive
from askalike.store.tables import (
    ANSWER_TABLE_COLUMNS,
    JUDGEMENT_COLUMNS,
    QUERY_COLUMNS,
    answer_rows,
    duplicate_targets,
    judgement_rows,
    query_rows,
    read_links,
)
from askalike.store.tracking import ProgressTracker
from askalike.types import Question

TITLE_COLUMN, REPHRASINGS_COLUMN = "question", "alternates"
"""The columns of the title and of the rephrasings, as people call them; all others are called as the fields are."""
QUESTIONS_HEADER = (
    "id", TITLE_COLUMN, "body", "answer", "category", "tags", "language", REPHRASINGS_COLUMN, "duplicate_of", "created_at",
    "closed_at", "url", "author", "license", "votes", "markup", "accepted_answer_id",
)  # fmt: skip
LINKS_HEADER = ("source", "target", "kind", "created_at")
VALUE_SEPARATOR = "|"


def write_csv(archive: Archive, folder: Path, track: ProgressTracker, *, spreadsheet: bool = False) -> dict[str, int]:
    """Writes these files and returns how many rows each has; cells hold exactly what the archive does.

    `questions.csv` (one row a question, its answers in the column `answer`), `answers.csv` (every answer),
    `links.csv`, and where evaluation sets were imported `queries.csv` and `judgements.csv`. Several values in a cell
    (tags, alternates, duplicate_of) are divided by `|`; where one contains that,
    and for several answers, the cell is a JSON list.
    """
    table = partial(write_table, spreadsheet=spreadsheet)
    total = len(archive.view("answers"))
    answers = track(answer_rows(archive), total=total, description="answers")
    links = ((link.source, link.target, link.kind, link.created_at) for link in read_links(archive))
    rows = {
        "questions.csv": table(folder / "questions.csv", QUESTIONS_HEADER, _question_rows(archive, track)),
        "answers.csv": table(folder / "answers.csv", ANSWER_TABLE_COLUMNS, answers),
        "links.csv": table(folder / "links.csv", LINKS_HEADER, links),
    }
    summary = summarise_archive(archive)
    if summary.queries:
        rows["queries.csv"] = table(folder / "queries.csv", QUERY_COLUMNS, query_rows(archive))
    if summary.judgements:
        rows["judgements.csv"] = table(folder / "judgements.csv", JUDGEMENT_COLUMNS, judgement_rows(archive))
    return rows


def write_spreadsheets(archive: Archive, folder: Path, track: ProgressTracker) -> dict[str, int]:
    """The same files made safe to open in a spreadsheet: see `write_table`. Not for importing again."""
    return write_csv(archive, folder, track, spreadsheet=True)


def join_cell(values: Sequence[str]) -> str:
    """Several values divided by `|`, or a JSON list where a reader could take that apart in another way."""
    dividers = VALUE_SEPARATOR if len(values) > 1 else VALUE_SEPARATOR + ",;"
    plain = all(v and v == v.strip() and v[0] != "[" and not any(d in v for d in dividers) for v in values)
    return VALUE_SEPARATOR.join(values) if plain else json.dumps(values, ensure_ascii=False)


def parse_cell(cell: str) -> tuple[str, ...]:
    """The inverse of `in_one_cell`. Raises ValueError for a list that is not JSON."""
    return tuple(json.loads(cell)) if cell.startswith("[") else tuple(cell.split(VALUE_SEPARATOR)) if cell else ()


def join_answers_cell(bodies: Sequence[str]) -> str:
    """The answer as it is; a JSON list where there are several, or where it looks like one."""
    plain = len(bodies) == 1 and not bodies[0].lstrip().startswith("[")
    return bodies[0] if plain else json.dumps(bodies, ensure_ascii=False) if bodies else ""


def _question_rows(archive: Archive, track: ProgressTracker) -> Iterator[tuple[Any, ...]]:
    view = archive.view()
    for chunk in chunks(question for _, question in track(view.questions(), total=len(view), description="questions")):
        ids = [question.id for question in chunk]
        answers = view.get_answers_to(ids)
        originals = duplicate_targets(archive, ids)
        for q in chunk:
            bodies = [answer.body for answer in answers[q.id]]
            yield _question_row(q, join_answers_cell(bodies), originals.get(q.id, []))


def _question_row(question: Question, answer: str, duplicate_of: Sequence[str]) -> tuple[Any, ...]:
    """The cells of QUESTIONS."""
    return (
        question.id, question.title, question.body, answer, question.category, join_cell(question.tags), question.language, join_cell(question.rephrasings),
        join_cell(duplicate_of), question.created_at, question.closed_at, question.url, question.author, question.license, question.votes, question.markup,
        question.accepted_answer_id,
    )  # fmt: skip
