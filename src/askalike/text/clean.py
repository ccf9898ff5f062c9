"""Markup to plain text: tags, entities, links, code, invisible and forbidden characters; a question's plain fields."""

import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from askalike.core.errors import InputError
from askalike.core.records import Answer, Markup, Question

CodeRule = Literal["drop", "keep"]
"""Whether text in `<pre>` and `<code>` is kept."""
LinkRule = Literal["token", "anchors", "keep"]
"""Whether URLs become LINK_TOKEN, and in HTML also links with their text (anchors)."""
LINK_TOKEN = "xxurl"
"""The token that replaces every URL. No tokenizer splits it and no Snowball stemmer changes it."""

MAX_CACHED_TEXTS, MAX_CACHED_LENGTH = 8_192, 4_000
"""Number of cached plain texts, and the most characters of each: searches read the same questions again and again."""
_BLOCKS = (  # the usual ones first
    "p|li|ul|ol|br|blockquote|hr|h[1-6]|div|address|article|aside|body|button|caption|center|col|colgroup|dd|"
    "details|dialog|dir|dl|dt|fieldset|figcaption|figure|footer|form|head|header|hgroup|html|main|menu|nav|option|"
    "section|select|summary|table|tbody|td|textarea|tfoot|th|thead|title|tr"
)
_COMMON_TAGS = "a|b|blockquote|code|div|em|h[1-6]|i|li|ol|p|pre|span|strong|table|td|u|ul"
_COMMON_ENTITIES = (
    "amp|apos|gt|hellip|lt|[lr][ds]quo|[mn]dash|nbsp|quot|szlig|[aceinouy](?:acute|cedil|circ|grave|tilde|uml)|"
    r"#\d{2,7}|#x[\da-f]{2,6}"
)
_LOOKS_LIKE_HTML = re.compile(
    f"</(?:{_COMMON_TAGS})>|<br */?>|<(?:a|div|img|p|span|table|td) +[a-z-]+=|&(?:{_COMMON_ENTITIES});", re.IGNORECASE
)
_TAG_END = r"""(?=[\s/>])[^<>"']*(?:(?:"[^"]*"|'[^']*')[^<>"']*)*>"""
_BLOCK = re.compile(rf"</?(?:{_BLOCKS}){_TAG_END}", re.I)
_INLINE = re.compile(rf"</?(?:a|b|code|del|em|i|img|s|span|strike|strong|su[bp]|u){_TAG_END}", re.I)
_PRE = re.compile(rf"</?pre{_TAG_END}", re.I)
_PRE_START, _PRE_END = re.compile(r"<pre(?=[\s>])[^<>]*>", re.I), re.compile(r"</pre\s*>", re.I)
_ANCHOR = re.compile(r"<a(\s[^<>]*)>(?:(?!</?a\b).)*</a\s*>", re.I | re.DOTALL)
_CODE_TAG = re.compile(r"</?[a-z][^<>]*>", re.I)
_CODE = re.compile(r"<(/?)(?:pre|code)(?=[\s/>])", re.I)
_TAG = re.compile(r"<(?:!--|(/?)([a-z][a-z0-9-]*)(?=[\s/>])[^<>]*?(/?)>)")
_RAW_ELEMENTS = frozenset(("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp"))
_NEVER_EMPTY = frozenset((*_BLOCKS.split("|"), "h1", "h2", "h3", "h4", "h5", "h6", "pre"))
"""Elements that `/>` does not end, as it does those of drawings and formulas."""
_SHALLOW_ELEMENTS = frozenset((
    "area", "base", "br", "col", "colgroup", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta", "p",
    "param", "source", "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr",
))  # fmt: skip

SURROGATE = re.compile("[\ud800-\udfff]")
_FORBIDDEN = re.compile("[\0\ud800-\udfff]")
INVISIBLE = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]")
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")
_LONG_SIGNS = re.compile("[\u2057\u2152\u2167\u2177\u247d-\u2487\u2a0c\u321d\u321e\u3300-\u33d8\ufdf2-\ufdfc]")
"""Signs that stand for up to 18 characters. All those of which NFKC makes at least 4 are among them."""
_MAX_NON_STARTERS = 30
"""The most combining characters after another one, as in Unicode's stream-safe text format (UAX #15, section 13)."""
_MAYBE_TOO_MANY = re.compile(r"[\W\uff9e\uff9f]{14,}")
"""A run that may exceed it: a combining character decomposes to at most two, and the one before them ends in three."""
_URL_PART = r"""[^\s<>"()\u3000-\u9fff\uac00-\ud7a3]"""  # Chinese, Japanese and Korean text may follow without a space
LINK_START = r"(?<![a-z0-9])(?:https?://|ftp://|www\.)"
LINK_REST = rf"(?:{_URL_PART}|\({_URL_PART}*\))+(?<![.,;:!?'*\]}}])"
_URL = re.compile(f"(?i:{LINK_START}){LINK_REST}")  # re.I for all of it would expand a range of 27,000 characters


