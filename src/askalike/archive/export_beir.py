"""The archive as a BEIR folder, with the answers, links and candidates that BEIR has no place for beside it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from askalike.archive.export_rows import JUDGEMENTS, all_links, file_name, metadata, write_jsonl, write_table
from askalike.archive.splits import Of, given, split
from askalike.archive.store import Archive
from askalike.archive.track import Track
from askalike.types import Answer, Question

BESIDE_QRELS = f"""
    SELECT {", ".join(JUDGEMENTS)} FROM judgements AS j
    WHERE position IS NOT NULL OR relevance IS NULL OR of != 'questions'
    OR NOT EXISTS (SELECT 1 FROM queries AS q WHERE q.split = j.split AND q.id = j.query_id)
    ORDER BY split, of, query_id, position, document_id
"""
PREFIXES: dict[Of, str] = {"questions": "", "answers": "answer-"}
"""Files of judged answers carry this before their names: BEIR's own are those of the questions."""


def write_beir(archive: Archive, folder: Path, track: Track) -> dict[str, int]:
    """Writes these files and returns how many rows each has.

    `corpus.jsonl` holds the questions as `{"_id", "title", "text", "metadata"}` and `answers.jsonl` the answers as
    `{"_id", "question_id", "text", "metadata"}`, text as it was imported; metadata are the fields that have a value.
    `links.tsv` has source, target, kind and created_at. For each given split `queries-SPLIT.jsonl`,
    `qrels/SPLIT.tsv` and, where candidates were offered, `candidates-SPLIT.jsonl` (`{"_id", "candidates"}`);
    `queries.jsonl` has the queries of all splits. Where answers are judged: `answer-qrels`, `answer-candidates`.
    `judgements.tsv` repeats in full what qrels have no place for: candidates with their positions, those not judged,
    judged answers, and judgements of queries that are not there.
    """
    view, answers = archive.view(), archive.view("answers")
    asked = track(view.questions(), total=len(view), description="questions")
    said = track(answers.answers(), total=len(answers), description="answers")
    links = ((link.source, link.target, link.kind, link.created_at) for link in all_links(archive))
    rows = {
        "corpus.jsonl": write_jsonl(folder / "corpus.jsonl", (question_record(q) for _, q in asked)),
        "answers.jsonl": write_jsonl(folder / "answers.jsonl", (answer_record(a) for _, a in said)),
        "links.tsv": write_table(
            folder / "links.tsv", ("source", "target", "kind", "created_at"), links, delimiter="\t"
        ),
    }
    return rows | _write_splits(archive, folder) | _write_beside_qrels(archive, folder)


def question_record(question: Question) -> dict[str, Any]:
    """A line of corpus.jsonl."""
    record = {"_id": question.id, "title": question.title, "text": question.body}
    return _with_metadata(record, metadata(question, "id", "title", "body"))


def query_record(query: Question) -> dict[str, Any]:
    """A line of queries.jsonl: the whole text, as BEIR has it, and its two parts beside it where there are two."""
    text = f"{query.title}\n\n{query.body}" if query.body else query.title
    return _with_metadata({"_id": query.id, "text": text}, metadata(query, "id", *(() if query.body else ("title",))))


def answer_record(answer: Answer) -> dict[str, Any]:
    """A line of answers.jsonl."""
    record = {"_id": answer.id, "question_id": answer.question_id, "text": answer.body}
    return _with_metadata(record, metadata(answer, "id", "question_id", "body"))


def _with_metadata(record: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    return record | {"metadata": more} if more else record


def _write_splits(archive: Archive, folder: Path) -> dict[str, int]:
    rows: dict[str, int] = {}
    queries: dict[str, Question] = {}
    for name in given(archive):
        path = f"queries-{file_name(name)}.jsonl"
        own = split(archive, name).queries
        rows[path] = write_jsonl(folder / path, map(query_record, own.values()))
        queries = {**queries, **own}
        for of in PREFIXES:
            rows |= _write_judgements(archive, folder, name, of)
    if queries:
        rows["queries.jsonl"] = write_jsonl(folder / "queries.jsonl", map(query_record, queries.values()))
    return rows


def _write_judgements(archive: Archive, folder: Path, name: str, of: Of) -> dict[str, int]:
    rows: dict[str, int] = {}
    labels = split(archive, name, of)
    if labels.qrels:
        path = f"{PREFIXES[of]}qrels/{name}.tsv"
        lines = ((q, d, relevance) for q, judged in labels.qrels.items() for d, relevance in judged.items())
        header = ("query-id", "corpus-id", "score")
        rows[path] = write_table(folder / path, header, lines, delimiter="\t")
    if labels.candidates:
        path = f"{PREFIXES[of]}candidates-{name}.jsonl"
        rows[path] = write_jsonl(folder / path, _offered(labels.candidates))
    return rows


def _write_beside_qrels(archive: Archive, folder: Path) -> dict[str, int]:
    if archive.connection.execute(f"SELECT EXISTS ({BESIDE_QRELS})").fetchone()[0]:
        lines = archive.connection.execute(BESIDE_QRELS)
        return {"judgements.tsv": write_table(folder / "judgements.tsv", JUDGEMENTS, lines, delimiter="\t")}
    return {}


def _offered(candidates: Any) -> Iterator[dict[str, Any]]:
    return ({"_id": query, "candidates": list(documents)} for query, documents in candidates.items() if documents)
