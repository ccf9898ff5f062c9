"""Reads Yahoo! Answers Comprehensive Questions and Answers, L6 (licensed by Yahoo Webscope: the user brings it)."""

import hashlib
import heapq
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import Field

from askalike.config import Settings
from askalike.errors import InputError
from askalike.readers._source import SourceFiles, find_files
from askalike.readers._values import describe_error, parse_optional_utc, unescape
from askalike.readers._xml import Element, read_elements
from askalike.types import Answer, Question, Record, RejectedRow

DOCUMENT_START = re.compile(rb"<document\b")
DOCUMENT_END = b"</document>"
MAX_DOCUMENT_SIZE = 1 << 24
CATEGORIES = ("cat", "maincat", "subcat")


class YahooReader(Settings):
    """Yahoo! Answers L6: PATHs are its XML files, plain, .gz or .bz2; the parts of one file in their order."""

    lang: str | None = Field(None, description="keep only questions asked in this language, e.g. en")
    sample: int | None = Field(None, ge=1, description="keep this many questions, drawn at random (reads twice)")
    seed: int = Field(0, description="another seed draws another sample")

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[Record]:
        """Questions with their answers, the best one accepted. Raises InputError."""
        files = find_files(paths, "*.xml*")
        source.facts["name"] = "Yahoo! Answers L6"
        source.expect(files, passes=2 if self.sample else 1)
        limit = self._find_largest_draw(files, source)
        for document in _read_documents(files, source):
            if isinstance(document, RejectedRow):
                yield document
            elif self._is_wanted(document) and self._compute_draw(document) <= limit:
                yield from _parse_records(document, source)

    def _is_wanted(self, document: Element) -> bool:
        return not self.lang or document.find_text("qlang") == self.lang

    def _compute_draw(self, document: Element) -> int:
        """A number that the seed and the question's id decide: the sample is the questions with the smallest ones."""
        key = f"{self.seed} {document.find_text('uri')}"
        return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest()) if self.sample else 0

    def _find_largest_draw(self, files: Sequence[Path], source: SourceFiles) -> int:
        """The largest draw that is still in the sample; found in a first pass that keeps numbers only."""
        if not self.sample:
            return 0
        documents = (d for d in _read_documents(files, source) if isinstance(d, Element) and self._is_wanted(d))
        limit = max(heapq.nsmallest(self.sample, map(self._compute_draw, documents)), default=0)
        source.notes.clear()
        return limit


def _read_documents(files: Sequence[Path], source: SourceFiles) -> Iterator[Element | RejectedRow]:
    """Each `<document>`, parsed by itself: wrapper elements do not matter, nor where a file was cut into parts."""
    buffer, line = b"", 1
    for file in files:
        line = 1 - buffer.count(b"\n")
        for chunk in source.read_chunks(file):
            *whole, buffer = (buffer + chunk).split(DOCUMENT_END)
            for text in whole:
                yield from _parse_documents(text, line, source)
                line += text.count(b"\n")
            if len(buffer) > MAX_DOCUMENT_SIZE:
                raise source.error(f"no </document> in over 16 MB after line {line}; expected Yahoo! Answers XML")
    if begin := DOCUMENT_START.search(buffer):
        source.line = line + buffer[: begin.start()].count(b"\n")
        raise source.error("the <document> there is not closed; the file is cut short, fetch it again")


def _parse_documents(text: bytes, line: int, source: SourceFiles) -> Iterator[Element | RejectedRow]:
    """The document that ends this text; others that begin in it were never closed."""
    begins = [begin.start() for begin in DOCUMENT_START.finditer(text)]
    for begin, end in zip(begins, [*begins[1:], None], strict=True):
        first = line + text[:begin].count(b"\n")
        try:
            closing = DOCUMENT_END if end is None else b""
            for element in read_elements(source, [text[begin:end] + closing], "document"):
                source.line = first
                yield element
        except InputError as error:
            source.line = first
            yield source.reject(str(error), text[begin:end].decode("utf-8", "replace"))


def _parse_records(document: Element, source: SourceFiles) -> Iterator[Record]:
    try:
        yield from _build_records(document)
    except (KeyError, ValueError) as error:
        yield source.reject(describe_error(error), {child.tag: child.text for child in document.children})


def _build_records(document: Element) -> list[Record]:
    """A question and its answers, the best one first. Raises KeyError or ValueError."""
    uri, title = document.find_text("uri"), unescape(document.find_text("subject"))
    for name, value in (("uri", uri), ("subject", title)):
        if not value:
            raise KeyError(name)
    categories = {name: unescape(document.find_text(name)) for name in CATEGORIES}
    best, answers = document.find_text("bestanswer"), _collect_answers(document)
    question = Question(
        uri,
        title,
        document.find_text("content"),
        "html",
        tuple(f"{name}:{value}" for name, value in categories.items() if value),
        categories["cat"] or None,
        document.find_text("qlang") or None,
        parse_optional_utc(document.find_text("date")),
        author=document.find_text("id") or None,
        accepted_answer_id=f"{uri}_1" if best else None,
    )
    given = [Answer(f"{uri}_{n}", uri, text, "html", bool(best) and n == 1) for n, text in enumerate(answers, 1)]
    return [question, *given]


def _collect_answers(document: Element) -> list[str]:
    """The best answer first, then the others; the best one is among `nbestanswers` again."""
    others = [
        item.text.strip() for group in document.find_all("nbestanswers") for item in group.find_all("answer_item")
    ]
    return list(dict.fromkeys(text for text in (document.find_text("bestanswer"), *others) if text))
