"""Highlights words and formulas in a text."""

import re
from collections.abc import Callable, Collection

from markupsafe import Markup, escape

from askalike.text.clean import FORMULA
from askalike.text.words import any_word_pattern

WORD_PATTERN = re.compile(r"\w+")
MARKED, DIFFERENT, PLAIN = Markup("<mark>{}</mark>"), Markup('<em class="only">{}</em>'), Markup("{}")
MATH = Markup('<span class="math">{}</span>')
"""A formula with its delimiters, which the page's script renders."""


def highlight(text: str, words: Collection[str]) -> Markup:
    """Return the text, escaped, with these words in `<mark>`, except inside formulas."""
    return wrap_matches(text, any_word_pattern(words), lambda _: MARKED)


def highlight_differences(text: str, other_words: Collection[str], words: Collection[str] = ()) -> Markup:
    """Return the text, escaped: `words` in `<mark>`, and the words that `other_words` lacks in `<em class="only">`."""

    def choose_template(word: str) -> Markup:
        folded = word.casefold()
        return MARKED if folded in words else PLAIN if folded in other_words else DIFFERENT

    return wrap_matches(text, WORD_PATTERN, choose_template)


def extract_words(*texts: str) -> frozenset[str]:
    """Return the words of texts, case-folded."""
    return frozenset(w.casefold() for text in texts for w in WORD_PATTERN.findall(text))


def wrap_matches(text: str, pattern: re.Pattern[str], choose_template: Callable[[str], Markup]) -> Markup:
    """Return the text, escaped, with formulas in MATH and each other match of the pattern in its template."""
    parts, end = [], 0
    for formula in FORMULA.finditer(text):
        parts += [_wrap_plain(text[end : formula.start()], pattern, choose_template), MATH.format(formula[0])]
        end = formula.end()
    return Markup("").join([*parts, _wrap_plain(text[end:], pattern, choose_template)])


def _wrap_plain(text: str, pattern: re.Pattern[str], choose_template: Callable[[str], Markup]) -> Markup:
    parts, end = [], 0
    for match in pattern.finditer(text):
        parts += [escape(text[end : match.start()]), choose_template(match[0]).format(match[0])]
        end = match.end()
    return Markup("").join([*parts, escape(text[end:])])
