"""The part of a text that best shows why it matches."""

from collections.abc import Sequence
from typing import Final

from askalike.text.clean import collapse_spaces
from askalike.text.formulas import find_definitions, find_formulas

_ELLIPSIS: Final = "…"
_MAX_CUT_SHIFT: Final = 30
"""Maximum number of characters by which a cut moves to a word boundary; without white space (Chinese) it stays."""


def extract_snippet(text: str, term_spans: Sequence[tuple[int, int]], width: int = 200) -> str:
    """Return at most `width` characters of plain `text`, on one line: the window with the most matched spans.

    term_spans: (start, end) offsets in `text`, in any order. Of windows with the same number of spans the first is
    used, with its spans centred. Cuts are between words, never within a formula, and are marked by "…", which does not
    count for the width. Formulas that only define commands are left out.
    """
    text, term_spans = _drop_definitions(text, term_spans)
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


def _drop_definitions(text: str, spans: Sequence[tuple[int, int]]) -> tuple[str, Sequence[tuple[int, int]]]:
    for start, end in reversed(find_definitions(text)):
        text = text[:start] + text[end:]
        moved = [(at - (end - start), to - (end - start)) for at, to in spans if at >= end]
        spans = [*(span for span in spans if span[1] <= start), *moved]
    return text, spans


def _cut_around_formulas(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the bounds without formulas that they would cut; of a stretch inside of one, what stands around it."""
    first, last, around = start, end, (0, 0)
    for opening, closing in find_formulas(text):
        if opening < start < closing:
            first, around = closing, (opening, closing)
        if opening < end < closing:
            last, around = opening, (opening, closing)
    if first < last:
        return first, last
    width, (opening, closing) = end - start, around
    if closing - opening <= 2 * width:
        return around
    if text[:opening].strip():
        return _cut_around_formulas(text, max(0, opening - width), opening)
    return _cut_around_formulas(text, closing, min(len(text), closing + width)) if closing < len(text) else (0, 0)


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
