"""Reads TREC collections: documents (`<DOC>`), topics (`<top>`) and judgements (qrels)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from askalike import EvaluationQuery, InputError, Judgement, LocatedRecord, Question, Settings, SourceFiles
from askalike.plugin.readers import Record, find_files, parse_rows, unescape

TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)[^<>]*>")
TITLES = {"title", "headline", "ttl", "head"}
"""The elements that hold a document's title, in one collection or another."""
NO_TEXT = {"docno", "docid", "dochdr", "fileid", "date", "date1", "dateline"}
LABEL = re.compile(r"(?:number|topic|description|narrative):", re.IGNORECASE)
"""The word that the text of a topic's element may begin with."""

Lines = Iterable[tuple[Any, str]]
"""The place and the text of each line."""


class TrecReader(Settings):
    """A TREC collection: PATHs are its files of documents (`<DOC>`), topics (`<top>`) and qrels, or folders of them.

    A file's first line says what it holds. Each document becomes a question, with its title and text.

    Examples:

    ```
    askalike import trec docs topics.301-350 qrels.txt -o robust
    askalike import trec docs topics.dev qrels.dev -o robust --split dev
    ```
    """

    split: Literal["train", "dev", "test"] = Field("test", description="the split of the topics and judgements")
    topic: Literal["title", "desc", "both"] = Field("title", description="the elements of a topic that are asked")

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield documents as questions, topics as queries, and judgements. Raises InputError."""
        files = [file for file in dict.fromkeys(find_files(paths, "*")) if file.is_file()]
        source.facts["name"] = ", ".join(path.resolve().name for path in paths)
        source.expect(files)
        for file in files:
            yield from self._read_lines(file, source.read_lines(file))

    def _read_lines(self, file: Path, lines: Lines) -> Iterator[LocatedRecord]:
        filled = ((place, line) for place, line in lines if line.strip())
        for first in filled:
            begin = first[1].strip().lower()
            rest = chain([first], filled)
            if begin.startswith("<doc>"):
                yield from parse_rows(_read_blocks(rest, "</doc>"), _parse_document)
            elif begin.startswith("<top>"):
                yield from parse_rows(_read_blocks(rest, "</top>"), self._parse_topic)
            elif len(begin.split()) == 4:
                yield from parse_rows(rest, self._parse_judgement, str.rstrip)
            else:
                raise InputError(f"{file}: begins with {begin[:40]!r}; expected <DOC>, <top>, or qrels of four columns")

    def _parse_topic(self, block: str) -> list[Record]:
        number, title, description = (
            LABEL.sub("", _join(text for path, text in _split_elements(block) if path[-1] == name), count=1).strip()
            for name in ("num", "title", "desc")
        )
        if not number:
            raise KeyError("num")
        texts = {"title": (title, ""), "desc": (description, ""), "both": (title, description)}
        return [EvaluationQuery(self.split, Question(number, *texts[self.topic]))]

    def _parse_judgement(self, line: str) -> list[Record]:
        fields = line.split()
        if len(fields) != 4:
            raise ValueError("expected topic, iteration, document and grade")
        return [Judgement(self.split, fields[0], fields[2], int(fields[3]))]


def _read_blocks(lines: Lines, end: str) -> Iterator[tuple[Any, str]]:
    """Yield the first place and the text of each element, whose end tag ends a line. Raises InputError without one."""
    block: list[str] = []
    first: Any = None
    for place, line in lines:
        first = first if block else place
        block.append(line)
        if line.strip().lower().endswith(end):
            yield first, "".join(block)
            block = []
    if block:
        raise InputError(f"{first}: no {end} after this line; is the file cut off?")


def _parse_document(block: str) -> list[Record]:
    elements = list(_split_elements(block))
    id = _join(text for path, text in elements if path[-1] == "docno")
    title = _join(text for path, text in elements if TITLES & {*path})
    text = _join(text for path, text in elements if not (TITLES | NO_TEXT) & {*path})
    if not id:
        raise KeyError("DOCNO")
    return [Question(id, title or text, text if title else "")]


def _split_elements(block: str) -> Iterator[tuple[list[str], str]]:
    """Yield each piece of text with the names of the elements around it, the outermost first.

    An end tag also ends what was begun within it: topics have elements without end tags.
    """
    path: list[str] = []
    end = 0
    for tag in TAG.finditer(block):
        if path and (text := block[end : tag.start()]).strip():
            yield [*path], text
        closes, name, end = tag[1], tag[2].lower(), tag.end()
        if not closes:
            path.append(name)
        elif name in path:
            del path[path.index(name) :]


def _join(texts: Iterable[str]) -> str:
    return " ".join(map(unescape, texts))
