"""Words marked in a text."""

import re
from collections.abc import Callable, Collection

from markupsafe import Markup, escape

from askalike.text.words import cjk_pattern

WORD_PATTERN = re.compile(r"\w+")
MARKED, DIFFERENT, PLAIN = Markup("<mark>{}</mark>"), Markup('<em class="only">{}</em>'), Markup("{}")


def highlight(text: str, words: Collection[str]) -> Markup:
    """Return the text, escaped, with these words in `<mark>`."""
    forms = sorted((w for w in words if w), key=len, reverse=True)
    if not forms:
        return escape(text)
    pattern = re.compile("|".join(map(_whole_word_pattern, forms)), re.IGNORECASE)
    return wrap_matches(text, pattern, lambda _: MARKED)


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
    """Return the text, escaped, with each match of the pattern in the template that is chosen for it."""
    parts, end = [], 0
    for match in pattern.finditer(text):
        parts += [escape(text[end : match.start()]), choose_template(match[0]).format(match[0])]
        end = match.end()
    return Markup("").join([*parts, escape(text[end:])])


def _whole_word_pattern(form: str) -> str:
    """Return a pattern for the word as a whole; in scripts without white space, wherever it stands."""
    pattern = re.escape(form)
    return pattern if cjk_pattern().search(form) else rf"(?<!\w){pattern}(?!\w)"
