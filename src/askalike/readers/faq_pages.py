"""Reads questions and answers from web pages with structured data (schema.org), saved or named by a sitemap."""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from html import unescape
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

from pydantic import Field

from askalike.core.errors import InputError
from askalike.core.files import GZIP_MAGIC, unpack_gzip, user_cache
from askalike.core.records import Answer, LocatedRecord, Place, Question, Record
from askalike.core.values import hash_texts, parse_language
from askalike.readers._site import SiteClient, read_address
from askalike.readers._source import FollowUpReader, SourceFiles, find_files, reject
from askalike.readers._structured import Item, StructuredPage, decode, has_type, read_page, text_of, values, walk
from askalike.readers._values import parse_optional_date
from askalike.text.clean import collapse_spaces, guess_markup, plain_text

QUESTION_TYPES = ("Question", "DiscussionForumPosting")
ANSWER_PROPERTIES = ("acceptedAnswer", "suggestedAnswer", "comment")
NO_QUESTIONS = "pages without a FAQPage, QAPage or DiscussionForumPosting left out"
MAX_SITEMAPS, MAX_ADDRESSES = 1_000, 500_000
"""Of one import."""
MAX_SITEMAP_BYTES, MAX_SITEMAP_ADDRESSES = 50 << 20, 50_000
"""Of one sitemap, as sitemaps.org says."""
MAX_SITEMAP_ELEMENTS, MAX_SITEMAP_DEPTH = 1_000_000, 16
MAX_PAGE_BYTES, MAX_SAVED_BYTES = 8 << 20, 64 << 20
"""Of a page; a saved one may have its pictures in it."""
SLICE_LENGTH = 1 << 16


