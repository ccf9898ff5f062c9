r"""Formulas in texts: where they are, as MathJax and Pandoc see them, and which words are only their notation."""

import re
from typing import Final

_INSIDE = r"(?>\\(?:text|mbox)\{[^{}]{0,200}\}|[^$\\]|\\.)"
_TEX_SIGN = r"(?:\\(?![$.,;:!?]?(?:\s|\Z))|\^|[_}]|\w\{)"
FORMULA: Final = re.compile(
    rf"(?<![\\$])\$\$(?!\$)(?=\s*[^\s$])(?:{_INSIDE}|\$(?!\$)){{1,3000}}?\$\$(?!\$)"
    r"|(?<![\\$\w])\$(?=[^\s$])[^$\n]{0,500}?(?<=[^\s\\])\$(?![\w$])"
    rf"|(?<![\\$\d])\$(?!\$)(?=[^$]{{0,1000}}?{_TEX_SIGN}){_INSIDE}{{1,1000}}\$(?!\$)"
    r"(?:(?=[^\w$]|\Z)|(?<=\S\$)(?=[a-z])|(?<=}\$)(?=[A-Z]))"
    r"|(?<![\\$\w])\$[^\s$\\]{1,8}\$(?=(?:st|nd|rd|th|s|ary)\b)"
    r"|(?<![\\$\w])\$ (?:[A-Za-z]|[A-Za-z][^$\n]{0,80}?[=<>(][^$\n]{0,80}?) ?(?<!\\)\$(?![\w$])"
    r"|\\\((?:[^\\]|\\[^(]){1,1000}?\\\)|\\\[(?:[^\\]|\\[^\[]){1,2000}?\\\]"
    r"|\\begin\{(?P<environment>[a-z]{1,20}\*?)\}.{1,2000}?\\end\{(?P=environment)\}",
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


def has_formula_sign(text: str) -> bool:
    """Return whether a text may contain a formula, by a quick check."""
    return "$" in text or "\\" in text


def find_formulas(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each formula."""
    return [match.span() for match in FORMULA.finditer(text)] if has_formula_sign(text) else []


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
