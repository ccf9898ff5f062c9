"""Reads labelled pairs, one per row: query, candidate, and whether both ask the same (Zhang et al. 2014, Quora, …)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from askalike.core.config import Settings
from askalike.core.records import EvaluationQuery, Judgement, LocatedRecord, Question, Record
from askalike.core.values import hash_texts
from askalike.readers._columns import Columns, read_table
from askalike.readers._rows import TABLE_PATTERNS, open_table
from askalike.readers._source import SourceFiles, find_files
from askalike.readers._values import require_text, to_text

USUAL_COLUMNS = {
    "query": ("query", "question1", "text1", "sentence1"),
    "candidate": ("candidate", "document", "question2", "text2", "sentence2"),
    "label": ("label", "relevance", "is_duplicate", "relevant", "score"),
    "query_id": ("query_id", "question1_id", "qid1"),
    "candidate_id": ("candidate_id", "document_id", "question2_id", "qid2"),
}
GRADES = {"perfectmatch": 2, "relevant": 1, "irrelevant": 0, "true": 1, "false": 0, "yes": 1, "no": 0}


class PairsReader(Settings):
    """A table of pairs (CSV, TSV, JSON lines or JSON): query, candidate and label, in the order of the candidates.

    Examples:

    ```
    askalike import pairs pairs.tsv -o pairs
    askalike import pairs pairs.csv -o pairs --query question1 --candidate question2 --label is_duplicate
    ```
    """

    query: str | None = Field(None, description="the column of the query's text")
    candidate: str | None = Field(None, description="the column of the candidate's text")
    label: str | None = Field(None, description="the column of the label: a whole number, true or false; may be empty")
    query_id: str | None = Field(None, description="the column of the query's id")
    candidate_id: str | None = Field(None, description="the column of the candidate's id")
    split: Literal["train", "dev", "test"] = Field("test", description="what the pairs are for")
    records: str | None = Field(None, description="the path to the list of rows in a JSON document, e.g. root.items")
    quotes: bool = Field(True, description="fields of CSV and TSV may be in double quotes; off: quotes are text")

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield candidates as questions, queries, and judgements with positions in file order. Raises InputError."""
        files = find_files(paths, *TABLE_PATTERNS)
        source.facts["name"] = paths[0].resolve().name.partition(".")[0]
        source.expect(files)
        chosen = {part: getattr(self, part) for part in USUAL_COLUMNS}
        columns = Columns(chosen, USUAL_COLUMNS, ("query", "candidate", "label"))
        merger = _PairMerger(self.split, source)
        opener = partial(open_table, keys=self.records, quotes=self.quotes)
        yield from read_table(source, files, columns, merger.merge_row, opener)


class _PairMerger:
    """Merges repeated pairs, and gives a text a new id if another text has its id."""

    def __init__(self, split: str, source: SourceFiles) -> None:
        self._split = split
        self._source = source
        self._text_by_id: dict[tuple[str, str], str] = {}
        self._known: set[tuple[str, str]] = set()
        self._pairs: dict[tuple[str, str], Judgement] = {}
        self._candidate_counts: dict[str, int] = {}

    def merge_row(self, cells: Mapping[str, Any]) -> Iterator[Record]:
        """Yield the row's query and candidate if they are new, and its judgement. Raises KeyError or ValueError."""
        texts = {part: require_text(cells, part) for part in ("query", "candidate")}
        relevance = _parse_grade(to_text(cells.get("label")))
        ids = {part: self._choose_id(part, to_text(cells.get(f"{part}_id")), text) for part, text in texts.items()}
        for part, text in texts.items():
            if (part, ids[part]) not in self._known:
                self._known.add((part, ids[part]))
                question = Question(ids[part], text)
                yield EvaluationQuery(self._split, question) if part == "query" else question
        yield from self._merge_judgement(ids["query"], ids["candidate"], relevance)

    def _choose_id(self, part: str, id: str, text: str) -> str:
        """Return the id of a text: the one in the file, unless another text has it."""
        derived = hash_texts(text)
        if not id or self._text_by_id.setdefault((part, id), derived) == derived:
            return id or derived
        if (part, f"{id}#{derived}") not in self._known:
            self._source.note(f"texts of a {part} under an id that another text has (kept with ids of their own)")
        return f"{id}#{derived}"

    def _merge_judgement(self, query: str, candidate: str, relevance: int | None) -> Iterator[Record]:
        before = self._pairs.get((query, candidate))
        if before is None:
            self._candidate_counts[query] = position = self._candidate_counts.get(query, 0) + 1
        else:
            self._source.note("repeated rows merged")
            position = before.position or 0
            if relevance is None or (before.relevance is not None and relevance <= before.relevance):
                return
            self._source.note("repeated rows with another label (the higher one kept)", before.relevance is not None)
        judgement = Judgement(self._split, query, candidate, relevance, position)
        self._pairs[query, candidate] = judgement
        yield judgement


def _parse_grade(label: str) -> int | None:
    """Return a label as a grade; None if it is empty. Raises ValueError."""
    if not label:
        return None
    grade = GRADES.get(label.lower())
    try:
        return int(label) if grade is None else grade
    except ValueError:
        raise ValueError(f"label {label!r}: expected a whole number, true or false") from None
