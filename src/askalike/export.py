"""Exports everything in an archive to files for other tools, completely or not at all: BEIR's layout or CSV tables."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.files import folder_errors, replace_folder
from askalike.core.iteration import ProgressTracker, chunks, skip_tracking
from askalike.core.types import Answer, DocumentKind, Qrels, Question
from askalike.core.values import escape_formula
from askalike.labels.splits import labelled_splits, load_split
from askalike.store import Archive, View, imported_splits, storage_errors, takes_archive
from askalike.store.contents import (
    NOT_IN_QRELS_SQL,
    TABLE_COLUMNS,
    duplicate_targets,
    query_sources,
    summarise_archive,
    table_rows,
)
from askalike.store.database import read_transaction
from askalike.store.sources import source_prefixes
from askalike.text.clean import readable_text


def write_jsonl(path: Path, records: Iterable[Mapping[str, Any]]) -> int:
    """Write one JSON object per line; return the number of lines."""
    n = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
            n += 1
    return n


def write_table(
    path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]], *, delimiter: str = ",", spreadsheet: bool = False
) -> int:
    """Write a CSV or TSV file with a header; return the number of rows without it. None is an empty cell.

    Rows with a carriage return are quoted, as the csv module could not read them otherwise.
    spreadsheet: add a byte order mark to the file, and an apostrophe before cells that would be run as formulas.
    """
    n = 0
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8-sig" if spreadsheet else "utf-8", newline="") as file:
        plain = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        quoted = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
        plain.writerow(header)
        for row in rows:
            n += 1
            writer = quoted if any(isinstance(cell, str) and "\r" in cell for cell in row) else plain
            writer.writerow(map(escape_formula, row) if spreadsheet else row)
    return n


def nondefault_fields(record: Question | Answer, *excluded: str) -> dict[str, Any]:
    """Return the fields of a record that differ from their default, without the excluded ones."""
    values = {f.name: (getattr(record, f.name), f.default) for f in fields(record) if f.name not in excluded}
    return {name: value for name, (value, default) in values.items() if default is MISSING or value != default}


def check_split_file_name(split: str) -> str:
    """Return the split's name. Raises ArchiveError if it cannot be part of a file's name."""
    if not split.replace("-", "").replace("_", "").replace(".", "").isalnum() or split.startswith("."):
        raise ArchiveError(f"split {split!r}: cannot name a file; expected letters, digits, '-', '_' and '.'")
    return split


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


FILE_PREFIXES: dict[DocumentKind, str] = {"questions": "", "answers": "answer-"}
"""Prefix of files about judged answers; BEIR's own names are for those about questions."""


def write_beir(archive: Archive, folder: Path, track: ProgressTracker) -> dict[str, int]:
    """Write the files of an export; return the number of rows of each.

    `corpus.jsonl` has the questions as `{"_id", "title", "text", "metadata"}` and `answers.jsonl` the answers as
    `{"_id", "question_id", "text", "metadata"}`, texts as imported; metadata has all other fields with a value.
    `links.tsv` has source, target, kind and created_at. Each imported split has `queries-SPLIT.jsonl`,
    `qrels/SPLIT.tsv` and, with candidates, `candidates-SPLIT.jsonl` (`{"_id", "candidates"}`). `queries.jsonl` has the
    queries of all splits. Judged answers are in `answer-qrels` and `answer-candidates`. `judgements.tsv` has everything
    that does not fit into qrels: see `NOT_IN_QRELS_SQL`.
    """
    view, answers = archive.view(), archive.view("answers")
    questions = (question for _, question in track(view.questions(), total=len(view), description="questions"))
    all_answers = (answer for _, answer in track(answers.answers(), total=len(answers), description="answers"))
    corpus_lines = _with_sources(view, map(question_record, questions))
    answer_lines = _with_sources(answers, map(answer_record, all_answers))
    rows = {
        "corpus.jsonl": write_jsonl(folder / "corpus.jsonl", corpus_lines),
        "answers.jsonl": write_jsonl(folder / "answers.jsonl", answer_lines),
        "links.tsv": _write_rows(folder / "links.tsv", TABLE_COLUMNS["links"], table_rows(archive, "links")),
    }
    rows |= _write_splits(archive, folder)
    extra = table_rows(archive, "judgements", NOT_IN_QRELS_SQL)
    if first := next(extra, None):
        path = folder / "judgements.tsv"
        rows[path.name] = _write_rows(path, TABLE_COLUMNS["judgements"], chain([first], extra))
    return rows


def write_retrieval(archive: Archive, folder: Path, track: ProgressTracker, *, html: bool = False) -> dict[str, int]:
    """Write every split as a retrieval task, for the evaluators of other libraries; return the number of rows per file.

    `corpus.jsonl` has the questions as `{"_id", "title", "text"}`, `queries.jsonl` the queries of all splits as
    `{"_id", "text"}`, and `qrels/SPLIT.tsv` the judgements of each split, including derived ones and parts of
    partitions (`halves/test` is `halves-test.tsv`). A query that is a document has its id. html: write bodies as
    imported, instead of as text without markup.
    """

    def body(question: Question) -> str:
        return question.body if html else readable_text(question.body, question.markup)

    view = archive.view()
    documents = (question for _, question in track(view.questions(), total=len(view), description="questions"))
    records = ({"_id": question.id, "title": question.title, "text": body(question)} for question in documents)
    rows = {"corpus.jsonl": write_jsonl(folder / "corpus.jsonl", records)}
    queries: dict[str, Question] = {}
    for name in labelled_splits(archive):
        labels = load_split(archive, name)
        path = f"qrels/{check_split_file_name(name.replace('/', '-'))}.tsv"
        rows[path] = _write_qrels(folder / path, labels.qrels)
        queries |= labels.queries
    texts = ((id, "\n\n".join(filter(None, (query.title, body(query))))) for id, query in queries.items())
    lines = ({"_id": id, "text": text} for id, text in texts)
    rows["queries.jsonl"] = write_jsonl(folder / "queries.jsonl", lines)
    return rows


