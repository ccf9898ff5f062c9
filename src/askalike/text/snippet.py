"""The part of a text that best shows why it matches."""

from collections.abc import Sequence
from typing import Final

from askalike.text.clean import FORMULA, collapse_spaces, has_formula_sign

_ELLIPSIS: Final = "…"
_MAX_CUT_SHIFT: Final = 30
"""Maximum number of characters by which a cut moves to a word boundary; without white space (Chinese) it stays."""


def extract_snippet(text: str, term_spans: Sequence[tuple[int, int]], width: int = 200) -> str:
    """Return at most `width` characters of plain `text`, on one line: the window with the most matched spans.

    term_spans: (start, end) offsets in `text`, in any order. Of windows with the same number of spans the first is
    used, with its spans centred. Cuts are between words, never within a formula, and are marked by "…", which does not
    count for the width.
    """
    if len(text) <= width:
        return collapse_spaces(text)
    first, last = _find_densest_window(sorted(term_spans), width)
    start = max(0, min(first - (width - (last - first)) // 2, len(text) - width))
    end = start + width
    cut_left, cut_right = start > 0, end < len(text)
    if cut_left:  # to the start of the first word
        starts = range(start, min(first, start + _MAX_CUT_SHIFT) + 1)
        start = next((at for at in starts if text[at - 1].isspace()), start)
    if cut_right:  # to the end of the last word
        ends = range(end, max(last, end - _MAX_CUT_SHIFT, start) - 1, -1)
        end = next((at for at in ends if text[at].isspace()), end)
    start, end = _cut_around_formulas(text, start, end)
    return _ELLIPSIS * cut_left + collapse_spaces(text[start:end]) + _ELLIPSIS * cut_right


def _cut_around_formulas(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the bounds without formulas that they would cut; unchanged if nothing would be left."""
    first, last = start, end
    for formula in FORMULA.finditer(text) if has_formula_sign(text) else ():
        if formula.start() < start < formula.end():
            first = formula.end()
        if formula.start() < end < formula.end():
            last = formula.start()
    return (first, last) if first < last else (start, end)


def _find_densest_window(spans: Sequence[tuple[int, int]], width: int) -> tuple[int, int]:
    """Return the bounds of as many of the sorted spans as fit into `width` characters; (0, 0) without a span."""
    best, best_count, left = (0, 0), 0, 0
    for right, (_, end) in enumerate(spans):
        while end - spans[left][0] > width and left < right:
            left += 1
        if right - left >= best_count:
            best_count = right - left + 1
            best = spans[left][0], min(end, spans[left][0] + width)
    return best
