"""The archive as CSV tables: `questions.csv` in the format of the `table` reader, and further tables for the rest."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from askalike.core.iteration import ProgressTracker, chunks
from askalike.export.rows import write_table
from askalike.store import Archive
from askalike.store.statistics import summarise_archive
from askalike.store.tables import TABLE_COLUMNS, duplicate_targets, table_rows

TITLE_COLUMN, REPHRASINGS_COLUMN = "question", "alternates"
"""The columns of the title and of the rephrasings; all other columns have the names of the fields."""
QUESTIONS_HEADER = (
    "id", TITLE_COLUMN, "body", "answer", "category", "tags", "language", REPHRASINGS_COLUMN, "duplicate_of",
    "created_at", "closed_at", "url", "author", "license", "votes", "markup", "accepted_answer_id", "marks",
    "solved_in", "imported_from",
)  # fmt: skip
VALUE_SEPARATOR = "|"


def write_csv(archive: Archive, folder: Path, track: ProgressTracker, *, spreadsheet: bool = False) -> dict[str, int]:
    """Write the files of an export; return the number of rows of each. Cells have exactly the archive's values.

    These are `questions.csv` (one row per question, its answers in the column `answer`), `answers.csv`, `links.csv`,
    and, if evaluation sets were imported, `queries.csv` and `judgements.csv`. Several values in a cell (tags,
    alternates, duplicate_of) are separated by `|`. If a value contains `|`, or there are several answers, the cell is
    a JSON list.
    """
    summary = summarise_archive(archive)
    answers = track(table_rows(archive, "answers"), total=summary.answers, description="answers")
    tables = {"answers": answers, "links": table_rows(archive, "links")}
    tables |= {name: table_rows(archive, name) for name in ("queries", "judgements") if getattr(summary, name)}
    files: dict[str, tuple[Sequence[str], Iterable[Sequence[Any]]]]
    files = {"questions.csv": (QUESTIONS_HEADER, _question_rows(archive, track))}
    files |= {f"{name}.csv": (TABLE_COLUMNS[name], rows) for name, rows in tables.items()}
    return {name: write_table(folder / name, *content, spreadsheet=spreadsheet) for name, content in files.items()}


def write_spreadsheets(archive: Archive, folder: Path, track: ProgressTracker) -> dict[str, int]:
    """Write the same files, safe to open in a spreadsheet (see `write_table`) but not exact enough to import again."""
    return write_csv(archive, folder, track, spreadsheet=True)


def join_cell(values: Sequence[str]) -> str:
    """Join values with `|`, or as a JSON list if a reader could split the cell differently."""
    separators = VALUE_SEPARATOR if len(values) > 1 else VALUE_SEPARATOR + ",;"
    is_plain = all(v and v == v.strip() and v[0] != "[" and not any(s in v for s in separators) for v in values)
    return VALUE_SEPARATOR.join(values) if is_plain else json.dumps(values, ensure_ascii=False)


def parse_cell(cell: str) -> tuple[str, ...]:
    """Split a cell made by `join_cell`. Raises ValueError for a list that is not JSON."""
    return tuple(json.loads(cell)) if cell.startswith("[") else tuple(cell.split(VALUE_SEPARATOR)) if cell else ()


def join_answers_cell(bodies: Sequence[str]) -> str:
    """Return the only answer unchanged, or a JSON list if there are several or if it looks like a list."""
    if len(bodies) == 1 and not bodies[0].lstrip().startswith("["):
        return bodies[0]
    return json.dumps(bodies, ensure_ascii=False) if bodies else ""


def _question_rows(archive: Archive, track: ProgressTracker) -> Iterator[tuple[Any, ...]]:
    view = archive.view()
    for chunk in chunks(question for _, question in track(view.questions(), total=len(view), description="questions")):
        ids = [question.id for question in chunk]
        answers = view.get_answers_to(ids)
        sources = view.sources(ids)
        originals = duplicate_targets(archive, ids)
        for q in chunk:
            answer = join_answers_cell([answer.body for answer in answers[q.id]])
            yield (
                q.id, q.title, q.body, answer, q.category, join_cell(q.tags), q.language, join_cell(q.rephrasings),
                join_cell(originals.get(q.id, [])), q.created_at, q.closed_at, q.url, q.author, q.license, q.votes,
                q.markup, q.accepted_answer_id, join_cell(q.marks), q.solved_in, sources.get(q.id),
            )  # fmt: skip
