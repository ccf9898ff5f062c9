"""Words that matter, marked in a text."""

import re
from collections.abc import Collection, Iterable
from functools import cache

from markupsafe import Markup, escape

from askalike.text.stop_words import stop_words
from askalike.text.words import cjk_run
from askalike.types import Explanation

WITH_STOP_WORDS = ("en", "de", "es", "fr", "ru")
WORD = re.compile(r"\w+")


def matched(reason: Explanation | None, language: str | None = None) -> frozenset[str]:
    """The words of a document that matched, as they stand in it, without regard to case.

    Function words are left out where others matched: of the document's language, or where it is not known, of all.
    """
    if reason is None:
        return frozenset()
    words = frozenset(reason.text[s.field][s.start : s.end].casefold() for s in reason.spans)
    return telling(words, language)


def telling(words: frozenset[str], language: str | None = None) -> frozenset[str]:
    """The words without function words; all of them where there are no others."""
    return words - _function_words(language) or words


def marked(text: str, words: Collection[str]) -> Markup:
    """The text, escaped, with these words in `<mark>`."""
    forms = sorted((w for w in words if w), key=len, reverse=True)
    if not forms:
        return escape(text)
    pattern = re.compile("|".join(map(_whole, forms)), re.IGNORECASE)
    return _wrapped(text, (m.span() for m in pattern.finditer(text)), Markup("<mark>{}</mark>"))


def only_here(text: str, others: Collection[str], words: Collection[str] = ()) -> Markup:
    """The text, escaped: `words` in `<mark>`, and those that the other text has not in `<em class="only">`."""
    parts, end = [], 0
    for found in WORD.finditer(text):
        word = found[0].casefold()
        parts.append(escape(text[end : found.start()]))
        shape = "<mark>{}</mark>" if word in words else "{}" if word in others else '<em class="only">{}</em>'
        parts.append(Markup(shape).format(found[0]))
        end = found.end()
    return Markup("").join([*parts, escape(text[end:])])


def words_of(*texts: str) -> frozenset[str]:
    """The words of texts, without regard to case."""
    return frozenset(w.casefold() for text in texts for w in WORD.findall(text))


@cache
def _function_words(language: str | None) -> frozenset[str]:
    return frozenset().union(*map(stop_words, [language] if language else WITH_STOP_WORDS))


def _whole(form: str) -> str:
    """A pattern for the word as a whole; in scripts without white space, wherever it stands."""
    plain = re.escape(form)
    return plain if cjk_run().search(form) else rf"(?<!\w){plain}(?!\w)"


def _wrapped(text: str, spans: Iterable[tuple[int, int]], shape: Markup) -> Markup:
    parts, end = [], 0
    for start, stop in spans:
        parts += [escape(text[end:start]), shape.format(text[start:stop])]
        end = stop
    return Markup("").join([*parts, escape(text[end:])])
