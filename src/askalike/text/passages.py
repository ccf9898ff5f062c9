"""Passages of a plain text: its sentences, its formulas as MathJax and Pandoc see them, and the snippet to show."""

import re
import sys
from collections.abc import Sequence
from functools import cache
from itertools import takewhile
from typing import Any, Final

from askalike.text.clean import collapse_spaces

_ABBREVIATIONS: Final = (
    " al approx art ca cf chap col def dept dr ed eq eqs esp est etc ex fig figs gen incl jr mme mlle mr mrs ms nr p pp"
    " prof ref refs resp sec sr sra srta st ud vol vs"
    " abb av bzgl bzw evtl ggf inkl sog str usw vgl напр пр рис см стр тел ул "
)
_ALWAYS_FOLLOWED: Final = " cf dr e.g fig i.e mme mr mrs ms prof vgl vs z.b напр рис см т.е "
"""Abbreviations that cannot end a sentence, even before an upper-case letter."""
_INITIALS: Final = re.compile(r"(?:\w\.)+\w")
_INSIDE = r"(?>\\(?:text|mbox)\{[^{}]{0,200}\}|[^$\\]|\\.)"
_TEX_SIGN = r"(?:\\(?![$.,;:!?]?(?:\s|\Z))|\^|[_}]|\w\{)"
FORMULA: Final = re.compile(
    r"(?=[$\\])(?:"  # quickly passes over all other characters
    rf"(?<![\\$])\$\$(?!\$)(?=\s*[^\s$])(?:{_INSIDE}|\$(?!\$)){{1,3000}}?\$\$(?!\$)"
    r"|(?<![\\$\w])\$(?=[^\s$])[^$\n]{0,500}?(?<=[^\s\\])\$(?![\w$])"
    rf"|(?<![\\$\d])\$(?!\$)(?=[^$]{{0,1000}}?{_TEX_SIGN}){_INSIDE}{{1,1000}}\$(?!\$)"
    r"(?:(?=[^\w$]|\Z)|(?<=\S\$)(?=[a-z])|(?<=}\$)(?=[A-Z]))"
    r"|(?<![\\$\w])\$[^\s$\\]{1,8}\$(?=(?:st|nd|rd|th|s|ary)\b)"
    r"|(?<![\\$\w])\$ (?:[A-Za-z]|[A-Za-z][^$\n]{0,80}?[=<>(][^$\n]{0,80}?) ?(?<!\\)\$(?![\w$])"
    r"|\\\((?:[^\\]|\\[^(]){1,1000}?\\\)|\\\[(?:[^\\]|\\[^\[]){1,2000}?\\\]"
    r"|\\begin\{(?P<environment>[a-z]{1,20}\*?)\}.{1,2000}?\\end\{(?P=environment)\})",
    re.DOTALL,
)
r"""A formula with its MathJax delimiters. As in Pandoc, `$5 and $10` and `$5-$10` contain none.

Between single dollars there may be white space at the ends, line breaks and escaped dollars if there is a sign of TeX:
a command, `^`, `_` or a brace; then a letter may follow, as in `$n^2$th`. Without one, `$i$th` and `$ f(n) $` are
formulas, too. As in MathJax, a backslash belongs to the character after it, so that the `\\[2pt]` of a matrix is no
delimiter. There is no second opening delimiter between `\(` and `\)`, or `\[` and `\]`, so that many of these take
linear time.
"""
_DEFINITION = re.compile(r"\\(?:re|provide)?newcommand\b|\\DeclareMathOperator\b|\\[egx]?def\b|\\let\b")
_COMMAND_START = re.compile(r"\\(?:(?:begin|end)\{)?\Z")
_MAX_COMMAND_START = len("\\begin{")
_NOTATION = re.compile(r"[\\{}$^]|\A[\W_]+\Z")
_ELLIPSIS: Final = "…"
_MAX_CUT_SHIFT: Final = 30
"""Maximum number of characters by which a cut moves to a word boundary; without white space (Chinese) it stays."""


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


