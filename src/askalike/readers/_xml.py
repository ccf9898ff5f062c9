"""Streams the elements with one tag from XML of any size, without entities; expat counts lines beyond 65,535."""

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from askalike.core.errors import InputError
from askalike.core.records import Place
from askalike.readers._source import SourceFiles, decode_chunks, describe_invalid_utf8

MAX_ELEMENT_SIZE = 1 << 26
MAX_DEPTH, MAX_ELEMENTS = 32, 10_000
"""Maximum number of levels of an element, and of elements in it at any level."""
EXPAT_ENCODINGS = ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "iso8859-1", "ascii")
DECLARED_ENCODING = re.compile(
    rb"""(?:\xef\xbb\xbf)?<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']"""
)
CONTROL_CHARACTERS = bytes(b for b in range(32) if b not in b"\t\n\r")
CONTROL_BYTE = re.compile(b"[" + re.escape(CONTROL_CHARACTERS) + b"]")
FORBIDDEN_REFERENCE = re.compile(
    rb"&#(?:x0*(?:[0-8bcef]|1[0-9a-f]|d[89a-f][0-9a-f]{2}|fff[ef])|0*(?:[0-8]|1[1245-9]|2[0-9]|3[01]));", re.IGNORECASE
)
MAX_REFERENCE_LENGTH = 12
REPLACEMENT = "\ufffd".encode()
INVALID_TOKEN = expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN]
REPLACED_NOTE = "characters that XML forbids replaced"


