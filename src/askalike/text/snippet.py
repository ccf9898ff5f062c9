"""The stretch of a text that shows best why it was found."""

from collections.abc import Sequence
from typing import Final

_ELLIPSIS: Final = "…"
_MAX_CUT_SHIFT: Final = 30
"""Characters that a cut moves to meet a word's end: without white space (Chinese) it cuts where it is."""


def extract_snippet(text: str, term_spans: Sequence[tuple[int, int]], width: int = 200) -> str:
    """At most `width` characters of plain `text`, on one line: the window that holds most of the matched spans.

    `terms_spans`: (start, end) offsets in `text`, in any order; of windows with equally many the first is taken, and
    its spans stand in the middle. Cuts fall between words and show as "…", which comes on top of the width.
    """
    if len(text) <= width:
        return _collapse_spaces(text)
    first, last = _find_densest_window(sorted(term_spans), width)
    start = max(0, min(first - (width - (last - first)) // 2, len(text) - width))
    end = start + width
    cut_left, cut_right = start > 0, end < len(text)
    if cut_left:
        start = _find_word_start(text, start, min(first, start + _MAX_CUT_SHIFT))
    if cut_right:
        end = _find_word_end(text, end, max(last, end - _MAX_CUT_SHIFT, start))
    return _ELLIPSIS * cut_left + _collapse_spaces(text[start:end]) + _ELLIPSIS * cut_right


def _find_densest_window(spans: Sequence[tuple[int, int]], width: int) -> tuple[int, int]:
    """From the first to the last of the most sorted spans that fit into `width` characters; (0, 0) without a span."""
    best, most, left = (0, 0), 0, 0
    for right, (_, end) in enumerate(spans):
        while end - spans[left][0] > width and left < right:
            left += 1
        if right - left >= most:
            most = right - left + 1
            best = spans[left][0], min(end, spans[left][0] + width)
    return best


def _find_word_start(text: str, start: int, latest: int) -> int:
    """The first word's beginning in text[start - 1 : latest], or `start` where there is none."""
    for at in range(start, latest + 1):
        if text[at - 1].isspace():
            return at
    return start


def _find_word_end(text: str, end: int, earliest: int) -> int:
    """The last word's end in text[earliest : end + 1], or `end` where there is none."""
    for at in range(end, earliest - 1, -1):
        if text[at].isspace():
            return at
    return end


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())
