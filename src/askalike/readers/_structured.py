"""Structured data of web pages, as schema.org defines it: items in JSON-LD and in microdata, as nested objects."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode

from askalike.text.clean import is_deep

Item = Mapping[str, Any]
"""An item: property → a text, an item, or a list of these. Its type is `@type`, its id `@id`."""

CHARSET = re.compile(rb"""<meta[^>]{0,200}charset=["']?([\w-]+)""", re.IGNORECASE)
HEAD_BYTES = 4096
VALUE_ATTRIBUTES = {
    "meta": "content", "data": "value", "meter": "value", "time": "datetime", "a": "href", "link": "href",
    "area": "href", "img": "src", "audio": "src", "video": "src", "iframe": "src", "source": "src", "embed": "src",
    "track": "src", "object": "data",
}  # fmt: skip
"""Element → the attribute with its value, as in HTML's section 5.2.4 ("Values: the content attribute, …")."""
ADDRESS_ATTRIBUTES = ("href", "src", "data")
MARKUP_PROPERTIES = ("text", "articleBody")
"""Properties whose value keeps its markup; others are plain text."""
MAX_NODES = 200_000
"""Elements of one page that are read; more are not a page of questions."""
MAX_STEPS = 100_000_000
"""Of parsing a page, see `is_deep`: a second."""
MAX_DEPTH = 50
"""The number of items or values inside each other that are read; deeper ones are no question's."""


@dataclass(frozen=True, slots=True)
class StructuredPage:
    """The items of a page, its canonical address, language and date of change; None for what it does not say.

    problems: why blocks of JSON-LD could not be read.
    """

    items: Sequence[Item]
    address: str | None
    language: str | None
    changed_at: str | None
    problems: Sequence[str]


def read_page(content: str | bytes) -> StructuredPage:
    """Return the structured data of an HTML page. Raises UnicodeDecodeError or LookupError for its encoding."""
    text = content if isinstance(content, str) else decode(content)
    if is_deep(text, MAX_STEPS):
        return StructuredPage([], None, None, None, ["the page has too many elements inside each other"])
    tree = LexborHTMLParser(text)
    address = _attribute(tree, 'link[rel="canonical"]', "href") or _attribute(
        tree, 'meta[property="og:url"]', "content"
    )
    changed_at = _attribute(tree, 'meta[property="article:modified_time"]', "content")
    language = _attribute(tree, "html", "lang")
    problems: list[str] = []
    items = list(_read_json_ld(tree, problems))
    items += _read_microdata(tree, address or "")
    return StructuredPage(items, address, language, changed_at, problems)


def decode(content: bytes) -> str:
    """Return the text of a page that is UTF-8, or in the encoding that it declares.

    A page that was saved is often UTF-8 although it still says otherwise; text in another encoding hardly ever is.
    """
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = content.decode("utf-16")
    else:
        declared = CHARSET.search(content[:HEAD_BYTES])
        encoding = declared[1].decode("ascii") if declared else "utf-8"
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode(encoding)
    return text.replace("\0", "\ufffd")


def has_type(item: Item, *names: str) -> bool:
    """Return whether an item has one of these types, with or without the vocabulary's address."""
    types = item.get("@type")
    return any(str(each).rpartition("/")[2] in names for each in (types if isinstance(types, list) else [types]))


def values(item: Item, name: str) -> list[Any]:
    """Return all values of a property."""
    value = item.get(name)
    return value if isinstance(value, list) else [] if value is None else [value]


def text_of(value: Any) -> str:
    """Return the first text in a value; an item stands for its name, its address or its id."""
    if isinstance(value, list):
        return next(filter(None, map(text_of, value)), "")
    if isinstance(value, Mapping):
        return next(filter(None, (text_of(value.get(name)) for name in ("@value", "name", "url", "@id"))), "")
    return "" if value is None else str(value).strip()


def walk(value: Any) -> Iterator[Item]:
    """Yield all items in a value, an item before those inside it."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            yield one
            waiting += reversed(list(one.values()))
        elif isinstance(one, list):
            waiting += reversed(one)


def _attribute(tree: LexborHTMLParser, selector: str, name: str) -> str | None:
    node = tree.css_first(selector)
    return (node.attributes.get(name) or "").strip() or None if node else None


def _read_json_ld(tree: LexborHTMLParser, problems: list[str]) -> Iterator[Item]:
    for node in tree.css('script[type="application/ld+json"]'):
        text = (node.text() or "").strip().removeprefix("<!--").removesuffix("-->").strip().rstrip(";")
        try:
            value = json.loads(text, strict=False) if text else []
        except (ValueError, RecursionError) as error:
            problems.append(f"JSON-LD cannot be read ({error})")
            continue
        if _is_deep(value):
            problems.append("JSON-LD cannot be read (it is nested too deep)")
            continue
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                graph = one.get("@graph")
                yield from (each for each in graph if isinstance(each, dict)) if isinstance(graph, list) else [one]


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return bool(level)


def _read_microdata(tree: LexborHTMLParser, address: str) -> list[Item]:
    """Return the outermost items in microdata, those of nested items as properties (HTML, section 5.2).

    The outermost may be the element `html`, as on Stack Exchange. A property outside all items is one, too.
    """
    top: list[dict[str, Any]] = []
    if tree.root is None or tree.css_first("[itemscope]") is None:
        return []
    waiting: list[tuple[LexborNode, dict[str, Any] | None, int]] = [(tree.root, None, 0)]
    for _ in range(MAX_NODES):
        if not waiting:
            break
        node, parent, depth = waiting.pop()
        attributes = node.attributes
        item: dict[str, Any] | None = None
        if "itemscope" in attributes:
            item = {"@type": (attributes.get("itemtype") or "").split() or [""]}
            if attributes.get("itemid"):
                item["@id"] = urljoin(address, attributes["itemid"] or "")
        names = (attributes.get("itemprop") or "").split()
        if parent is None or not names:
            if item is not None:
                top.append(item)
        else:
            for name in names:
                value = item if item is not None else _property_value(node, name, address)
                parent.setdefault(name, []).append(value)
        inside = item if item is not None else parent
        depth += item is not None
        if depth < MAX_DEPTH:
            waiting += reversed([(child, inside, depth) for child in node.iter(include_text=False)])
    return list(top)


def _property_value(node: LexborNode, name: str, address: str) -> str:
    attribute = "content" if "content" in node.attributes else VALUE_ATTRIBUTES.get(str(node.tag), "")
    value = node.attributes.get(attribute)
    if name == "upvoteCount" and value is None:
        value = node.attributes.get("data-value")
    if value is not None:
        return urljoin(address, value.strip()) if attribute in ADDRESS_ATTRIBUTES else value.strip()
    if name in MARKUP_PROPERTIES:
        return (node.inner_html or "").strip()
    return " ".join((node.text(separator="") or "").split())
