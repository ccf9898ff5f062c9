"""Texts and numbers of an archive as a page shows them. All HTML is sanitised."""

import re

import nh3
from markupsafe import Markup, escape
from selectolax.lexbor import LexborHTMLParser

from askalike.core.types import Markup as Kind
from askalike.core.types import Question, SearchHit
from askalike.service.pages import languages
from askalike.service.pages.marking import wrap_matches
from askalike.text.passages import FORMULA, has_formula_sign

ALLOWED_TAGS = {
    "a", "abbr", "b", "blockquote", "br", "code", "dd", "del", "dl", "dt", "em", "hr", "i", "ins", "kbd", "li", "ol",
    "p", "pre", "q", "s", "samp", "span", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "u",
    "ul", "var",
}  # fmt: skip
ALLOWED_ATTRIBUTES = {"a": {"href", "title"}, "abbr": {"title"}, "ol": {"start"}, "th": {"colspan"}, "td": {"colspan"}}
URL_SCHEMES = {"http", "https", "mailto"}
LINK_REL = "nofollow noopener noreferrer ugc"
LINK = Markup(f'<a href="{{0}}" rel="{LINK_REL}">{{0}}</a>')
URL_OR_BREAK = re.compile(r"""https?://[^\s<>"']+[^\s<>"'.,;:!?)\]]|\n""")
INSIDE_FORMULA = {"br": " ", "em": "_", "i": "_", "strong": "__", "b": "__"}
"""The text that an element between the dollars of a formula stood for, before Markdown read the formula."""
WIDE_TAGS = {tag: {"tabindex": "0"} for tag in ("pre", "table")}
"""Elements that may be wider than a page; each scrolls on its own, by keyboard too."""
LANGUAGE_PATTERN = re.compile("[a-z]{2,3}")
HEADING_PATTERN = re.compile(r"<(/?)h[1-6](?=[\s>])[^<>]*>", re.IGNORECASE)
IMAGE_PATTERN = re.compile(r"<img(?=[\s/>])", re.IGNORECASE)
TAG_PATTERN = re.compile(r"(<(?!/?(?:br|em|i|strong|b)\b)[^<>]*>)", re.IGNORECASE)
INNER_TAG_PATTERN = re.compile(r"</?(br|em|i|strong|b)\b[^<>]*>", re.IGNORECASE)
CODE_TAG_PATTERN = re.compile(r"<(/?)(?:pre|code)\b", re.IGNORECASE)
ICONS = {
    "check": "M4 12.5l5 5L20 6.5", "cross": "M6 6l12 12M18 6L6 18", "skip": "M5 5l7 7-7 7M13 5l7 7-7 7",
    "undo": "M9 5L4 10l5 5M4 10h10a6 6 0 010 12h-3", "link": "M10 14L20 4M14 4h6v6M19 14v6H4V5h6",
}  # fmt: skip


def render_body(text: str, markup: Kind) -> Markup:
    """Return a body as HTML for a page, with only text formatting and links; an image becomes a link to it."""
    if markup == "text":
        paragraphs = [p for p in re.split(r"\n\s*\n", text.strip()) if p]
        return Markup("").join(Markup("<p>{}</p>").format(_render_lines(p)) for p in paragraphs)
    text = _wrap_formulas(_replace_images(HEADING_PATTERN.sub(r"<\1p>", text)))
    cleaned = nh3.clean(
        text,
        ALLOWED_TAGS,
        attributes=ALLOWED_ATTRIBUTES,
        url_schemes=URL_SCHEMES,
        link_rel=LINK_REL,
        allowed_classes={"span": {"math"}},
        set_tag_attribute_values=WIDE_TAGS,
    )
    return Markup(cleaned)  # an edit could turn text of an attribute into elements


def display_title(question: Question) -> str:
    """Return the question's title, or its id if it has none."""
    return question.title.strip() or question.id


def lang_attribute(question: Question) -> Markup:
    """Return the `lang` attribute for the question's language, empty if it is not known."""
    match = LANGUAGE_PATTERN.fullmatch(question.language or "")
    return Markup(' lang="{}"').format(match[0]) if match else Markup("")


def describe_solution(hit: SearchHit) -> str:
    """Return the release or day in which a problem was solved; "" if it is unknown."""
    question = hit.question
    if question.solved_in:
        return languages.translate("was solved in %(release)s") % {"release": question.solved_in}
    if hit.solution and question.closed_at:
        return languages.translate("was solved on %(day)s") % {"day": languages.format_day(question.closed_at)}
    return ""


def render_icon(name: str) -> Markup:
    """Return an icon. It only decorates the text next to it, so screen readers skip it."""
    return Markup('<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="{}"/></svg>').format(ICONS[name])


def _render_lines(paragraph: str) -> Markup:
    return wrap_matches(paragraph, URL_OR_BREAK, lambda match: Markup("<br>") if match == "\n" else LINK)


def _wrap_formulas(text: str) -> str:
    """Return HTML with its formulas in elements that the page's script renders; formulas in code stay as they are."""
    if not has_formula_sign(text):
        return text
    parts, in_code = TAG_PATTERN.split(text), False  # tags have odd indices
    for place, part in enumerate(parts):
        if place % 2 and (tag := CODE_TAG_PATTERN.match(part)):
            in_code = not tag[1]
        elif not place % 2 and not in_code:
            parts[place] = FORMULA.sub(_render_formula, part)
    return "".join(parts)


def _render_formula(formula: re.Match[str]) -> str:
    source = INNER_TAG_PATTERN.sub(lambda tag: INSIDE_FORMULA[tag[1].lower()], formula[0])
    return f'<span class="math">{source}</span>'


def _replace_images(text: str) -> str:
    """Replace images by links: other hosts must not learn who reads here."""
    if not IMAGE_PATTERN.search(text):
        return text
    tree = LexborHTMLParser(text)
    for image in tree.css("img"):
        name = escape(image.attributes.get("alt") or "image")
        link = f'<a href="{escape(image.attributes.get("src") or "")}">[{name}]</a>'
        if node := LexborHTMLParser(link).css_first("a"):
            image.replace_with(node)
    return (tree.body and tree.body.inner_html) or ""
