"""Reads Yahoo! Answers Comprehensive Questions and Answers, L6 (licensed by Yahoo Webscope: the user brings it)."""

import hashlib
import heapq
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import Field

from askalike.config import Settings
from askalike.errors import InputError
from askalike.readers._source import Source, files_of
from askalike.readers._values import optional_utc, problem, unescaped
from askalike.readers._xml import Element, elements
from askalike.types import Answer, Question, Record, Rejected

BEGIN = re.compile(rb"<document\b")
END = b"</document>"
LONGEST_DOCUMENT = 1 << 24
CATEGORIES = ("cat", "maincat", "subcat")


class Yahoo(Settings):
    """Yahoo! Answers L6: PATHs are its XML files, plain, .gz or .bz2; the parts of one file in their order."""

    lang: str | None = Field(None, description="keep only questions asked in this language, e.g. en")
    sample: int | None = Field(None, ge=1, description="keep this many questions, drawn at random (reads twice)")
    seed: int = Field(0, description="another seed draws another sample")

    def read(self, paths: Sequence[Path], source: Source) -> Iterator[Record]:
        """Questions with their answers, the best one accepted. Raises InputError."""
        files = files_of(paths, "*.xml*")
        source.facts["name"] = "Yahoo! Answers L6"
        source.expect(files, passes=2 if self.sample else 1)
        limit = self._limit(files, source)
        for document in _documents(files, source):
            if isinstance(document, Rejected):
                yield document
            elif self._wanted(document) and self._draw(document) <= limit:
                yield from _records(document, source)

    def _wanted(self, document: Element) -> bool:
        return not self.lang or document.text_of("qlang") == self.lang

    def _draw(self, document: Element) -> int:
        """A number that the seed and the question's id decide: the sample is the questions with the smallest ones."""
        key = f"{self.seed} {document.text_of('uri')}"
        return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest()) if self.sample else 0

    def _limit(self, files: Sequence[Path], source: Source) -> int:
        """The largest draw that is still in the sample; found in a first pass that keeps numbers only."""
        if not self.sample:
            return 0
        documents = (d for d in _documents(files, source) if isinstance(d, Element) and self._wanted(d))
        limit = max(heapq.nsmallest(self.sample, map(self._draw, documents)), default=0)
        source.notes.clear()
        return limit


def _documents(files: Sequence[Path], source: Source) -> Iterator[Element | Rejected]:
    """Each `<document>`, parsed by itself: wrapper elements do not matter, nor where a file was cut into parts."""
    buffer, line = b"", 1
    for file in files:
        line = 1 - buffer.count(b"\n")
        for chunk in source.chunks(file):
            *whole, buffer = (buffer + chunk).split(END)
            for text in whole:
                yield from _parsed(text, line, source)
                line += text.count(b"\n")
            if len(buffer) > LONGEST_DOCUMENT:
                raise source.error(f"no </document> in over 16 MB after line {line}; expected Yahoo! Answers XML")
    if begin := BEGIN.search(buffer):
        source.line = line + buffer[: begin.start()].count(b"\n")
        raise source.error("the <document> there is not closed; the file is cut short, fetch it again")


def _parsed(text: bytes, line: int, source: Source) -> Iterator[Element | Rejected]:
    """The document that ends this text; others that begin in it were never closed."""
    begins = [begin.start() for begin in BEGIN.finditer(text)]
    for begin, end in zip(begins, [*begins[1:], None], strict=True):
        first = line + text[:begin].count(b"\n")
        try:
            closing = END if end is None else b""
            for element in elements(source, [text[begin:end] + closing], "document"):
                source.line = first
                yield element
        except InputError as error:
            source.line = first
            yield source.reject(str(error), text[begin:end].decode("utf-8", "replace"))


def _records(document: Element, source: Source) -> Iterator[Record]:
    try:
        yield from _question_and_answers(document)
    except (KeyError, ValueError) as error:
        yield source.reject(problem(error), {child.tag: child.text for child in document.children})


def _question_and_answers(document: Element) -> list[Record]:
    """A question and its answers, the best one first. Raises KeyError or ValueError."""
    uri, title = document.text_of("uri"), unescaped(document.text_of("subject"))
    for name, value in (("uri", uri), ("subject", title)):
        if not value:
            raise KeyError(name)
    categories = {name: unescaped(document.text_of(name)) for name in CATEGORIES}
    best, answers = document.text_of("bestanswer"), _answers(document)
    question = Question(
        uri,
        title,
        document.text_of("content"),
        "html",
        tuple(f"{name}:{value}" for name, value in categories.items() if value),
        categories["cat"] or None,
        document.text_of("qlang") or None,
        optional_utc(document.text_of("date")),
        author=document.text_of("id") or None,
        accepted_answer_id=f"{uri}_1" if best else None,
    )
    given = [Answer(f"{uri}_{n}", uri, text, "html", bool(best) and n == 1) for n, text in enumerate(answers, 1)]
    return [question, *given]


def _answers(document: Element) -> list[str]:
    """The best answer first, then the others; the best one is among `nbestanswers` again."""
    others = [item.text.strip() for group in document.all("nbestanswers") for item in group.all("answer_item")]
    return list(dict.fromkeys(text for text in (document.text_of("bestanswer"), *others) if text))