def question_record(question: Question) -> dict[str, Any]:
    """Return a line of corpus.jsonl."""
    record = {"_id": question.id, "title": question.title, "text": question.body}
    return _with_metadata(record, nondefault_fields(question, "id", "title", "body"))


def query_record(query: Question) -> dict[str, Any]:
    """Return a line of queries.jsonl: the whole text, as in BEIR; title and body are in the metadata if it has both."""
    text = f"{query.title}\n\n{query.body}" if query.body else query.title
    fields = nondefault_fields(query, *(("id",) if query.body else ("id", "title")))
    return _with_metadata({"_id": query.id, "text": text}, fields)


def answer_record(answer: Answer) -> dict[str, Any]:
    """Return a line of answers.jsonl."""
    record = {"_id": answer.id, "question_id": answer.question_id, "text": answer.body}
    return _with_metadata(record, nondefault_fields(answer, "id", "question_id", "body"))


def _with_sources(view: View, records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for chunk in chunks(records):
        sources = view.sources([record["_id"] for record in chunk])
        for record in chunk:
            yield _with_source(record, sources.get(record["_id"]))


def _with_source(record: dict[str, Any], source: str | None) -> dict[str, Any]:
    return record if source is None else record | {"metadata": record.get("metadata", {}) | {"imported_from": source}}


def _with_metadata(record: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    return record | {"metadata": fields} if fields else record


def _write_splits(archive: Archive, folder: Path) -> dict[str, int]:
    rows: dict[str, int] = {}
    queries: dict[str, Question] = {}
    for name in imported_splits(archive):
        path = f"queries-{check_split_file_name(name)}.jsonl"
        split_queries = {id: replace(query, id=id) for id, query in load_split(archive, name).queries.items()}
        sources = query_sources(archive, name)
        lines = (_with_source(query_record(query), sources.get(id)) for id, query in split_queries.items())
        rows[path] = write_jsonl(folder / path, lines)
        queries |= split_queries
        for kind in FILE_PREFIXES:
            rows |= _write_judgements(archive, folder, name, kind)
    if queries:
        rows["queries.jsonl"] = write_jsonl(folder / "queries.jsonl", map(query_record, queries.values()))
    return rows


def _write_judgements(archive: Archive, folder: Path, split_name: str, kind: DocumentKind) -> dict[str, int]:
    rows: dict[str, int] = {}
    labels = load_split(archive, split_name, kind)
    if labels.qrels:
        path = f"{FILE_PREFIXES[kind]}qrels/{split_name}.tsv"
        rows[path] = _write_qrels(folder / path, labels.qrels)
    if labels.candidates:
        path = f"{FILE_PREFIXES[kind]}candidates-{split_name}.jsonl"
        records = ({"_id": id, "candidates": list(ids)} for id, ids in labels.candidates.items() if ids)
        rows[path] = write_jsonl(folder / path, records)
    return rows


def _write_qrels(path: Path, qrels: Qrels) -> int:
    judged = ((query, id, grade) for query, grades in qrels.items() for id, grade in grades.items())
    return _write_rows(path, ("query-id", "corpus-id", "score"), judged)


_write_rows = partial(write_table, delimiter="\t")


MANIFEST_FILE = "export.json"

Writer = Callable[[Archive, Path, ProgressTracker], Mapping[str, int]]
"""Writes files into an existing folder and returns the number of rows of each."""
EXPORT_FORMATS: Mapping[str, Writer] = {
    "beir": write_beir,
    "csv": write_csv,
    "spreadsheet": write_spreadsheets,
    "retrieval": write_retrieval,
}
"""Format → its writer. Components above this one have more, see `export_archive`."""


@takes_archive
def export_archive(
    archive: Archive,
    format: str,
    out: str | Path,
    *,
    force: bool = False,
    html: bool = False,
    track: ProgressTracker = skip_tracking,
    formats: Mapping[str, Writer] | None = None,
) -> Mapping[str, int]:
    """Write the current state of the archive into the new folder `out`; return the number of rows of each file.

    archive: or its directory. force: replace an earlier export. html: keep the markup of texts in the format
    `retrieval`; the others always keep it. formats: instead of EXPORT_FORMATS. Raises SettingsError for an unknown
    format, ArchiveError if `out` exists or cannot be written; nothing is left behind then.
    """
    out, formats = Path(out), formats or EXPORT_FORMATS
    if format not in formats:
        raise SettingsError(f"no export format is called {format!r}; there are: {', '.join(formats)}")
    if html and format != "retrieval":
        raise SettingsError(f"--html is for --format retrieval; {format} keeps all texts as they were imported")
    write = partial(write_retrieval, html=True) if html else formats[format]
    _refuse_to_overwrite(out, force)
    errors = folder_errors(out, "nothing was exported")
    with storage_errors(archive.path), errors, replace_folder(out) as folder, read_transaction(archive):
        rows = write(archive, folder, track)
        manifest = {
            "format": format, "archive": dict(archive.meta), "sources": source_prefixes(archive), "rows": dict(rows)
        }  # fmt: skip
        (folder / MANIFEST_FILE).write_text(json.dumps(manifest, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return rows


def _refuse_to_overwrite(out: Path, force: bool) -> None:
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not (out / MANIFEST_FILE).is_file():
        raise ArchiveError(f"{out}: exists and is not an earlier export (no {MANIFEST_FILE} in it); choose a new name")
    if not force:
        raise ArchiveError(f"{out}: an earlier export exists; replace it with --force, or choose a new name")
