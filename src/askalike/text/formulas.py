r"""Formulas in a text, between MathJax delimiters: `$…$`, `$$…$$`, `\(…\)`, `\[…\]`, or an environment."""

import re
from typing import Final

FORMULA: Final = re.compile(
    r"\$\$(?=\S).{1,2000}?\$\$"
    r"|(?<![\\$\w])\$(?=[^\s$])[^$\n]{0,500}?(?<=[^\s\\])\$(?![\w$])"
    r"|\\\((?:[^\\]|\\[^(]){1,1000}?\\\)|\\\[(?:[^\\]|\\[^\[]){1,2000}?\\\]"
    r"|\\begin\{(?P<environment>[a-z]{1,20}\*?)\}.{1,2000}?\\end\{(?P=environment)\}",
    re.DOTALL,
)
r"""A formula with its delimiters. As in Pandoc, `$5 and $10` and `$5-$10` contain none.

As in MathJax, a backslash belongs to the character after it, so that the `\\[2pt]` of a matrix is no delimiter. There
is no second opening delimiter between `\(` and `\)`, or `\[` and `\]`, so that many of these take linear time.
"""


def has_formula_sign(text: str) -> bool:
    """Return whether a text may contain a formula, by a quick check."""
    return "$" in text or "\\" in text
