"""Regular expressions of Python as JavaScript reads them with its flag `u`."""

import re

LETTER = r"\p{L}\p{N}_"
r"""What `\w` is in Python, inside a character class."""
EDGE = rf"(?:(?<=[{LETTER}])(?![{LETTER}])|(?<![{LETTER}])(?=[{LETTER}]))"
r"""What `\b` is in Python."""
_TOKEN = re.compile(r"\[\^\\W\\d_\]|\(\?P<|[+*?}]\+|\[(?:\\.|[^\]\\])+\]|\\.|.", re.DOTALL)
_NEEDLESS_ESCAPE = re.compile(r"\\([^\w^$\\.*+?()\[\]{}|/-])")


def as_script_pattern(pattern: str) -> str:
    """Return a pattern that matches alike in JavaScript: words of any alphabet, no possessive quantifiers."""
    return _TOKEN.sub(lambda match: _translate(match[0]), pattern)


def _translate(token: str) -> str:
    if token == r"[^\W\d_]":
        return r"\p{L}"
    if token.startswith("["):
        return _NEEDLESS_ESCAPE.sub(r"\1", token.replace(r"\w", LETTER))
    if token[1:] == "+" and token[0] != "\\":
        return token[0]
    return {r"\w": f"[{LETTER}]", r"\b": EDGE, r"\-": "-", "(?P<": "(?<"}.get(token, _NEEDLESS_ESCAPE.sub(r"\1", token))
