"""Highlights words and formulas in a text, and the differences of two texts."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from markupsafe import Markup, escape

from askalike.text.passages import find_formulas
from askalike.text.words import WORD, any_word_pattern

MARKED, DIFFERENT, PLAIN = Markup("<mark>{}</mark>"), Markup('<em class="only">{}</em>'), Markup("{}")
MATH = Markup('<span class="math">{}</span>')
"""A formula with its delimiters, which the page's script renders."""
TOKEN = re.compile(r"\s*\w+|\s*[^\w\s]|\s+")
MAX_TOKENS = 600
"""Longer passages that differ are shown whole, before and after."""
MIN_PASSAGE = 2
"""Number of content words from which two texts have a passage in common."""
MAX_DIFFERENCE = 6
"""Number of words up to which what stands between two common passages is marked as different."""
CONTEXT_LENGTH = 60
"""Number of characters shown around a change."""
DELETED, INSERTED, SAME = Markup("<del>{}</del>"), Markup("<ins>{}</ins>"), Markup("{}")


def highlight(text: str, words: Collection[str]) -> Markup:
    """Return the text, escaped, with these words in `<mark>`, except inside formulas."""
    return wrap_matches(text, any_word_pattern(words), lambda _: MARKED)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a text, from `start` to `end`, that another text has too (`is_same`), or has otherwise."""

    start: int
    end: int
    is_same: bool


def compare_texts(one: str, other: str, function_words: Collection[str] = ()) -> tuple[list[Stretch], list[Stretch]]:
    """Return of both texts the passages that they have in common, and what differs between two such passages.

    A passage has at least MIN_PASSAGE words besides the function words. What differs is marked only where it is at most
    MAX_DIFFERENCE words long.
    """
    words = [list(WORD.finditer(text))[:MAX_TOKENS] for text in (one, other)]
    folded = [[word[0].casefold() for word in text] for text in words]
    passages = [
        block
        for block in SequenceMatcher(None, folded[0], folded[1], autojunk=False).get_matching_blocks()
        if sum(word not in function_words for word in folded[0][block.a : block.a + block.size]) >= MIN_PASSAGE
    ]
    ends = [[(block[side], block[side] + block.size) for block in passages] for side in (0, 1)]
    near = [
        max(ends[side][n + 1][0] - ends[side][n][1] for side in (0, 1)) <= MAX_DIFFERENCE
        for n in range(len(passages) - 1)
    ]
    first, second = (_to_stretches(words[side], ends[side], near) for side in (0, 1))
    return first, second


def _to_stretches(
    words: Sequence[re.Match[str]], ends: Sequence[tuple[int, int]], near: Sequence[bool]
) -> list[Stretch]:
    """Return the stretches of a text. ends: of each passage, in words; near: whether what follows each is compared."""
    stretches = []
    for n, (start, end) in enumerate(ends):
        stretches.append(Stretch(words[start].start(), words[end - 1].end(), True))
        if n < len(near) and near[n] and end < ends[n + 1][0]:
            stretches.append(Stretch(words[end].start(), words[ends[n + 1][0] - 1].end(), False))
    return stretches


def mark_stretches(text: str, stretches: Sequence[Stretch], offset: int = 0) -> Markup:
    """Return the text, escaped, with same stretches in `<mark>` and different ones in `<em class="only">`.

    offset: the place of the text in the one that the stretches belong to.
    """
    parts, end = [], 0
    for stretch in stretches:
        start, stop = max(stretch.start - offset, end), min(stretch.end - offset, len(text))
        if start < stop:
            template = MARKED if stretch.is_same else DIFFERENT
            parts += [highlight(text[end:start], ()), template.format(highlight(text[start:stop], ()))]
            end = stop
    return Markup("").join([*parts, highlight(text[end:], ())])


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
