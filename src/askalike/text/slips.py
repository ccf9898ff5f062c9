"""Likely typing errors: slips on the keyboard, and words spelt phonetically.

Most words that differ from another by one letter are different words (`wifi`, `wife`). A slip swaps two letters, omits
or doubles one, or hits an adjacent key. Any other edit counts as two.
"""

from collections.abc import Iterator

from askalike.text.typos import neighbouring_keys

VOWELS = frozenset("aeiouyаеёиоуыэюя")
SAME_SOUNDS = (("f", "ph"), ("ph", "f"))
BY_EAR_FROM = 6
"""Minimum length for phonetic misspellings; shorter words often differ from others only by their vowels."""
UNLIKELY_COST = 2


def is_slip(typed: str, word: str, max_cost: int) -> bool:
    """Return whether the typed word may be a misspelling of `word` with slips of total cost at most `max_cost`."""
    return _explains(typed, word, max_cost, 0, 0)


def _explains(typed: str, word: str, max_cost: int, i: int, j: int) -> bool:
    """Return whether the letters from `typed[i]` and `word[j]` on differ by slips of at most that cost."""
    while i < len(typed) and j < len(word) and typed[i] == word[j]:
        i, j = i + 1, j + 1
    if i == len(typed) and j == len(word):
        return True
    return any(
        cost <= max_cost and _explains(typed, word, max_cost - cost, i + n_typed, j + n_meant)
        for cost, n_typed, n_meant in _mistakes(typed, word, i, j)
    )


def _mistakes(typed: str, word: str, i: int, j: int) -> Iterator[tuple[int, int, int]]:
    """Yield the slips possible at `typed[i]` and `word[j]`: the cost, and the letters consumed from each."""
    is_by_ear = len(typed) >= BY_EAR_FROM
    if len(typed) > i + 1 and typed[i : i + 2] == word[j : j + 2][::-1]:
        yield 1, 2, 2
    if j < len(word):
        yield 1, 0, 1
    if i < len(typed):
        beside = typed[max(i - 1, 0) : i] + typed[i + 1 : i + 2]
        yield _cost(any(_are_close(typed[i], letter) for letter in beside)), 1, 0
    if i < len(typed) and j < len(word):
        are_vowels = is_by_ear and VOWELS.issuperset((typed[i], word[j]))
        yield _cost(are_vowels or _are_close(typed[i], word[j])), 1, 1
    for sound, same in SAME_SOUNDS if is_by_ear else ():
        if typed.startswith(sound, i) and word.startswith(same, j):
            yield 1, len(sound), len(same)


def _cost(is_likely: bool) -> int:
    return 1 if is_likely else UNLIKELY_COST


def _are_close(letter: str, other: str) -> bool:
    """Return whether two letters are on the same key or on adjacent ones."""
    return letter == other or other in neighbouring_keys(letter)