class FaqPagesReader(FollowUpReader):
    """Web pages with structured data (FAQPage, QAPage): PATHs are saved pages, folders, or a sitemap's address.

    Discourse, Stack Exchange, XenForo, WordPress and most FAQ pages have such data, as JSON-LD or microdata. A page is
    requested again only if its date in the sitemap changed.

    Examples:

    ```
    askalike import faq-pages saved-pages/ -o desk
    askalike import faq-pages https://www.example.org/sitemap.xml -o desk --pages /help/
    ```
    """

    pages: str | None = Field(None, description="read only addresses of a sitemap that contain this text, e.g. /help/")
    pause: float = Field(0.5, ge=0, description="seconds between two requests")
    timeout: float = Field(30.0, gt=0, description="seconds to wait for a response")
    responses: Path | None = Field(None, description="the folder in which the site's pages are cached")

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield each question of each page with its answers. Raises InputError if no page has any."""
        addresses = [address for path in paths if (address := read_address(path))]
        saved = [path for path in paths if read_address(path) is None]
        files = find_files(saved, "*.html", "*.htm", "*.xhtml", "*.html.gz") if saved else []
        source.expect(files)
        n_questions = 0
        for place, content, address in chain(_saved_pages(files, source), self._fetched_pages(addresses, source)):
            for record in self._read_content(place, content, address, source):
                n_questions += isinstance(record, Question)
                yield record, place
        if not n_questions and not source.notes["older than --since left out"]:
            names = ", ".join(map(str, paths))
            raise InputError(f"{names}: no page has a FAQPage or QAPage as JSON-LD or microdata; see docs/formats.md")

    def _read_content(
        self, place: Place, content: str | bytes, address: str | None, source: SourceFiles
    ) -> Iterator[Record]:
        try:
            page = read_page(content)
        except (UnicodeDecodeError, LookupError) as error:
            yield reject(place, f"its encoding is not what it says ({error})")
            return
        for problem in page.problems:
            yield reject(place, problem)
        parser = _PageParser(page, address or page.address or "", source)
        n_found = 0
        for item in parser.question_items():
            n_found += 1
            try:
                records = parser.parse(item)
            except (KeyError, ValueError) as error:
                yield reject(place, f"no {error.args[0]}" if isinstance(error, KeyError) else str(error), item)
                continue
            if not self.is_unchanged(parser.changed_at(item), source):
                yield from records
        source.note(NO_QUESTIONS, not n_found)

    def _fetched_pages(
        self, addresses: Iterable[str], source: SourceFiles
    ) -> Iterator[tuple[Place, str | bytes, str | None]]:
        """Yield the pages that sitemaps name, or that are addresses themselves."""
        for address in addresses:
            parts = urlsplit(address)
            folder = self.responses or user_cache() / "faq-pages"
            client = SiteClient(
                f"{parts.scheme}://{parts.netloc}",
                folder,
                self.pause,
                self.timeout,
                parse=_decode_response,
                accept="text/html",
            )
            source.facts["name"] = client.host
            for path, changed in _read_sitemap(client, address[len(client.address) :] or "/", source):
                if (self.pages or "") in path:
                    content = client.get(path, changed, MAX_PAGE_BYTES)
                    source.note("pages that are not there any more", content is None)
                    if content is not None:
                        yield Place(client.address + path), content, client.address + path


class _PageParser:
    """Turns the items of one page into records."""

    def __init__(self, page: StructuredPage, address: str, source: SourceFiles) -> None:
        self._page, self._address, self._source = page, address.partition("#")[0], source
        self._language: str | None = None
        with suppress(ValueError):
            self._language = parse_language((page.language or "").partition("-")[0]) if page.language else None

    def question_items(self) -> Iterator[Item]:
        """Yield the questions of the page, each once: JSON-LD and microdata may both have it."""
        seen: set[str] = set()
        for item in walk(list(self._page.items)):
            if not has_type(item, *QUESTION_TYPES):
                continue
            title = _title(item)
            if title not in seen:
                seen.add(title)
                yield item

    def changed_at(self, item: Item) -> str | None:
        """Return when a question was last changed; None if nothing says so."""
        return self._date(item, "dateModified", self._page.changed_at)

    def parse(self, item: Item) -> list[Record]:
        """Return a question and its answers. Raises KeyError if it has no title."""
        title = _title(item)
        if not title:
            raise KeyError("name of a question")
        id = self._question_id(item, title)
        answers: list[Answer] = []
        accepted: str | None = None
        for name in ANSWER_PROPERTIES:
            for value in values(item, name):
                if isinstance(value, dict) and (answer := self._parse_answer(value, id)):
                    if all(answer.id != each.id for each in answers):
                        answers.append(answer)
                    if name == "acceptedAnswer":
                        accepted = accepted or answer.id
        body = text_of(item.get("text") or item.get("articleBody"))
        question = Question(
            id,
            title,
            "" if plain_text(body, "html") == plain_text(title, "html") else body,
            guess_markup(body),
            tags=_keywords(item),
            language=self._language,
            created_at=self._date(item, "dateCreated", text_of(item.get("datePublished"))),
            author=text_of(item.get("author")) or None,
            url=_absolute(text_of(item.get("url"))) or self._address or None,
            votes=_count(item.get("upvoteCount")),
            accepted_answer_id=accepted,
        )
        return [question, *answers]

    def _parse_answer(self, item: Item, question_id: str) -> Answer | None:
        body = text_of(item.get("text") or item.get("articleBody"))
        if not body:
            self._source.note("answers without a text left out")
            return None
        address = _absolute(text_of(item.get("url"))) or _absolute(text_of(item.get("@id")))
        return Answer(
            address or f"{question_id}#{hash_texts(body)}",
            question_id,
            body,
            guess_markup(body),
            created_at=self._date(item, "dateCreated", text_of(item.get("datePublished"))),
            author=text_of(item.get("author")) or None,
            url=address,
            votes=_count(item.get("upvoteCount")),
        )

    def _question_id(self, item: Item, title: str) -> str:
        """Return the address of a question: its own, that of the page if it is the only one, else one made of both."""
        own = _absolute(text_of(item.get("@id"))) or _absolute(text_of(item.get("url")))
        if own and own != self._address:
            return own
        is_only = sum(has_type(each, *QUESTION_TYPES) for each in walk(list(self._page.items))) == 1
        return self._address if self._address and is_only else f"{self._address}#{hash_texts(title)}".lstrip("#")

    def _date(self, item: Item, name: str, otherwise: str | None = None) -> str | None:
        value = text_of(item.get(name)) or otherwise
        try:
            return parse_optional_date(value)
        except ValueError:
            if self._source.strict:
                raise
            self._source.note("dates that could not be read (their questions are kept without a date)")
            return None


def _saved_pages(files: Iterable[Path], source: SourceFiles) -> Iterator[tuple[Place, bytes, str | None]]:
    for file in files:
        content = bytearray()
        for chunk in source.read_bytes(file):
            content += chunk
            if len(content) > MAX_SAVED_BYTES:
                raise InputError(f"{file}: is over {MAX_SAVED_BYTES >> 20} MB; no page is, remove it")
        yield Place(str(file)), bytes(content), None


def _read_sitemap(client: SiteClient, path: str, source: SourceFiles) -> Iterator[tuple[str, str | None]]:
    """Yield the paths of the pages in a sitemap and in those that it names, each with its date of change."""
    waiting: deque[tuple[str, str | None]] = deque([(path, None)])
    n_sitemaps = n_addresses = 0
    while waiting:
        path, changed = waiting.popleft()
        if not path.partition("?")[0].endswith((".xml", ".xml.gz")):
            yield path, changed
            continue
        n_sitemaps += 1
        text = client.get(path, max_bytes=MAX_SITEMAP_BYTES)
        if text is None or n_sitemaps > MAX_SITEMAPS:
            raise InputError(f"{client.address}{path}: {'not there' if text is None else 'too many sitemaps'}")
        for address, date in _parse_sitemap(text, client.address + path):
            if not address.startswith(client.address + "/"):
                source.note("addresses of other sites in a sitemap left out")
            elif n_addresses >= MAX_ADDRESSES:
                source.note(f"addresses after the first {MAX_ADDRESSES:,} left out")
            else:
                n_addresses += 1
                waiting.append((address[len(client.address) :], date))


def _decode_response(content: bytes) -> str:
    """Return the text of a page or a sitemap, which may be a gzip file. Raises ValueError or LookupError."""
    return decode(unpack_gzip(content, MAX_SITEMAP_BYTES) if content.startswith(GZIP_MAGIC) else content)


def _parse_sitemap(text: str, address: str) -> list[tuple[str, str | None]]:
    """Return the addresses in a sitemap (sitemaps.org) with their dates. Raises InputError."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError(f"{address}: a sitemap with a document type; expected one of sitemaps.org")
    found = []
    try:
        for entry in _read_entries(text):
            fields = {child.tag.rpartition("}")[2]: (child.text or "").strip() for child in entry}
            if fields.get("loc"):
                found.append((fields["loc"], fields.get("lastmod") or None))
            if len(found) > MAX_SITEMAP_ADDRESSES:
                raise ValueError(f"it has over {MAX_SITEMAP_ADDRESSES:,} addresses")
    except (ElementTree.ParseError, ValueError) as error:
        raise InputError(f"{address}: is not a sitemap ({error}); expected XML of sitemaps.org") from None
    return found


