"""The archive in the layout of BEIR."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, replace
from itertools import chain
from pathlib import Path
from typing import Any

from askalike.core.config import Settings
from askalike.core.iteration import LogCallback, ProgressTracker, chunks
from askalike.core.records import Answer, DocumentKind, Question
from askalike.export._tables import check_split_file_name, write_jsonl, write_qrels, write_rows
from askalike.labels.splits import load_split
from askalike.store import Archive, View, imported_splits
from askalike.store.contents import NOT_IN_QRELS_SQL, TABLE_COLUMNS, query_sources, table_rows
from askalike.store.sources import source_names

FILE_PREFIXES: dict[DocumentKind, str] = {"questions": "", "answers": "answer-"}
"""Prefix of files about judged answers; BEIR's own names are for those about questions."""


class BeirExport(Settings):
    """The whole archive in the layout of BEIR.

    `corpus.jsonl` has the questions as `{"_id", "title", "text", "metadata"}` and `answers.jsonl` the answers as
    `{"_id", "question_id", "text", "metadata"}`, texts as imported; metadata has all other fields with a value.
    `links.tsv` has source, target, kind and created_at. Each imported split has `queries-SPLIT.jsonl`,
    `qrels/SPLIT.tsv` and, with candidates, `candidates-SPLIT.jsonl` (`{"_id", "candidates"}`). `queries.jsonl` has the
    queries of all splits. Judged answers are in `answer-qrels` and `answer-candidates`. `judgements.tsv` has everything
    that does not fit into qrels: see `NOT_IN_QRELS_SQL`.
    """

    def write(self, archive: Archive, folder: Path, track: ProgressTracker, log: LogCallback) -> Mapping[str, int]:
        """See ExportFormat.write."""
        view, answers = archive.view(), archive.view("answers")
        questions = (question for _, question in track(view.questions(), total=len(view), description="questions"))
        all_answers = (answer for _, answer in track(answers.answers(), total=len(answers), description="answers"))
        corpus_lines = _with_sources(view, map(question_record, questions))
        answer_lines = _with_sources(answers, map(answer_record, all_answers))
        rows = {
            "corpus.jsonl": write_jsonl(folder / "corpus.jsonl", corpus_lines),
            "answers.jsonl": write_jsonl(folder / "answers.jsonl", answer_lines),
            "links.tsv": write_rows(folder / "links.tsv", TABLE_COLUMNS["links"], table_rows(archive, "links")),
        }
        rows |= _write_splits(archive, folder)
        extra = table_rows(archive, "judgements", NOT_IN_QRELS_SQL)
        if first := next(extra, None):
            path = folder / "judgements.tsv"
            rows[path.name] = write_rows(path, TABLE_COLUMNS["judgements"], chain([first], extra))
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
        sources = source_names(view, [record["_id"] for record in chunk])
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
        rows[path] = write_qrels(folder / path, labels.qrels)
    if labels.candidates:
        path = f"{FILE_PREFIXES[kind]}candidates-{split_name}.jsonl"
        records = ({"_id": id, "candidates": list(ids)} for id, ids in labels.candidates.items() if ids)
        rows[path] = write_jsonl(folder / path, records)
    return rows


def nondefault_fields(record: Question | Answer, *excluded: str) -> dict[str, Any]:
    """Return the fields of a record that differ from their default, without the excluded ones."""
    values = {f.name: (getattr(record, f.name), f.default) for f in fields(record) if f.name not in excluded}
    return {name: value for name, (value, default) in values.items() if default is MISSING or value != default}
