"""Duplicate banners, such as "Possible Duplicate: …", at the beginning of a body: they leak labels."""

import re

from askalike.core.records import Markup
from askalike.text.clean import plain_text

_BANNER_PHRASES = (
    r"possible duplicates?(?=\s*(?::|of\b|$))",
    r"this question (?:already has|may already have) (?:an answer|answers)",
    r"возможный дубликат",
    r"на этот вопрос уже (?:есть|дан|даны) ответ",
    r"posible duplicado",
    r"esta pregunta ya tiene (?:una respuesta|respuestas)",
    r"possível duplicata",
    r"esta pergunta já tem (?:uma resposta|respostas)",
)
_BANNER_HINTS = (
    "possible dup", "already ha", "дубликат", "этот вопрос уже", "duplicado", "duplicata", "ya tiene", "já tem",
)  # fmt: skip
_HEAD_LENGTH = 600
_BANNER_PHRASE = re.compile(rf"\s*(?:{'|'.join(_BANNER_PHRASES)})(?:\s+(?:of|here|здесь|de|aquí|aqui))?\s*:?\s*", re.I)
_FIRST_ELEMENT = re.compile(r"\s*<(blockquote|div|aside|p)\b[^<>]*>", re.I)
_TAGS_AND_LINKS = re.compile(r"<a\b[^<>]*>(?:(?!</?a\b).)*</a\s*>|<[^<>]*>", re.I | re.DOTALL)
_LIST = re.compile(r"\s*<([uo])l\b[^<>]*>.*?</\1l\s*>\s*", re.I | re.DOTALL)
_PARAGRAPH = re.compile(r"\s*(\S[^\n]*(?:\n[^\S\n]*\S[^\n]*){0,9})\n[^\S\n]*\n\s*")
_QUOTE_MARKS = re.compile(r"[>*_]")
_MAX_TITLES_LENGTH = 300
"""Maximum number of characters in a boxed banner besides its phrase and links: a few titles, but not a question."""
_MAX_BANNER_LENGTH = 10_000
"""Maximum number of characters of a banner including tags."""


def strip_banner(body: str, markup: Markup) -> tuple[str, bool]:
    """Return the body without the banners at its beginning, and whether there were any.

    Stack Exchange inserted "Possible Duplicate: <title of the original>" or "This question already has an answer here"
    into duplicates, which leaks the label into evaluations of duplicate retrieval. In HTML a banner is a body's first
    blockquote, div or aside that begins with such a phrase and contains little else, or a first paragraph with only the
    phrase and links, and the list after it; in plain text a first paragraph of at most ten lines, ended by a blank
    line. Consecutive banners are all removed. A body that has the words anywhere else is returned unchanged.
    """
    head = body[:_HEAD_LENGTH].lower()
    if not any(hint in head for hint in _BANNER_HINTS):
        return body, False
    rest = body
    while end := _find_html_banner_end(rest) if markup == "html" else _find_text_banner_end(rest):
        rest = rest[end:].lstrip()
    return rest, rest is not body


def words_after_banner(body: str, markup: Markup) -> str:
    """Return the words that follow the banner at the beginning of a body; empty without one.

    Unlike `strip_banner`, this does not need to know where the banner ends: its title and the body may be on one line.
    """
    head = body[:_MAX_BANNER_LENGTH]
    if not any(hint in head[:_HEAD_LENGTH].lower() for hint in _BANNER_HINTS):
        return ""
    words = " ".join(_QUOTE_MARKS.sub(" ", plain_text(head, markup)).split())
    phrase = _BANNER_PHRASE.match(words)
    return words[phrase.end() :] if phrase else ""


def _find_html_banner_end(body: str) -> int:
    """Return the end of the banner at the beginning of an HTML body; 0 without one."""
    opening = _FIRST_ELEMENT.match(body)
    if not opening:
        return 0
    tag = opening[1].lower()
    end = _find_element_end(body[:_MAX_BANNER_LENGTH], tag, opening.end())
    words = " ".join(_TAGS_AND_LINKS.sub(" ", body[opening.end() : end]).split())
    phrase = _BANNER_PHRASE.match(words)
    if not phrase or len(words) - phrase.end() > (0 if tag == "p" else _MAX_TITLES_LENGTH):
        return 0
    following = _LIST.match(body, end) if tag == "p" else None
    return following.end() if following else end


def _find_element_end(body: str, tag: str, start: int) -> int:
    """Return the end of the element whose content begins at `start`, skipping nested ones of its tag; 0 if unclosed."""
    depth = 1
    for match in re.compile(rf"<(/?){tag}\b[^<>]*>", re.I).finditer(body, start):
        depth += -1 if match[1] else 1
        if depth == 0:
            return match.end()
    return 0


def _find_text_banner_end(body: str) -> int:
    """Return the end of the banner at the beginning of a plain-text body, maybe in Markdown's `> **…**`; 0 if none."""
    paragraph = _PARAGRAPH.match(body)
    if not paragraph:
        return 0
    words = " ".join(_QUOTE_MARKS.sub(" ", paragraph[1]).split())
    phrase = _BANNER_PHRASE.match(words)
    return paragraph.end() if phrase and len(words) - phrase.end() <= _MAX_TITLES_LENGTH else 0