def plain_text(text: str, markup: Markup, *, code: CodeRule = "drop", links: LinkRule = "token") -> str:
    """Return the plain text of `text`, NFKC-normalised, which is tokenised and displayed, and to which offsets refer.

    HTML tags are removed (block elements become line breaks) and entities are resolved; `<script>` and `<style>` are
    dropped, and `<pre>` and `<code>` too unless `code` is "keep". URLs become LINK_TOKEN unless `links` is "keep"; with
    "anchors", `<a href="…">text</a>` becomes it, too.
    Control characters become spaces, invisible ones (soft hyphens, zero width) are removed, a lone surrogate becomes
    U+FFFD. White space is collapsed to single spaces and single line breaks (in HTML only those of block elements).
    """
    if markup == "text" or (code == "drop" and not _CODE.search(text)):
        code = "keep"  # the same text, cached once
    extract = _extract_words if len(text) <= MAX_CACHED_LENGTH else _extract_words.__wrapped__
    text = extract(text, markup, code, links == "anchors")
    if links == "keep" or not ("://" in text or "www." in text):
        return text
    return _collapse_lines(_URL.sub(f" {LINK_TOKEN} ", text))


def readable_text(text: str, markup: Markup) -> str:
    """Return the displayed plain text, with code and links, whether these are indexed or not."""
    return plain_text(text, markup, code="keep", links="keep")


class TextBlock(NamedTuple):
    """A part of a text: prose, or code with its lines as they are."""

    text: str
    is_code: bool


def readable_blocks(text: str, markup: Markup) -> list[TextBlock]:
    """Return the displayed plain text in parts; the code of `<pre>` keeps its line breaks and indentation."""
    if markup == "text":
        return [TextBlock(readable_text(text, markup), False)]
    blocks = []
    for part, is_code in _split_at_code(text):
        content = _CODE_TAG.sub("", part) if is_code else readable_text(part, markup)
        content = html.unescape(content).strip("\n") if is_code else content
        if content.strip():
            blocks.append(TextBlock(content, is_code))
    return blocks


