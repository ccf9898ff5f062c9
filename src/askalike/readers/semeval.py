"""Reads SemEval Task 3 XML (Nakov et al. 2016, 2017): new questions, each with ten related ones and their comments."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import Field

from askalike.config import Settings
from askalike.errors import InputError
from askalike.readers._source import Source, files_of
from askalike.readers._values import optional_utc, problem
from askalike.readers._xml import Element, elements
from askalike.types import Answer, Judgement, Query, Question, Record

GRADES = {"PerfectMatch": 2, "Relevant": 1, "Irrelevant": 0}
GOLD_SUFFIX = ".relevancy"
GOLD_LINE = re.compile(r"(\S+)\s+(\S+)\s+\S+\s+\S+\s+(true|false)\s*")
SPLITS = ("train", "dev", "test")

Gold = dict[tuple[str, str], int]
"""(query id, related id) → 1 where it is relevant, 0 where not."""


class Semeval(Settings):
    """SemEval Task 3 B: PATHs are its XML files, their gold files (`*.relevancy`), or folders of these."""

    split: str | None = Field(None, description="train, dev or test; without it the files' names say which")

    def read(self, paths: Sequence[Path], source: Source) -> Iterator[Record]:
        """Queries, related questions, their comments as answers, and judgements. Raises InputError."""
        files = list(dict.fromkeys(files_of(paths, "*.xml", f"*{GOLD_SUFFIX}")))
        source.facts |= {"name": "SemEval Task 3", "language": "en"}
        source.expect(files)
        gold = _gold([f for f in files if f.suffix == GOLD_SUFFIX], source)
        for file in files:
            if file.suffix != GOLD_SUFFIX:
                yield from self._file(file, gold, source)

    def _file(self, file: Path, gold: Gold, source: Source) -> Iterator[Record]:
        """One file; its OrgQuestion is repeated once per thread."""
        split = self.split or split_of(file)
        last = None
        for element in elements(source, source.chunks(file), "OrgQuestion"):
            id = element.attributes.get("ORGQ_ID")
            if not id:
                yield source.reject("no ORGQ_ID", element.text_of("OrgQSubject"))
                continue
            if id != last:
                yield Query(split, Question(id, element.text_of("OrgQSubject"), element.text_of("OrgQBody")))
            last = id
            for thread in element.all("Thread"):
                yield from _thread(thread, split, id, gold, source)


def split_of(file: Path) -> str:
    """The split that a file's name, or else its folder's, speaks of. Raises InputError."""
    for name in (file.name.lower(), file.parent.name.lower()):
        if found := next((split for split in SPLITS if split in name), None):
            return found
    raise InputError(f"{file}: its name does not say train, dev or test; add --split")


def _thread(thread: Element, split: str, query_id: str, gold: Gold, source: Source) -> Iterator[Record]:
    try:
        yield from _records(thread, split, query_id, gold)
    except (KeyError, ValueError) as error:
        source.line = thread.line
        yield source.reject(problem(error), thread.attributes)


def _records(thread: Element, split: str, query_id: str, gold: Gold) -> list[Record]:
    """A related question, its judgement and its comments, all or none of them. Raises KeyError or ValueError."""
    related = next(iter(thread.all("RelQuestion")), None)
    if related is None:
        raise KeyError("RelQuestion")
    row = related.attributes
    id, position = row["RELQ_ID"], int(row["RELQ_RANKING_ORDER"])
    grade = GRADES.get(row.get("RELQ_RELEVANCE2ORGQ", ""), gold.get((query_id, id)))
    question = Question(
        id,
        related.text_of("RelQSubject"),
        related.text_of("RelQBody"),
        category=row.get("RELQ_CATEGORY"),
        created_at=optional_utc(row.get("RELQ_DATE")),
        author=row.get("RELQ_USERID"),
    )
    answers = [_answer(comment, id) for comment in thread.all("RelComment")]
    return [question, Judgement(split, query_id, id, grade, position), *answers]


def _answer(comment: Element, question_id: str) -> Answer:
    row = comment.attributes
    label = row.get("RELC_RELEVANCE2RELQ", "?")
    return Answer(
        row["RELC_ID"],
        question_id,
        comment.text_of("RelCText"),
        created_at=optional_utc(row.get("RELC_DATE")),
        author=row.get("RELC_USERID"),
        label=label if label.isalpha() else None,
    )


def _gold(files: Sequence[Path], source: Source) -> Gold:
    """What the gold files say. Raises InputError for a line that is none of theirs."""
    gold: Gold = {}
    for file in files:
        for line in source.lines(file):
            found = GOLD_LINE.fullmatch(line)
            if not found:
                raise source.error(f"{line.strip()!r}; expected: query id, related id, rank, score, true or false")
            gold[found[1], found[2]] = int(found[3] == "true")
    return gold
