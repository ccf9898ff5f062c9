"""Made misspellings are one edit away, and the same for the same seed."""

import random

import pytest

from askalike.index.lexical.edits import edit_distance
from askalike.text.typos import misspell, misspell_word, neighbouring_keys


@pytest.mark.parametrize("word", ["printer", "aa", "Öffnungszeiten", "библиотека", "ab"])
def test_a_misspelt_word_is_one_edit_away(word):
    for seed in range(50):
        made = misspell_word(word, random.Random(seed))
        assert made.lower() != word.lower()
        assert edit_distance(word.lower(), made.lower()) == 1


def test_as_many_words_are_misspelt_as_wanted():
    text = "How do I install the printer driver?"
    for count, changed in ((0, 0), (1, 1), (2, 2), (9, 3)):
        made = misspell(text, count, random.Random(3))
        assert sum(a != b for a, b in zip(made.split(), text.split(), strict=True)) == changed
        assert made == misspell(text, count, random.Random(3))


def test_neighbouring_keys():
    assert set(neighbouring_keys("s")) == {"a", "d", "w", "e", "z", "x"}
    assert set(neighbouring_keys("q")) == {"w", "a"}
    assert set(neighbouring_keys("й")) == {"ц", "ф"}
    assert neighbouring_keys("ß") == ()
