"""Words that matter, marked in a text."""

import re
from collections.abc import Collection, Iterable

from markupsafe import Markup, escape

from askalike.text.words import cjk_run
from askalike.types import Explanation

WORD = re.compile(r"\w+")


def matched(reason: Explanation | None) -> frozenset[str]:
    """The words of a document that matched, as they stand in it, without regard to case."""
    if reason is None:
        return frozenset()
    return frozenset(reason.text[s.field][s.start : s.end].casefold() for s in reason.spans)


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