def _read_entries(text: str) -> Iterator[ElementTree.Element]:
    """Yield the elements inside the outermost one, each of which is then forgotten. Raises ParseError, ValueError."""
    parser: Any = ElementTree.XMLPullParser(("start", "end"))
    opened: list[ElementTree.Element] = []
    n_elements = 0
    for start in range(0, len(text), SLICE_LENGTH):
        parser.feed(text[start : start + SLICE_LENGTH])
        for event, element in parser.read_events():
            if event == "start":
                opened.append(element)
                n_elements += 1
                if len(opened) > MAX_SITEMAP_DEPTH or n_elements > MAX_SITEMAP_ELEMENTS:
                    levels = f"{MAX_SITEMAP_DEPTH} levels or {MAX_SITEMAP_ELEMENTS:,} elements"
                    raise ValueError(f"it has over {levels}")
                continue
            opened.pop()
            if len(opened) == 1:
                yield element
                opened[0].clear()
    parser.close()


def _title(item: Item) -> str:
    title = unescape(text_of(item.get("name") or item.get("headline")) or text_of(item.get("text")))
    return collapse_spaces(plain_text(title, guess_markup(title)))


def _keywords(item: Item) -> tuple[str, ...]:
    words = (part for value in values(item, "keywords") for part in text_of(value).split(","))
    return tuple(dict.fromkeys(filter(None, map(str.strip, words))))


def _absolute(address: str) -> str | None:
    return address if re.match(r"https?://[^/\s]", address) else None


def _count(value: Any) -> int | None:
    text = text_of(value)
    return int(text) if re.fullmatch(r"[+-]?\d{1,9}", text) else None
