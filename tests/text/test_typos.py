"""Made misspellings are one edit away; likely ones cost less than words of their own."""

import random

import pytest

from askalike.index.lexical.terms import edit_distance
from askalike.text.typos import has_one_slip, is_likely_typo, misspell, misspell_word, neighbouring_keys


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


def test_one_slip_is_in_one_long_word():
    words = ["how", "to", "install", "ubuntu"]
    assert has_one_slip(["how", "to", "isntall", "ubuntu"], words)
    others = (
        "how to isntall ubunut",
        "how to install kubuntu",
        "how ot install ubuntu",
        "how to reinstall ubuntu",
        "how",
    )
    assert not any(has_one_slip(other.split(), words) for other in [*others, "how to install ubuntu"])


def test_neighbouring_keys():
    assert set(neighbouring_keys("s")) == {"a", "d", "w", "e", "z", "x"}
    assert set(neighbouring_keys("q")) == {"w", "a"}
    assert set(neighbouring_keys("й")) == {"ц", "ф"}
    assert neighbouring_keys("ß") == ()


@pytest.mark.parametrize(
    ("typed", "word", "cost"),
    [
        ("same", "same", 0),
        ("isntall", "install", 1),
        ("pritner", "printer", 1),
        ("libary", "library", 1),
        ("recieve", "receive", 1),
        ("untill", "until", 1),
        ("calender", "calendar", 1),
        ("telefone", "telephone", 1),
        ("библиатека", "библиотека", 1),
        ("seperatly", "separately", 2),
        ("wifi", "wife", 2),
        ("boot", "book", 2),
        ("ebook", "book", 2),
        ("disk", "desk", 2),
        ("house", "mouse", 2),
    ],
)
def test_mistakes_cost_one_and_other_edits_two(typed, word, cost):
    assert [is_likely_typo(typed, word, most) for most in range(3)] == [most >= cost for most in range(3)]


def test_unrelated_words_are_no_mistakes():
    assert not is_likely_typo("pets", "put", 2)
    assert not is_likely_typo("", "word", 2)
    assert not is_likely_typo("word", "", 2)


def test_every_made_misspelling_is_one_mistake():
    rng = random.Random(0)
    for word in ("library", "telephone", "printer", "bicycle", "билет"):
        assert all(is_likely_typo(misspell_word(word, rng), word, 1) for _ in range(200))
