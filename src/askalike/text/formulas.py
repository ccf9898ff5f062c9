r"""Formulas of a text, between the delimiters of MathJax: `$…$`, `$$…$$`, `\(…\)`, `\[…\]`, or an environment."""

import re
from typing import Final

FORMULA: Final = re.compile(
    r"\$\$(?=\S).{1,2000}?\$\$"
    r"|(?<![\\$\w])\$(?=[^\s$])[^$\n]{0,500}?(?<=[^\s\\])\$(?![\w$])"
    r"|\\\((?:[^\\]|\\[^(]){1,1000}?\\\)|\\\[(?:[^\\]|\\[^\[]){1,2000}?\\\]"
    r"|\\begin\{(?P<environment>[a-z]{1,20}\*?)\}.{1,2000}?\\end\{(?P=environment)\}",
    re.DOTALL,
)
r"""A formula with its delimiters. As Pandoc reads them, `$5 and $10` and `$5-$10` hold none.

As in MathJax a backslash belongs to the character behind it, so that the `\\[2pt]` of a matrix opens nothing. Between
`\(` and `\)`, as between `\[` and `\]`, is no second opener: a text of openers is read once, and not from each of them.
"""


def has_formula_sign(text: str) -> bool:
    """Return whether a text may hold a formula, without looking for one."""
    return "$" in text or "\\" in text
