"""Typing errors: which misspellings are likely, and synthetic ones for evaluation and training.

Most words that differ from another by one letter are different words (`wifi`, `wife`). A likely error swaps two
letters, omits or doubles one, or hits an adjacent key. Any other edit counts as two.
"""

import random
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

LONG_WORD = re.compile(r"[^\W\d_]{4,}")
"""Words that can be misspelt; shorter ones too easily become other words."""
KEYBOARDS = (("qwertyuiop", "asdfghjkl", "zxcvbnm"), ("йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю"))
"""The rows of letters; each row is shifted half a key to the right of the one above."""
VOWELS = frozenset("aeiouyаеёиоуыэюя")
SAME_SOUNDS = (("f", "ph"), ("ph", "f"))
MIN_PHONETIC_LENGTH = 6
"""Minimum length for phonetic misspellings; shorter words often differ from others only by their vowels."""
UNLIKELY_COST = 2


def misspell(text: str, count: int, rng: random.Random) -> str:
    """Return a text with a number of its words misspelt, all of them if there are fewer."""
    words = list(LONG_WORD.finditer(text))
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


@lru_cache(4096)
def neighbouring_keys(letter: str) -> Sequence[str]:
    """Return the letters on the keys adjacent to a lower-case letter; empty for one that is not in KEYBOARDS."""
    for rows in KEYBOARDS:
        for y, row in enumerate(rows):
            if (x := row.find(letter)) >= 0:
                places = ((y, x - 1), (y, x + 1), (y - 1, x), (y - 1, x + 1), (y + 1, x - 1), (y + 1, x))
                return [rows[j][i] for j, i in places if 0 <= j < len(rows) and 0 <= i < len(rows[j])]
    return ()


def is_likely_typo(typed: str, word: str, max_cost: int) -> bool:
    """Return whether the typed word may be a misspelling of `word`, by errors of total cost at most `max_cost`."""
    return _explains(typed, word, max_cost, 0, 0)


def has_one_slip(typed: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether the words typed are these with a likely error in one of four letters or more.

    It is not in the first letter, as in *Kubuntu* and *Ubuntu*.
    """
    wrong = [pair for pair in zip(typed, words, strict=False) if pair[0] != pair[1]]
    if len(typed) != len(words) or len(wrong) != 1:
        return False
    [(own, word)] = wrong
    return own[0] == word[0] and bool(LONG_WORD.fullmatch(word)) and is_likely_typo(own, word, 1)


def _explains(typed: str, word: str, max_cost: int, i: int, j: int) -> bool:
    """Return whether the letters from `typed[i]` and `word[j]` on differ by typing errors of at most that cost."""
    while i < len(typed) and j < len(word) and typed[i] == word[j]:
        i, j = i + 1, j + 1
    if i == len(typed) and j == len(word):
        return True
    return any(
        cost <= max_cost and _explains(typed, word, max_cost - cost, i + n_typed, j + n_meant)
        for cost, n_typed, n_meant in _mistakes(typed, word, i, j)
    )


def _mistakes(typed: str, word: str, i: int, j: int) -> Iterator[tuple[int, int, int]]:
    """Yield the errors possible at `typed[i]` and `word[j]`: the cost, and the letters consumed from each."""
    is_phonetic = len(typed) >= MIN_PHONETIC_LENGTH
    if len(typed) > i + 1 and typed[i : i + 2] == word[j : j + 2][::-1]:
        yield 1, 2, 2
    if j < len(word):
        yield 1, 0, 1
    if i < len(typed):
        beside = typed[max(i - 1, 0) : i] + typed[i + 1 : i + 2]
        yield _cost(any(_are_close(typed[i], letter) for letter in beside)), 1, 0
    if i < len(typed) and j < len(word):
        are_vowels = is_phonetic and VOWELS.issuperset((typed[i], word[j]))
        yield _cost(are_vowels or _are_close(typed[i], word[j])), 1, 1
    for sound, same in SAME_SOUNDS if is_phonetic else ():
        if typed.startswith(sound, i) and word.startswith(same, j):
            yield 1, len(sound), len(same)


def _cost(is_likely: bool) -> int:
    return 1 if is_likely else UNLIKELY_COST


def _are_close(letter: str, other: str) -> bool:
    """Return whether two letters are on the same key or on adjacent ones."""
    return letter == other or other in neighbouring_keys(letter)
