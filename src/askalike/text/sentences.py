"""Rule-based sentence splitting, for statistics and for models that read texts sentence by sentence."""

import re
from functools import cache
from typing import Final

_ABBREVIATIONS: Final = (
    " al approx art ca cf chap col def dept dr ed eq eqs esp est etc ex fig figs gen incl jr mme mlle mr mrs ms nr p pp"
    " prof ref refs resp sec sr sra srta st ud vol vs"
    " abb av bzgl bzw evtl ggf inkl sog str usw vgl напр пр рис см стр тел ул "
)
_ALWAYS_FOLLOWED: Final = " cf dr e.g fig i.e mme mr mrs ms prof vgl vs z.b напр рис см т.е "
"""Abbreviations that cannot end a sentence, even before an upper-case letter."""


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a plain text, in order, without the white space between them; none is empty.

    A sentence ends at a line break; at `。`, `！`, `？`; at `!`, `?`, `…` and `...` before white space or a Chinese or
    Japanese letter; and at a full stop before white space, whatever the case of what follows (people ask in lower
    case), except after an initial ("J. Smith"), after a number that opens a line ("2. Restart"), and after an
    abbreviation, unless it can close a sentence and an upper-case letter follows ("… etc. Then …").
    """
    sentences: list[str] = []
    for line in text.splitlines():
        start = 0
        for end in _sentence_end().finditer(line):
            if not end["stop"] or _ends_sentence(line[start : end.start()], line[end.end() : end.end() + 1]):
                sentences.append(line[start : end.end()].strip())
                start = end.end()
        sentences.append(line[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _ends_sentence(preceding: str, following: str) -> bool:
    """Return whether the full stop between `preceding` and `following` (one character or none) ends a sentence."""
    words = preceding[-80:].split()
    last = words[-1].lstrip("([{\"'«“„") if words else ""
    if len(last) == 1 and last.isupper():
        return last == "I"
    if len(words) == 1 and last.isdigit():
        return False
    if f" {last.lower()} " in _ALWAYS_FOLLOWED:
        return False
    abbreviated = f" {last.lower()} " in _ABBREVIATIONS or re.fullmatch(r"(?:\w\.)+\w", last)
    return following.isupper() or not abbreviated


@cache
def _sentence_end() -> re.Pattern[str]:
    """Return the pattern of closing signs, closing quotes and brackets, and white space; `stop`: a lone full stop."""
    closing = r"""["'”’»)\]]*"""
    east = "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    loud = rf"(?:(?<![!?…])[!?…]++\.*+|(?<!\.)\.{{2,}}+){closing}(?:\s+|(?=[{east}]))"
    return re.compile(rf"[。！？｡]+[」』）\"”’]*\s*|{loud}|(?P<stop>\.){closing}\s+")
