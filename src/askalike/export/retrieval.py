"""Every split as a retrieval task in BEIR's layout, as plain text, for the evaluators of other libraries."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from askalike.export.rows import check_split_file_name, write_jsonl, write_table
from askalike.iteration import ProgressTracker
from askalike.labels.splits import labelled_splits, load_split
from askalike.store import Archive
from askalike.text.clean import plain_text
from askalike.types import Question


def write_retrieval(archive: Archive, folder: Path, track: ProgressTracker) -> dict[str, int]:
    """Write these files; return the number of rows of each.

    `corpus.jsonl` has the questions as `{"_id", "title", "text"}`, `queries.jsonl` the queries of all splits as
    `{"_id", "text"}`, and `qrels/SPLIT.tsv` the judgements of each split, derived ones and parts of partitions too
    (`halves/test` is `halves-test.tsv`). Bodies are text without markup. A query that is a document has its id.
    """
    view = archive.view()
    documents = (question for _, question in track(view.questions(), total=len(view), description="questions"))
    rows = {"corpus.jsonl": write_jsonl(folder / "corpus.jsonl", map(_corpus_record, documents))}
    queries: dict[str, Question] = {}
    for name in labelled_splits(archive):
        labels = load_split(archive, name)
        path = f"qrels/{check_split_file_name(name.replace('/', '-'))}.tsv"
        judged = ((query, id, grade) for query, grades in labels.qrels.items() for id, grade in grades.items())
        rows[path] = write_table(folder / path, ("query-id", "corpus-id", "score"), judged, delimiter="\t")
        queries |= labels.queries
    rows["queries.jsonl"] = write_jsonl(folder / "queries.jsonl", _query_records(queries))
    return rows


def _corpus_record(question: Question) -> dict[str, Any]:
    return {"_id": question.id, "title": question.title, "text": _plain(question)}


def _query_records(queries: dict[str, Question]) -> Iterator[dict[str, Any]]:
    for id, query in queries.items():
        yield {"_id": id, "text": "\n\n".join(filter(None, (query.title, _plain(query))))}


def _plain(question: Question) -> str:
    return plain_text(question.body, question.markup, code="keep", links="keep")
