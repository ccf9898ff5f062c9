"""Texts and numbers of an archive as a page shows them: HTML is cleaned, whatever it holds."""

import re

import nh3
from markupsafe import Markup, escape
from selectolax.lexbor import LexborHTMLParser

from askalike.types import Markup as Kind
from askalike.types import Question

ALLOWED_TAGS = {
    "a", "abbr", "b", "blockquote", "br", "code", "dd", "del", "dl", "dt", "em", "hr", "i", "ins", "kbd", "li", "ol",
    "p", "pre", "q", "s", "samp", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "u", "ul", "var",
}  # fmt: skip
ALLOWED_ATTRIBUTES = {"a": {"href", "title"}, "abbr": {"title"}, "ol": {"start"}, "th": {"colspan"}, "td": {"colspan"}}
URL_SCHEMES = {"http", "https", "mailto"}
LINK_REL = "nofollow noopener noreferrer ugc"
URL_PATTERN = re.compile(r"""https?://[^\s<>"']+[^\s<>"'.,;:!?)\]]""")
WIDE_TAG_PATTERN = re.compile("<(pre|table)>")
"""What may be wider than a page scrolls by itself, by keyboard, too."""
LANGUAGE_PATTERN = re.compile("[a-z]{2,3}")
HEADING_PATTERN = re.compile(r"<(/?)h[1-6](?=[\s>])[^>]*>", re.IGNORECASE)
IMAGE_PATTERN = re.compile(r"<img(?=[\s/>])", re.IGNORECASE)
ICONS = {
    "check": "M4 12.5l5 5L20 6.5", "cross": "M6 6l12 12M18 6L6 18", "skip": "M5 5l7 7-7 7M13 5l7 7-7 7",
    "undo": "M9 5L4 10l5 5M4 10h10a6 6 0 010 12h-3", "link": "M10 14L20 4M14 4h6v6M19 14v6H4V5h6",
}  # fmt: skip


def render_body(text: str, markup: Kind) -> Markup:
    """A body for a page. Of HTML what formats text is left, and links to the web; an image becomes a link to it."""
    if markup == "text":
        return _render_paragraphs(text)
    text = HEADING_PATTERN.sub(r"<\1p>", text)
    cleaned = nh3.clean(
        _replace_images(text), ALLOWED_TAGS, attributes=ALLOWED_ATTRIBUTES, url_schemes=URL_SCHEMES, link_rel=LINK_REL
    )
    return Markup(WIDE_TAG_PATTERN.sub(r'<\1 tabindex="0">', cleaned))


def display_title(question: Question) -> str:
    """The question's title; where it has none, its id."""
    return question.title.strip() or question.id


def lang_attribute(question: Question) -> Markup:
    """The attribute that tells browsers a text's language, where it is known to be one."""
    known = LANGUAGE_PATTERN.fullmatch(question.language or "")
    return Markup(' lang="{}"').format(known[0]) if known else Markup("")


def format_percent(share: float) -> str:
    """A share as people read it."""
    return "under 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def format_day(date: str | None) -> str:
    """The day of an ISO date."""
    return (date or "")[:10]


def render_icon(name: str) -> Markup:
    """A small drawing, which says nothing that the text beside it does not."""
    return Markup('<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="{}"/></svg>').format(ICONS[name])


def _render_paragraphs(text: str) -> Markup:
    found = [p for p in re.split(r"\n\s*\n", text.strip()) if p]
    return Markup("").join(Markup("<p>{}</p>").format(_render_lines(p)) for p in found)


def _render_lines(paragraph: str) -> Markup:
    return Markup("<br>").join(_linkify(line) for line in paragraph.split("\n"))


def _linkify(line: str) -> Markup:
    parts, end = [], 0
    for found in URL_PATTERN.finditer(line):
        link = Markup('<a href="{0}" rel="{1}">{0}</a>').format(found[0], LINK_REL)
        parts += [escape(line[end : found.start()]), link]
        end = found.end()
    return Markup("").join([*parts, escape(line[end:])])


def _replace_images(text: str) -> str:
    """Images are on other hosts, which are not to learn who reads here."""
    if not IMAGE_PATTERN.search(text):
        return text
    tree = LexborHTMLParser(text)
    for image in tree.css("img"):
        name = escape(image.attributes.get("alt") or "image")
        link = f'<a href="{escape(image.attributes.get("src") or "")}">[{name}]</a>'
        if node := LexborHTMLParser(link).css_first("a"):
            image.replace_with(node)
    return (tree.body and tree.body.inner_html) or ""
