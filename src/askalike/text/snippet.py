"""The stretch of a text that shows best why it matches."""

from collections.abc import Sequence
from typing import Final

from askalike.text.clean import collapse_spaces
from askalike.text.formulas import FORMULA, has_formula_sign

_ELLIPSIS: Final = "…"
_MAX_CUT_SHIFT: Final = 30
"""The characters by which a cut moves to a word's end; without white space (Chinese) it stays where it is."""


def extract_snippet(text: str, term_spans: Sequence[tuple[int, int]], width: int = 200) -> str:
    """Return at most `width` characters of plain `text`, on one line: the window with most of the matched spans.

    term_spans: (start, end) offsets in `text`, in any order. Of windows with equally many spans the first is taken, and
    its spans stand in the middle. Cuts fall between words, not in a formula, and show as "…", which is not counted
    in the width.
    """
    if len(text) <= width:
        return collapse_spaces(text)
    first, last = _find_densest_window(sorted(term_spans), width)
    start = max(0, min(first - (width - (last - first)) // 2, len(text) - width))
    end = start + width
    cut_left, cut_right = start > 0, end < len(text)
    if cut_left:  # to the first word's beginning
        starts = range(start, min(first, start + _MAX_CUT_SHIFT) + 1)
        start = next((at for at in starts if text[at - 1].isspace()), start)
    if cut_right:  # to the last word's end
        ends = range(end, max(last, end - _MAX_CUT_SHIFT, start) - 1, -1)
        end = next((at for at in ends if text[at].isspace()), end)
    start, end = _cut_around_formulas(text, start, end)
    return _ELLIPSIS * cut_left + collapse_spaces(text[start:end]) + _ELLIPSIS * cut_right


def _cut_around_formulas(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the bounds without the formulas that they cut; as they are where nothing would be left."""
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
