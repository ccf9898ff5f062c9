"""The stretch of a text that shows best why it was found."""

from collections.abc import Sequence
from typing import Final

_ELLIPSIS: Final = "…"
_WORD_AT_MOST: Final = 30
"""Characters that a cut moves to meet a word's end: without white space (Chinese) it cuts where it is."""


def snippet(text: str, terms_spans: Sequence[tuple[int, int]], width: int = 200) -> str:
    """At most `width` characters of plain `text`, on one line: the window that holds most of the matched spans.

    `terms_spans`: (start, end) offsets in `text`, in any order; of windows with equally many the first is taken, and
    its spans stand in the middle. Cuts fall between words and show as "…", which comes on top of the width.
    """
    if len(text) <= width:
        return _one_line(text)
    first, last = _densest(sorted(terms_spans), width)
    start = max(0, min(first - (width - (last - first)) // 2, len(text) - width))
    end = start + width
    cut_left, cut_right = start > 0, end < len(text)
    if cut_left:
        start = _after_space(text, start, min(first, start + _WORD_AT_MOST))
    if cut_right:
        end = _before_space(text, end, max(last, end - _WORD_AT_MOST, start))
    return _ELLIPSIS * cut_left + _one_line(text[start:end]) + _ELLIPSIS * cut_right


def _densest(spans: Sequence[tuple[int, int]], width: int) -> tuple[int, int]:
    """From the first to the last of the most sorted spans that fit into `width` characters; (0, 0) without a span."""
    best, most, left = (0, 0), 0, 0
    for right, (_, end) in enumerate(spans):
        while end - spans[left][0] > width and left < right:
            left += 1
        if right - left >= most:
            most = right - left + 1
            best = spans[left][0], min(end, spans[left][0] + width)
    return best


def _after_space(text: str, start: int, latest: int) -> int:
    """The first word's beginning in text[start - 1 : latest], or `start` where there is none."""
    for at in range(start, latest + 1):
        if text[at - 1].isspace():
            return at
    return start


def _before_space(text: str, end: int, earliest: int) -> int:
    """The last word's end in text[earliest : end + 1], or `end` where there is none."""
    for at in range(end, earliest - 1, -1):
        if text[at].isspace():
            return at
    return end


def _one_line(text: str) -> str:
    return " ".join(text.split())
