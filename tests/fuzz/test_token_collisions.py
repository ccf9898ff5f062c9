"""Random texts, read with hashes that are often equal: what is read does not change. `make fuzz` sets FUZZ_S."""

import random
from collections.abc import Sequence

import pytest
from damage import seeds

from askalike.text.analyzer import Analyzer
from askalike.text.features.hashed_ngrams import NgramLookup, RowCounts
from hash_collisions import COLLIDING, weak_keys

pytestmark = pytest.mark.fuzz
LETTERS = "ab'-é\u0301雪\U00010061\ud800"
SPACES = " \t\u00a0\u2003\u3000\x1c"


def draw_texts(dice: random.Random, words: Sequence[str]) -> list[str]:
    return [
        "".join(dice.choice(words) + dice.choice(SPACES) for _ in range(dice.randrange(9)))
        for _ in range(dice.randrange(1, 6))
    ]


def read(calls: Sequence[Sequence[str]]) -> object:
    """Return the terms, the spans of some of them, and the rows of the texts of several calls."""
    analyzer, lookup = Analyzer(), NgramLookup(RowCounts(0, 64, 64), None)
    result: list[object] = []
    for texts in calls:
        names, *terms = analyzer.number_terms(texts, ["en"] * len(texts))
        result.append((names, analyzer.find_terms(texts, [*names][::2], "en")))
        result.append([own.tolist() for own in (*terms, *lookup(texts))])
    return result


def test_equal_hashes_change_nothing() -> None:
    for seed in seeds():
        dice = random.Random(seed)
        words = ["".join(dice.choices(LETTERS, k=dice.randrange(1, 6))) for _ in range(dice.randrange(1, 40))]
        calls = [draw_texts(dice, [*words, *COLLIDING, *COLLIDING.values()]) for _ in range(dice.randrange(1, 4))]
        expected = read(calls)
        key = (dice.randrange(1 << 64), dice.choice((0, 1, 1 << dice.randrange(64), 3)))
        with weak_keys(key):
            assert read(calls) == expected, f"seed {seed}"