def sentence_rules() -> dict[str, Any]:
    """Return what `split_sentences` goes by, see `search.rules`."""
    return {
        "patterns": {"end": _sentence_end().pattern, "initials": _INITIALS.pattern},
        "abbreviations": _ABBREVIATIONS.split(), "always_followed": _ALWAYS_FOLLOWED.split(),
    }  # fmt: skip


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
    abbreviated = f" {last.lower()} " in _ABBREVIATIONS or _INITIALS.fullmatch(last)
    return following.isupper() or not abbreviated


@cache
def _sentence_end() -> re.Pattern[str]:
    """Return the pattern of closing signs, closing quotes and brackets, and white space; `stop`: a lone full stop."""
    closing = r"""["'”’»)\]]*"""
    east = "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    loud = rf"(?:(?<![!?…])[!?…]++\.*+|(?<!\.)\.{{2,}}+){closing}(?:\s+|(?=[{east}]))"
    return re.compile(rf"[。！？｡]+[」』）\"”’]*\s*|{loud}|(?P<stop>\.){closing}\s+")


def has_formula_sign(text: str) -> bool:
    """Return whether a text may contain a formula, by a quick check."""
    return "$" in text or "\\" in text


def find_formulas(text: str, before: int = sys.maxsize) -> list[tuple[int, int]]:
    """Return the start and end of each formula, or of those that start before a place."""
    matches = FORMULA.finditer(text) if has_formula_sign(text) else ()
    return [match.span() for match in takewhile(lambda match: match.start() < before, matches)]


def find_definitions(text: str) -> list[tuple[int, int]]:
    r"""Return the start and end of each formula that defines commands, such as `$\newcommand{\R}{\mathbb{R}}$`."""
    if not _DEFINITION.search(text):
        return []
    return [(start, end) for start, end in find_formulas(text) if _DEFINITION.search(text, start, end)]


def is_notation(word: str) -> bool:
    r"""Return whether a word is none for people: `frac{1}{\sqrt`, `\\`, `=`."""
    return _NOTATION.search(word) is not None


def is_command(text: str, start: int) -> bool:
    r"""Return whether the word at `start` is the name of a command, as in `\frac` and `\begin{align}`."""
    return _COMMAND_START.search(text, max(0, start - _MAX_COMMAND_START), start) is not None


def extract_snippet(text: str, term_spans: Sequence[tuple[int, int]], width: int = 200) -> str:
    """Return at most `width` characters of plain `text`, on one line: the window with the most matched spans.

    term_spans: (start, end) offsets in `text`, in any order. Of windows with the same number of spans the first is
    used, with its spans centred. Cuts are between words, never within a formula, and are marked by "…", which does not
    count for the width. Formulas that only define commands are left out.
    """
    if "\\" in text:
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
    first = start
    last = end
    around = (0, 0)
    for opening, closing in find_formulas(text, end):
        if opening < start < closing:
            first = closing
            around = (opening, closing)
        if opening < end < closing:
            last = opening
            around = (opening, closing)
    if first < last:
        return first, last
    width = end - start
    (opening, closing) = around
    if closing - opening <= 2 * width:
        return around
    if text[:opening].strip():
        return _cut_around_formulas(text, max(0, opening - width), opening)
    return _cut_around_formulas(text, closing, min(len(text), closing + width)) if closing < len(text) else (0, 0)


def _find_densest_window(spans: Sequence[tuple[int, int]], width: int) -> tuple[int, int]:
    """Return the bounds of as many of the sorted spans as fit into `width` characters; (0, 0) without a span."""
    best = (0, 0)
    best_count = 0
    left = 0
    for right, (_, end) in enumerate(spans):
        while end - spans[left][0] > width and left < right:
            left += 1
        if right - left >= best_count:
            best_count = right - left + 1
            best = spans[left][0], min(end, spans[left][0] + width)
    return best
