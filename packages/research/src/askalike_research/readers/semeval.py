"""Reads SemEval Task 3 XML (Nakov et al. 2016, 2017): new questions, each with ten related ones and their comments."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal

from pydantic import Field

from askalike import Answer, EvaluationQuery, InputError, Judgement, LocatedRecord, Question, Settings, SourceFiles
from askalike.plugin.readers import Element, Record, find_files, parse_optional_utc, parse_rows, read_elements, reject

GRADES = {"PerfectMatch": 2, "Relevant": 1, "Irrelevant": 0}
GOLD_SUFFIX = ".relevancy"
GOLD_LINE = re.compile(r"(\S+)\s+(\S+)\s+\S+\s+\S+\s+(true|false)\s*")
SPLITS = ("train", "dev", "test")

Gold = dict[tuple[str, str], int]
"""(query id, related id) → 1 if it is relevant, else 0."""


class SemevalReader(Settings):
    """SemEval Task 3 B: PATHs are its XML files, their gold files (`*.relevancy`), or folders of these.

    Examples:

    ```
    askalike import semeval dev test2016 -o semeval
    askalike import semeval test.xml test.relevancy -o semeval --split test
    ```
    """

    split: Literal["train", "dev", "test"] | None = Field(None, description="what the files are for")

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield queries, related questions, their comments as answers, and judgements. Raises InputError."""
        files = list(dict.fromkeys(find_files(paths, "*.xml", f"*{GOLD_SUFFIX}")))
        source.facts |= {"name": "SemEval Task 3", "language": "en"}
        source.expect(files)
        gold = _read_gold([f for f in files if f.suffix == GOLD_SUFFIX], source)
        for file in files:
            if file.suffix != GOLD_SUFFIX:
                yield from self._read_file(file, gold, source)

    def _read_file(self, file: Path, gold: Gold, source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield the records of one file, where an OrgQuestion is repeated for each of its threads."""
        split = self.split or infer_split(file)
        last_id = None
        for place, element in read_elements(source, file, source.read_bytes(file), "OrgQuestion"):
            id = element.attributes.get("ORGQ_ID")
            subject = element.find_text("OrgQSubject")
            if not id:
                yield reject(place, "no ORGQ_ID", subject), place
                continue
            if id != last_id:
                yield EvaluationQuery(split, Question(id, subject, element.find_text("OrgQBody"))), place
            last_id = id
            threads = ((place._replace(line=thread.line), thread) for thread in element.find_all("Thread"))
            parse = partial(_parse_thread, split=split, query_id=id, gold=gold)
            yield from parse_rows(threads, parse, lambda thread: thread.attributes)


def infer_split(file: Path) -> str:
    """Return the split in a file's name, else in its folder's name. Raises InputError."""
    for name in (file.name.lower(), file.parent.name.lower()):
        if split := next((split for split in SPLITS if split in name), None):
            return split
    raise InputError(f"{file}: its name has neither train, dev nor test; add --split")


def _parse_thread(thread: Element, split: str, query_id: str, gold: Gold) -> list[Record]:
    """Return a related question, its judgement and its comments. Raises KeyError or ValueError."""
    related = next(iter(thread.find_all("RelQuestion")), None)
    if related is None:
        raise KeyError("RelQuestion")
    row = related.attributes
    id = row["RELQ_ID"]
    position = int(row["RELQ_RANKING_ORDER"])
    grade = GRADES.get(row.get("RELQ_RELEVANCE2ORGQ", ""), gold.get((query_id, id)))
    title, body = related.find_text("RelQSubject"), related.find_text("RelQBody")
    created_at = parse_optional_utc(row.get("RELQ_DATE"))
    author = row.get("RELQ_USERID")
    question = Question(id, title, body, category=row.get("RELQ_CATEGORY"), created_at=created_at, author=author)
    answers = [_parse_answer(comment, id) for comment in thread.find_all("RelComment")]
    return [question, Judgement(split, query_id, id, grade, position), *answers]


def _parse_answer(comment: Element, question_id: str) -> Answer:
    row = comment.attributes
    id = row["RELC_ID"]
    text = comment.find_text("RelCText")
    grade = row.get("RELC_RELEVANCE2RELQ", "?")
    created_at = parse_optional_utc(row.get("RELC_DATE"))
    author = row.get("RELC_USERID")
    label = grade if grade.isalpha() else None
    return Answer(id, question_id, text, created_at=created_at, author=author, label=label)


def _read_gold(files: Sequence[Path], source: SourceFiles) -> Gold:
    """Read the gold files. Raises InputError for a line in another format."""
    gold: Gold = {}
    for place, line in chain.from_iterable(map(source.read_lines, files)):
        match = GOLD_LINE.fullmatch(line)
        if not match:
            raise InputError(f"{place}: {line.strip()!r}; expected: query id, related id, rank, score, true or false")
        gold[match[1], match[2]] = int(match[3] == "true")
    return gold
