"""Every split as a retrieval task in BEIR's layout, in plain text, for the evaluators of other libraries."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from askalike.core.iteration import ProgressTracker
from askalike.core.types import Question
from askalike.export.rows import check_split_file_name, write_jsonl, write_table
from askalike.labels.splits import labelled_splits, load_split
from askalike.store import Archive
from askalike.text.clean import plain_text


def write_retrieval(archive: Archive, folder: Path, track: ProgressTracker, *, html: bool = False) -> dict[str, int]:
    """Write the files of an export; return the number of rows of each.

    `corpus.jsonl` has the questions as `{"_id", "title", "text"}`, `queries.jsonl` the queries of all splits as
    `{"_id", "text"}`, and `qrels/SPLIT.tsv` the judgements of each split, including derived ones and parts of
    partitions (`halves/test` is `halves-test.tsv`). A query that is a document has its id. html: write bodies as
    imported, instead of as text without markup.
    """
    view = archive.view()
    documents = (question for _, question in track(view.questions(), total=len(view), description="questions"))
    rows = {"corpus.jsonl": write_jsonl(folder / "corpus.jsonl", (_corpus_record(q, html) for q in documents))}
    queries: dict[str, Question] = {}
    for name in labelled_splits(archive):
        labels = load_split(archive, name)
        path = f"qrels/{check_split_file_name(name.replace('/', '-'))}.tsv"
        judged = ((query, id, grade) for query, grades in labels.qrels.items() for id, grade in grades.items())
        rows[path] = write_table(folder / path, ("query-id", "corpus-id", "score"), judged, delimiter="\t")
        queries |= labels.queries
    rows["queries.jsonl"] = write_jsonl(folder / "queries.jsonl", _query_records(queries, html))
    return rows


def _corpus_record(question: Question, html: bool) -> dict[str, Any]:
    return {"_id": question.id, "title": question.title, "text": _body(question, html)}


def _query_records(queries: dict[str, Question], html: bool) -> Iterator[dict[str, Any]]:
    for id, query in queries.items():
        yield {"_id": id, "text": "\n\n".join(filter(None, (query.title, _body(query, html))))}


def _body(question: Question, html: bool) -> str:
    return question.body if html else plain_text(question.body, question.markup, code="keep", links="keep")