@dataclass(slots=True)
class Element:
    """An element with its children; `text` excludes the text of the children."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list["Element"] = field(default_factory=list)

    def find_all(self, tag: str) -> list["Element"]:
        """Return the children with a tag."""
        return [child for child in self.children if child.tag == tag]

    def find_text(self, tag: str) -> str:
        """Return the stripped text of the first child with a tag; empty if there is none."""
        return next((child.text.strip() for child in self.children if child.tag == tag), "")


def read_elements(source: SourceFiles, path: Path, parts: Iterable[bytes], tag: str) -> Iterator[tuple[Place, Element]]:
    """Yield the elements with a tag and their places, including those before an error. Raises InputError."""
    rest = iter(parts)
    head = next(rest, b"")
    encoding = _find_encoding(source.encoding, head, path)
    parts = chain([head], rest)
    if encoding and encoding not in EXPAT_ENCODINGS:
        texts = decode_chunks(parts, encoding, path)  # expat reads no other one with several bytes per character
        encoding = "utf-8"
        parts = (text.encode("utf-8", "replace") for text in texts)
    builder = _ElementBuilder(tag, encoding)
    for chunk in chain(_replace_forbidden(parts, source), [b""]):
        for element in builder.feed(chunk):
            yield Place(str(path), element.line), element
        if builder.problem:
            raise InputError(f"{Place(str(path), builder.line)}: {builder.problem}")


def _find_encoding(named: str | None, head: bytes, path: Path) -> str | None:
    """Return the named encoding, else the one that the file declares; None without one. Raises InputError."""
    declared = DECLARED_ENCODING.match(head)
    name = named or (declared[1].decode() if declared else None)
    try:
        "".encode(name or "utf-8")
        return codecs.lookup(name).name if name else None
    except (LookupError, UnicodeError):  # the latter of `undefined`
        advice = "name the one that it has with --encoding, e.g. --encoding gbk"
        raise InputError(f"{path}: its encoding {name!r} is unknown; {advice}") from None


class _ElementBuilder:
    """Feeds bytes to expat and collects complete elements; `problem` and `line`: why and where it stopped."""

    def __init__(self, tag: str, encoding: str | None) -> None:
        self.problem = ""
        self.line = 0
        self._tag = tag
        self._open: list[Element] = []
        self._texts: list[list[str]] = []
        """The pieces of text of each open element; adding one to a string of 64 MB would copy it."""
        self._finished: list[Element] = []
        self._n_elements = 0
        self._bytes_fed = 0
        self._bytes_since_element = 0
        self._parser = expat.ParserCreate(encoding)
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start_element
        self._parser.EndElementHandler = self._end_element
        self._parser.CharacterDataHandler = self._add_text
        self._parser.EntityDeclHandler = self._refuse_entity

    def feed(self, chunk: bytes) -> list[Element]:
        """Return the elements completed by this chunk; an empty chunk is the end of the file."""
        self._finished = []
        self._bytes_since_element += len(chunk)
        try:
            self._parser.Parse(chunk, not chunk)
            if self._bytes_since_element > MAX_ELEMENT_SIZE and not self._finished:
                self._stop(f"no end of <{self._tag}> in over 64 MB; expected one such element a row")
        except (expat.ExpatError, ValueError, LookupError) as error:
            self._stop(self.problem or self._describe_error(error, chunk))
        self._bytes_fed += len(chunk)
        return self._finished

    def _stop(self, problem: str) -> None:
        self.problem, self.line = problem, self._parser.CurrentLineNumber

    def _describe_error(self, error: Exception, chunk: bytes) -> str:
        if not isinstance(error, expat.ExpatError):
            return f"cannot be read ({error}); name the encoding with --encoding, or convert the file to UTF-8"
        at = self._parser.ErrorByteIndex
        inside = at - self._bytes_fed
        if error.code == INVALID_TOKEN and 0 <= inside < len(chunk) and chunk[inside] > 127:
            return describe_invalid_utf8(at, chunk[inside])
        if not chunk:
            return "the XML ends before its last element is closed; the file is cut short or empty, fetch it again"
        return f"not well-formed XML ({expat.ErrorString(error.code)}); repair the file there, or fetch it again"

    def _start_element(self, tag: str, attributes: dict[str, str]) -> None:
        if self._open or tag == self._tag:
            self._n_elements = self._n_elements + 1 if self._open else 1
            if len(self._open) >= MAX_DEPTH or self._n_elements > MAX_ELEMENTS:
                self._refuse(f"<{self._tag}> has over {MAX_DEPTH} levels or {MAX_ELEMENTS:,} elements; this is refused")
            self._open.append(Element(tag, attributes, self._parser.CurrentLineNumber))
            self._texts.append([])

    def _end_element(self, tag: str) -> None:
        if not self._open:
            return
        element = self._open.pop()
        element.text = "".join(self._texts.pop())
        if self._open:
            self._open[-1].children.append(element)
        else:
            self._finished.append(element)
            self._bytes_since_element = 0

    def _add_text(self, text: str) -> None:
        if self._open:
            self._texts[-1].append(text)

    def _refuse_entity(self, name: str, *_: object) -> None:
        self._refuse(f"declares the entity {name!r}; such files are refused, remove its <!ENTITY> declarations")

    def _refuse(self, problem: str) -> NoReturn:
        self.problem = problem
        raise expat.ExpatError


def _replace_forbidden(chunks: Iterable[bytes], source: SourceFiles) -> Iterator[bytes]:
    """Yield the chunks with control characters, raw or as references, replaced: invalid in XML, but found in dumps."""
    rest = b""
    is_utf16 = None
    for chunk in chunks:
        is_utf16 = b"\0" in chunk[:4] if is_utf16 is None else is_utf16
        if is_utf16:
            yield chunk
            continue
        chunk = rest + chunk
        cut = chunk.rfind(b"&", -MAX_REFERENCE_LENGTH)
        cut = len(chunk) if cut < 0 or b";" in chunk[cut:] else cut
        rest = chunk[cut:]
        if replaced := _replace_in_chunk(chunk[:cut], source):
            yield replaced
    if rest:
        yield rest


def _replace_in_chunk(chunk: bytes, source: SourceFiles) -> bytes:
    chunk, count = FORBIDDEN_REFERENCE.subn(REPLACEMENT, chunk)
    source.note(REPLACED_NOTE, count)
    if len(chunk.translate(None, CONTROL_CHARACTERS)) != len(chunk):
        chunk, count = CONTROL_BYTE.subn(REPLACEMENT, chunk)
        source.note(REPLACED_NOTE, count)
    return chunk
