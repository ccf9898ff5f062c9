"""Reads Yahoo! Answers Comprehensive Questions and Answers, L6 (licensed by Yahoo Webscope; users provide the file)."""

import hashlib
import heapq
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import Field

from askalike import Answer, InputError, LocatedRecord, Place, Question, RejectedRow, Settings, SourceFiles
from askalike.plugin.readers import (
    Element,
    Record,
    find_files,
    parse_optional_utc,
    parse_rows,
    read_elements,
    reject,
    unescape,
)

DOCUMENT_START = re.compile(rb"<document\b")
DOCUMENT_END = b"</document>"
MAX_DOCUMENT_SIZE = 1 << 24
CATEGORIES = ("cat", "maincat", "subcat")

PlacedDocument = tuple[Place, Element | RejectedRow]


class YahooReader(Settings):
    """Yahoo! Answers L6: PATHs are its XML files, plain, .gz or .bz2; the parts of one file in their order.

    Examples:

    ```
    askalike import yahoo small_sample.xml -o yahoo --dry-run
    askalike import yahoo FullOct2007.xml.part1.gz FullOct2007.xml.part2.gz -o yahoo --lang en --sample 100000
    ```
    """

    lang: str | None = Field(None, description="keep only questions asked in this language, e.g. en")
    category: str | None = Field(None, description="keep only questions of this category, main category or subcategory")
    sample: int | None = Field(None, ge=1, description="keep this many questions, drawn at random (reads twice)")
    seed: int = Field(0, ge=0, description="another seed draws another sample")

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield questions with their answers, the best one accepted. Raises InputError."""
        files = find_files(paths, "*.xml*")
        source.facts["name"] = "Yahoo! Answers L6"
        source.expect(files, passes=2 if self.sample else 1)
        limit = self._find_largest_draw(files, source)

        def parse(document: Element) -> list[Record]:
            in_sample = self._is_wanted(document) and self._compute_draw(document) <= limit
            return _build_records(document) if in_sample else []

        yield from parse_rows(_read_documents(files, source), parse, _list_texts)

    def _is_wanted(self, document: Element) -> bool:
        if self.lang and document.find_text("qlang") != self.lang:
            return False
        return not self.category or self.category in (unescape(document.find_text(name)) for name in CATEGORIES)

    def _compute_draw(self, document: Element) -> int:
        """Return a number derived from the seed and the question's id; questions with the smallest are the sample."""
        key = f"{self.seed} {document.find_text('uri')}"
        return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest()) if self.sample else 0

    def _find_largest_draw(self, files: Sequence[Path], source: SourceFiles) -> int:
        """Return the largest draw that is still in the sample, from a first pass over the files."""
        if not self.sample:
            return 0
        documents = (d for _, d in _read_documents(files, source) if isinstance(d, Element) and self._is_wanted(d))
        limit = max(heapq.nsmallest(self.sample, map(self._compute_draw, documents)), default=0)
        source.notes.clear()
        return limit


def _read_documents(files: Sequence[Path], source: SourceFiles) -> Iterator[PlacedDocument]:
    """Yield each `<document>`, parsed on its own, so that wrapper elements and cuts between files do not matter."""
    buffer, line = b"", 1
    for file in files:
        line = 1 - buffer.count(b"\n")
        for chunk in source.read_bytes(file):
            *whole, buffer = (buffer + chunk).split(DOCUMENT_END)
            for text in whole:
                yield from _parse_documents(text, file, line, source)
                line += text.count(b"\n")
            if len(buffer) > MAX_DOCUMENT_SIZE:
                raise InputError(f"{file}: no </document> in over 16 MB after line {line}; expected Yahoo! Answers XML")
    if begin := DOCUMENT_START.search(buffer):
        place = Place(str(files[-1]), line + buffer[: begin.start()].count(b"\n"))
        raise InputError(f"{place}: its <document> is not closed; the file is truncated, fetch it again")


def _parse_documents(text: bytes, file: Path, line: int, source: SourceFiles) -> Iterator[PlacedDocument]:
    """Yield the document at the end of this text; other documents that begin in it were never closed."""
    begins = [begin.start() for begin in DOCUMENT_START.finditer(text)]
    for begin, end in zip(begins, [*begins, None][1:], strict=True):
        place = Place(str(file), line + text[:begin].count(b"\n"))
        try:
            closing = DOCUMENT_END if end is None else b""
            for _, element in read_elements(source, file, [text[begin:end] + closing], "document"):
                yield place, element
        except InputError as error:
            yield place, reject(place, str(error), text[begin:end].decode("utf-8", "replace"))


def _list_texts(document: Element) -> dict[str, str]:
    return {child.tag: child.text for child in document.children}


def _build_records(document: Element) -> list[Record]:
    """Return a question and its answers, the best one first. Raises KeyError or ValueError."""
    uri = document.find_text("uri")
    title = unescape(document.find_text("subject"))
    for name, value in (("uri", uri), ("subject", title)):
        if not value:
            raise KeyError(name)
    categories = {name: unescape(document.find_text(name)) for name in CATEGORIES}
    best = document.find_text("bestanswer")
    answers = _collect_answers(document)
    tags = tuple(f"{name}:{value}" for name, value in categories.items() if value)
    category = categories["cat"] or None
    language, author = document.find_text("qlang") or None, document.find_text("id") or None
    body = document.find_text("content")
    created_at = parse_optional_utc(document.find_text("date"))
    accepted = f"{uri}_1" if best else None
    question = Question(
        uri, title, body, "html", tags, category, language, created_at, author=author, accepted_answer_id=accepted
    )
    replies = [Answer(f"{uri}_{n}", uri, text, "html", bool(best) and n == 1) for n, text in enumerate(answers, 1)]
    return [question, *replies]


def _collect_answers(document: Element) -> list[str]:
    """Return the best answer, then the others, each once; `nbestanswers` repeats the best one."""
    rest = [item.text.strip() for group in document.find_all("nbestanswers") for item in group.find_all("answer_item")]
    return list(dict.fromkeys(text for text in (document.find_text("bestanswer"), *rest) if text))
