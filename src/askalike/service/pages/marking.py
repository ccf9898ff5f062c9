"""Words that matter, marked in a text."""

import re
from collections.abc import Collection, Iterable
from functools import cache

from markupsafe import Markup, escape

from askalike.text.stop_words import stop_words
from askalike.text.words import cjk_pattern
from askalike.types import Explanation

STOP_WORD_LANGUAGES = ("en", "de", "es", "fr", "ru")
WORD = re.compile(r"\w+")


def matched_words(explanation: Explanation | None, language: str | None = None) -> frozenset[str]:
    """The words of a document that matched, as they stand in it, without regard to case.

    Function words are left out where others matched: of the document's language, or where it is not known, of all.
    """
    if explanation is None:
        return frozenset()
    words = frozenset(explanation.text[s.field][s.start : s.end].casefold() for s in explanation.spans)
    return drop_function_words(words, language)


def drop_function_words(words: frozenset[str], language: str | None = None) -> frozenset[str]:
    """The words without function words; all of them where there are no others."""
    return words - _function_words(language) or words


def highlight(text: str, words: Collection[str]) -> Markup:
    """The text, escaped, with these words in `<mark>`."""
    forms = sorted((w for w in words if w), key=len, reverse=True)
    if not forms:
        return escape(text)
    pattern = re.compile("|".join(map(_whole_word_pattern, forms)), re.IGNORECASE)
    return _wrap_spans(text, (m.span() for m in pattern.finditer(text)), Markup("<mark>{}</mark>"))


def highlight_differences(text: str, other_words: Collection[str], words: Collection[str] = ()) -> Markup:
    """The text, escaped: `words` in `<mark>`, and those that the other text has not in `<em class="only">`."""
    parts, end = [], 0
    for found in WORD.finditer(text):
        word = found[0].casefold()
        parts.append(escape(text[end : found.start()]))
        shape = "<mark>{}</mark>" if word in words else "{}" if word in other_words else '<em class="only">{}</em>'
        parts.append(Markup(shape).format(found[0]))
        end = found.end()
    return Markup("").join([*parts, escape(text[end:])])


def extract_words(*texts: str) -> frozenset[str]:
    """The words of texts, without regard to case."""
    return frozenset(w.casefold() for text in texts for w in WORD.findall(text))


@cache
def _function_words(language: str | None) -> frozenset[str]:
    return frozenset().union(*map(stop_words, [language] if language else STOP_WORD_LANGUAGES))


def _whole_word_pattern(form: str) -> str:
    """A pattern for the word as a whole; in scripts without white space, wherever it stands."""
    plain = re.escape(form)
    return plain if cjk_pattern().search(form) else rf"(?<!\w){plain}(?!\w)"


def _wrap_spans(text: str, spans: Iterable[tuple[int, int]], template: Markup) -> Markup:
    parts, end = [], 0
    for start, stop in spans:
        parts += [escape(text[end:start]), template.format(text[start:stop])]
        end = stop
    return Markup("").join([*parts, escape(text[end:])])
