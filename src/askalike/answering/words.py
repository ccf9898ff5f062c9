"""Written words as text: unknown ones copied from the question, spaces where people put them."""

import re
from collections.abc import Sequence

COPY_OPEN, COPY_CLOSE = "⟨", "⟩"
"""What stands around a word that was copied from the question; alone, around nothing, where there was none to copy."""
_SPACE_BEFORE = re.compile(r"\s+([.,;:!?%)\]}’”]|n['’]t\b|['’](?:s|m|d|re|ve|ll)\b)")
_SPACE_AFTER = re.compile(r"([(\[{“])\s+")


def fill_unknown_words(words: Sequence[str | None], unknown: Sequence[str]) -> list[str]:
    """The words, where each None is the next of the question's unknown words, marked; ⟨…⟩ when there is none left."""
    rest = iter(unknown)
    return [word if word is not None else f"{COPY_OPEN}{next(rest, '…')}{COPY_CLOSE}" for word in words]


def join_words(words: Sequence[str]) -> str:
    """The words as one text."""
    return _SPACE_AFTER.sub(r"\1", _SPACE_BEFORE.sub(r"\1", " ".join(words)))
