"""Highlights words and formulas in a text, and the differences of two texts."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from difflib import SequenceMatcher

from markupsafe import Markup, escape

from askalike.text.formulas import find_formulas
from askalike.text.words import any_word_pattern

WORD_PATTERN = re.compile(r"\w+")
MARKED, DIFFERENT, PLAIN = Markup("<mark>{}</mark>"), Markup('<em class="only">{}</em>'), Markup("{}")
MATH = Markup('<span class="math">{}</span>')
"""A formula with its delimiters, which the page's script renders."""
TOKEN = re.compile(r"\s*\w+|\s*[^\w\s]|\s+")
MAX_TOKENS = 600
"""Longer passages that differ are shown whole, before and after."""
CONTEXT_LENGTH = 60
"""Number of characters shown around a change."""
DELETED, INSERTED, SAME = Markup("<del>{}</del>"), Markup("<ins>{}</ins>"), Markup("{}")


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
    parts, end, formulas = [], 0, find_formulas(text)
    for start, stop in formulas:
        parts += [text[end:start], MATH.format(text[start:stop])]
        end = stop
    parts.append(text[end:])
    escaped = [part.replace("\\$", "$") for part in parts[::2]] if formulas else parts  # as MathJax shows them
    parts[::2] = [_wrap_plain(part, pattern, choose_template) for part in escaped]
    return Markup("").join(parts)


def _wrap_plain(text: str, pattern: re.Pattern[str], choose_template: Callable[[str], Markup]) -> Markup:
    parts, end = [], 0
    for match in pattern.finditer(text):
        parts += [escape(text[end : match.start()]), choose_template(match[0]).format(match[0])]
        end = match.end()
    return Markup("").join([*parts, escape(text[end:])])


def render_difference(before: str, after: str) -> Markup:
    """Return both texts merged: removed words in `<del>`, added ones in `<ins>`, long equal passages shortened."""
    old, new = TOKEN.findall(before), TOKEN.findall(after)
    start, end = _equal_ends(old, new)
    old_end, new_end = len(old) - end, len(new) - end
    parts = [_shorten("".join(old[:start]), is_first=True)] if start else []
    parts += _render_middle(old[start:old_end], new[start:new_end])
    parts += [_shorten("".join(old[old_end:]), is_last=True)] if end else []
    return Markup("").join(parts)


def _equal_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return the number of tokens that both have in common at the start, and at the end."""
    shorter = min(len(old), len(new))
    start = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    rest = shorter - start
    return start, next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)


def _render_middle(old: Sequence[str], new: Sequence[str]) -> Iterator[Markup]:
    if max(len(old), len(new)) > MAX_TOKENS:
        operations = [("replace", 0, len(old), 0, len(new))]
    else:
        operations = list(SequenceMatcher(None, old, new, autojunk=False).get_opcodes())
    for operation, i, j, k, m in operations:
        if operation == "equal":
            yield _shorten("".join(old[i:j]))
            continue
        if i < j:
            yield DELETED.format("".join(old[i:j]))
        if k < m:
            yield INSERTED.format("".join(new[k:m]))


def _shorten(text: str, is_first: bool = False, is_last: bool = False) -> Markup:
    """Return a text that both have without its middle; the first without its start, the last without its end."""
    head = "" if is_first else text[:CONTEXT_LENGTH]
    tail = "" if is_last else text[-CONTEXT_LENGTH:]
    return SAME.format(text if len(text) <= len(head) + len(tail) + 3 else f"{head} … {tail}")
