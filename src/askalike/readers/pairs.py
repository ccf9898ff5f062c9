"""Reads labelled pairs, one a row: a query, a candidate and whether it asks the same (Zhang et al. 2014, Quora, …)."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from askalike.config import Settings
from askalike.readers._rows import Columns, rows
from askalike.readers._source import Source, files_of
from askalike.readers._values import derived_id, problem, string
from askalike.types import Judgement, Query, Question, Record, Rejected

USUAL = {
    "query": ("query", "question1", "text1", "sentence1"),
    "candidate": ("candidate", "document", "question2", "text2", "sentence2"),
    "label": ("label", "relevance", "is_duplicate", "relevant", "score"),
    "query_id": ("query_id", "question1_id", "qid1"),
    "candidate_id": ("candidate_id", "document_id", "question2_id", "qid2"),
}
GRADES = {"perfectmatch": 2, "relevant": 1, "irrelevant": 0, "true": 1, "false": 0, "yes": 1, "no": 0}
PATTERNS = tuple(f"*.{kind}{packed}" for kind in ("csv", "tsv", "jsonl", "json") for packed in ("", ".gz", ".bz2"))


class Pairs(Settings):
    """A table of pairs (CSV, TSV, JSON lines or JSON): query, candidate and label, in the order of the candidates."""

    query: str | None = Field(None, description="the column of the query's text")
    candidate: str | None = Field(None, description="the column of the candidate's text")
    label: str | None = Field(None, description="the column of the label: a whole number, true or false; may be empty")
    query_id: str | None = Field(None, description="the column of the query's id; without one it is made from the text")
    candidate_id: str | None = Field(None, description="the column of the candidate's id; likewise")
    split: str = Field("test", description="what the pairs are for: train, dev or test")
    records: str | None = Field(None, description="the way to the list of rows in a JSON document, e.g. root.items")
    quotes: bool = Field(True, description="fields of CSV and TSV may stand in double quotes; off: quotes are text")

    def read(self, paths: Sequence[Path], source: Source) -> Iterator[Record]:
        """Candidates as questions, queries, and judgements with positions in file order. Raises InputError."""
        files = files_of(paths, *PATTERNS)
        source.facts["name"] = paths[0].resolve().name.partition(".")[0]
        source.expect(files)
        columns = Columns({part: getattr(self, part) for part in USUAL}, USUAL, ("query", "candidate", "label"))
        merged = _Merged(self.split, source)
        for file in files:
            for row in rows(source, file, records=self.records, quotes=self.quotes):
                yield from [row] if isinstance(row, Rejected) else merged.records(columns.of(row, source), row)
        columns.check_named(source)


class _Merged:
    """Remembers the pairs so far by their ids: repeated rows merge, an id's other texts get ids of their own."""

    def __init__(self, split: str, source: Source) -> None:
        self._split = split
        self._source = source
        self._texts: dict[tuple[str, str], str] = {}
        self._known: set[tuple[str, str]] = set()
        self._pairs: dict[tuple[str, str], Judgement] = {}
        self._candidates: dict[str, int] = {}

    def records(self, cells: Mapping[str, Any], row: object) -> Iterator[Record]:
        """What the row adds: its query and its candidate where they are new, and its judgement."""
        try:
            texts = {part: _required(cells, part) for part in ("query", "candidate")}
            relevance = _grade(string(cells.get("label")))
        except (KeyError, ValueError) as error:
            yield self._source.reject(problem(error), row)
            return
        ids = {part: self._id(part, string(cells.get(f"{part}_id")), text) for part, text in texts.items()}
        for part, text in texts.items():
            if (part, ids[part]) not in self._known:
                self._known.add((part, ids[part]))
                question = Question(ids[part], text)
                yield Query(self._split, question) if part == "query" else question
        yield from self._judged(ids["query"], ids["candidate"], relevance)

    def _id(self, part: str, given: str, text: str) -> str:
        """The id of a text: the one given, unless that is another text's already."""
        own = derived_id(text)
        if not given or self._texts.setdefault((part, given), own) == own:
            return given or own
        if (part, f"{given}#{own}") not in self._known:
            self._source.note(f"{part} texts under an id that another text has: kept with ids of their own")
        return f"{given}#{own}"

    def _judged(self, query: str, candidate: str, relevance: int | None) -> Iterator[Record]:
        before = self._pairs.get((query, candidate))
        if before is None:
            self._candidates[query] = position = self._candidates.get(query, 0) + 1
        else:
            self._source.note("repeated rows merged")
            position = before.position or 0
            if relevance is None or (before.relevance is not None and relevance <= before.relevance):
                return
            self._source.note("repeated rows with another label: the higher one kept", before.relevance is not None)
        judgement = Judgement(self._split, query, candidate, relevance, position)
        self._pairs[query, candidate] = judgement
        yield judgement


def _required(cells: Mapping[str, Any], part: str) -> str:
    text = string(cells.get(part))
    if not text:
        raise KeyError(part)
    return text


def _grade(label: str) -> int | None:
    """A label as a grade; None where it is empty. Raises ValueError."""
    if not label:
        return None
    known = GRADES.get(label.lower())
    try:
        return int(label) if known is None else known
    except ValueError:
        raise ValueError(f"label {label!r}: expected a whole number, true or false") from None
