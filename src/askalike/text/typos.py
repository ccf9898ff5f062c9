"""Synthetic misspellings, for evaluation and training: common typing errors."""

import random
import re
from collections.abc import Sequence
from functools import cache

WORD = re.compile(r"[^\W\d_]{4,}")
"""Words that can be misspelt; shorter ones too easily become other words."""
KEYBOARDS = (("qwertyuiop", "asdfghjkl", "zxcvbnm"), ("йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю"))
"""The rows of letters; each row is shifted half a key to the right of the one above."""


def misspell(text: str, count: int, rng: random.Random) -> str:
    """Return a text with a number of its words misspelt, all of them if there are fewer."""
    words = list(WORD.finditer(text))
    for word in sorted(rng.sample(words, min(count, len(words))), key=lambda match: -match.start()):
        text = text[: word.start()] + misspell_word(word[0], rng) + text[word.end() :]
    return text


def misspell_word(word: str, rng: random.Random) -> str:
    """Return a word of two or more letters with one of them swapped with the next, dropped, doubled or mistyped."""
    while True:
        at = rng.randrange(len(word))
        before, letter, after = word[:at], word[at], word[at + 1 :]
        made = rng.choice(
            [
                before + after[:1] + letter + after[1:],
                before + after,
                before + letter + letter + after,
                before + rng.choice(neighbouring_keys(letter.lower()) or letter) + after,
            ]
        )
        if made.lower() != word.lower():
            return made


@cache
def neighbouring_keys(letter: str) -> Sequence[str]:
    """Return the letters on the keys adjacent to a lower-case letter; empty for one that is not in KEYBOARDS."""
    for rows in KEYBOARDS:
        for y, row in enumerate(rows):
            if (x := row.find(letter)) >= 0:
                places = ((y, x - 1), (y, x + 1), (y - 1, x), (y - 1, x + 1), (y + 1, x - 1), (y + 1, x))
                return [rows[j][i] for j, i in places if 0 <= j < len(rows) and 0 <= i < len(rows[j])]
    return ()
