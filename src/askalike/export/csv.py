"""The archive as tables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from askalike.core.config import Settings
from askalike.core.iteration import LogCallback, ProgressTracker, chunks
from askalike.export._tables import (
    REPHRASINGS_COLUMN,
    TITLE_COLUMN,
    join_answers_cell,
    join_cell,
    write_table,
)
from askalike.store import Archive
from askalike.store.contents import TABLE_COLUMNS, duplicate_targets, summarise_archive, table_rows
from askalike.store.sources import source_names

QUESTIONS_HEADER = (
    "id", TITLE_COLUMN, "body", "answer", "category", "tags", "language", REPHRASINGS_COLUMN, "duplicate_of",
    "created_at", "closed_at", "url", "author", "license", "votes", "markup", "accepted_answer_id", "marks",
    "solved_in", "imported_from",
)  # fmt: skip


class CsvExport(Settings):
    """Tables whose cells have exactly the archive's values.

    These are `questions.csv` (one row per question, its answers in the column `answer`), `answers.csv`, `links.csv`,
    and, if evaluation sets were imported, `queries.csv` and `judgements.csv`. Several values in a cell (tags,
    alternates, duplicate_of) are separated by `|`. If a value contains `|`, or there are several answers, the cell is
    a JSON list.
    """

    def write(self, archive: Archive, folder: Path, track: ProgressTracker, log: LogCallback) -> Mapping[str, int]:
        """See ExportFormat.write."""
        return write_tables(archive, folder, track)


def write_tables(
    archive: Archive, folder: Path, track: ProgressTracker, *, spreadsheet: bool = False
) -> dict[str, int]:
    """Write the tables; return the number of rows of each. spreadsheet: see `write_table`."""
    summary = summarise_archive(archive)
    answers = track(table_rows(archive, "answers"), total=summary.answers, description="answers")
    tables = {"answers": answers, "links": table_rows(archive, "links")}
    tables |= {name: table_rows(archive, name) for name in ("queries", "judgements") if getattr(summary, name)}
    files: dict[str, tuple[Sequence[str], Iterable[Sequence[Any]]]]
    files = {"questions.csv": (QUESTIONS_HEADER, _question_rows(archive, track))}
    files |= {f"{name}.csv": (TABLE_COLUMNS[name], rows) for name, rows in tables.items()}
    return {name: write_table(folder / name, *content, spreadsheet=spreadsheet) for name, content in files.items()}


def _question_rows(archive: Archive, track: ProgressTracker) -> Iterator[tuple[Any, ...]]:
    view = archive.view()
    for chunk in chunks(question for _, question in track(view.questions(), total=len(view), description="questions")):
        ids = [question.id for question in chunk]
        answers = view.get_answers_to(ids)
        sources = source_names(view, ids)
        originals = duplicate_targets(archive, ids)
        for q in chunk:
            answer = join_answers_cell([answer.body for answer in answers[q.id]])
            yield (
                q.id, q.title, q.body, answer, q.category, join_cell(q.tags), q.language, join_cell(q.rephrasings),
                join_cell(originals.get(q.id, [])), q.created_at, q.closed_at, q.url, q.author, q.license, q.votes,
                q.markup, q.accepted_answer_id, join_cell(q.marks), q.solved_in, sources.get(q.id),
            )  # fmt: skip
