"""Written words as text: unknown ones copied from the question, spaces where people put them."""

import re
from collections.abc import Sequence

OPEN, SHUT = "⟨", "⟩"
"""What stands around a word that was copied from the question; alone, around nothing, where there was none to copy."""
_BEFORE = re.compile(r"\s+([.,;:!?%)\]}’”]|n['’]t\b|['’](?:s|m|d|re|ve|ll)\b)")
_AFTER = re.compile(r"([(\[{“])\s+")


def copied(words: Sequence[str | None], unknown: Sequence[str]) -> list[str]:
    """The words, where each None is the next of the question's unknown words, marked; ⟨…⟩ when there is none left."""
    rest = iter(unknown)
    return [word if word is not None else f"{OPEN}{next(rest, '…')}{SHUT}" for word in words]


def joined(words: Sequence[str]) -> str:
    """The words as one text."""
    return _AFTER.sub(r"\1", _BEFORE.sub(r"\1", " ".join(words)))