def _split_at_code(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of HTML, each with whether it is the content of a `<pre>`; one without an end is none."""
    at = 0
    while (start := _PRE_START.search(text, at)) and (end := _PRE_END.search(text, start.end())):
        yield text[at : start.start()], False
        yield text[start.end() : end.start()], True
        at = end.end()
    yield text[at:], False


@lru_cache(MAX_CACHED_TEXTS)
def _extract_words(text: str, markup: Markup, code: CodeRule, anchors: bool) -> str:
    """Return the plain text with links unchanged; with anchors, links with their text are a URL."""
    if not text.isascii():
        text = SURROGATE.sub("\ufffd", text)
    if markup == "html":
        text = _strip_tags(_ANCHOR.sub(_drop_anchor, text) if anchors else text, code)
    if not text.isascii():
        text = normalise("NFKC", INVISIBLE.sub("", text))
    if text.isprintable():
        return collapse_spaces(text)
    return _collapse_lines(_CONTROL.sub(" ", text))


def _drop_anchor(match: re.Match[str]) -> str:
    return " https://link " if "href" in match[1].lower() else match[0]


def _strip_tags(text: str, code: CodeRule) -> str:
    """Return the text of HTML.

    Usual tags are removed before parsing: most bodies then need no parser, and none is deeply nested.
    """
    text = text.replace("\n", " ").replace("\0", " ")
    if "<" in text:
        text = _BLOCK.sub("\n", text)
        text = _CODE.sub(r" <\1code", text) if code == "drop" else _INLINE.sub("", _PRE.sub("\n", text))
    if "<" not in text and "&#" not in text:
        return html.unescape(text) if "&" in text else text
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(text)
    tree.strip_tags(["script", "style", "code"] if code == "drop" else ["script", "style"], recursive=True)
    return tree.text()


def is_deep(text: str, max_steps: int) -> bool:
    """Return whether the elements of HTML have more open ones around them, all added up: a parser looks through these.

    Elements that are empty or need no end do not count, nor does what scripts and comments hold.
    """
    steps = depth = at = 0
    lower = text.lower()
    while steps <= max_steps and at >= 0 and (match := _TAG.search(lower, at)):
        name = match[2]
        at = match.end()
        if not name:
            at = lower.find("-->", at)
        elif name in _RAW_ELEMENTS and not match[1]:
            at = lower.find(f"</{name}", at)
        elif name not in _SHALLOW_ELEMENTS and (not match[3] or name in _NEVER_EMPTY):
            depth = max(0, depth - 1) if match[1] else depth + 1
        steps += depth
    return steps > max_steps


def looks_like_html(text: str) -> bool:
    """Return whether a text has a closing tag, a line break, an attribute or an entity of HTML."""
    return _LOOKS_LIKE_HTML.search(text) is not None


def guess_markup(text: str) -> Markup:
    """Return the markup of a text whose source does not say it."""
    return "html" if looks_like_html(text) else "text"


def normalise(form: Literal["NFC", "NFKC"], text: str) -> str:
    """Return a text in a normal form of Unicode, in linear time.

    Normalisation sorts runs of combining characters, in quadratic time and with Python's lock held. Runs are therefore
    cut at 30, as in stream-safe text; no orthography has more than about 10.
    """
    return unicodedata.normalize(form, _MAYBE_TOO_MANY.sub(_cut_runs, text))


def normalised_length(text: str) -> int:
    """Return the length of a text with each of the signs of which NFKC makes 4 to 18 characters counted as these."""
    signs = () if text.isascii() else _LONG_SIGNS.findall(text)
    return len(text) - len(signs) + sum(len(unicodedata.normalize("NFKC", sign)) for sign in signs)


def _cut_runs(match: re.Match[str]) -> str:
    kept = []
    n_before = _count_non_starters(match.string[max(match.start() - 1, 0) : match.start()])[0]
    for character in match[0]:
        n, continues_run = _count_non_starters(character)
        n_before = n_before + n if continues_run else n
        if n_before <= _MAX_NON_STARTERS:
            kept.append(character)
    return "".join(kept)


@lru_cache(MAX_CACHED_TEXTS)
def _count_non_starters(character: str) -> tuple[int, bool]:
    """Return how many combining characters end the decomposition of a character, and whether it has no others."""
    decomposed = unicodedata.normalize("NFKD", character)
    n = next((n for n, c in enumerate(reversed(decomposed)) if not unicodedata.combining(c)), len(decomposed))
    return n, n == len(decomposed)


def _collapse_lines(text: str) -> str:
    return "\n".join(filter(None, map(collapse_spaces, text.split("\n"))))


def cut_between(text: str, opening: str, closing: str, replace: Callable[[str], str] = lambda inner: "") -> str:
    """Return the text without what is between the signs, and without these; an opening one without an end stays.

    A pattern such as `<!--.*?-->` would look for an end after each beginning, which takes the square of the time.
    """
    kept: list[str] = []
    at = 0
    while (start := text.find(opening, at)) >= 0:
        if (end := text.find(closing, start + len(opening))) < 0:
            break
        kept += text[at:start], replace(text[start + len(opening) : end])
        at = end + len(closing)
    return "".join((*kept, text[at:]))


def collapse_spaces(text: str) -> str:
    """Return the text on one line, with white space collapsed to single spaces."""
    if "  " not in text and text.isprintable():  # its only white space is spaces
        return text.strip()
    return " ".join(text.split())


def truncate(text: str, max_length: int) -> str:
    """Return a text of at most `max_length` characters, or its first words and an ellipsis."""
    return text if len(text) <= max_length else f"{text[:max_length].rsplit(' ', 1)[0]} …"


def replace_forbidden(value: Any) -> Any:
    """Return a JSON value with every NUL and lone surrogate replaced by U+FFFD, as these cannot be stored."""
    if isinstance(value, str):
        return _FORBIDDEN.sub("\ufffd", value)
    if isinstance(value, list):
        return [replace_forbidden(v) for v in value]
    return {replace_forbidden(k): replace_forbidden(v) for k, v in value.items()} if isinstance(value, dict) else value


def require_text(text: object) -> None:
    """Raise InputError for a value that is neither a question nor an answer, such as a string."""
    if not isinstance(text, Question | Answer):
        raise InputError(f"{text!r:.60}: expected a Question or an Answer; for strings call askalike.encode_texts")


def plain_fields(text: Question | Answer, fields: str, to_plain: Callable[[str, Markup], str]) -> list[str]:
    """Return the plain texts of a question's chosen fields, the title first, or of an answer's body.

    Raises InputError for any other value.
    """
    require_text(text)
    if isinstance(text, Answer):
        return [to_plain(text.body, text.markup)]
    title = [to_plain(text.title, "text")] if fields != "body" else []
    return [*title, to_plain(text.body, text.markup)] if fields != "title" and text.body else title
