"""Which words may have become others by mistakes, and which are words of their own."""

import random

import pytest

from askalike.text.slips import is_slip
from askalike.text.typos import misspell_word


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
    assert [is_slip(typed, word, most) for most in range(3)] == [most >= cost for most in range(3)]


def test_unrelated_words_are_no_mistakes():
    assert not is_slip("pets", "put", 2)
    assert not is_slip("", "word", 2)
    assert not is_slip("word", "", 2)


def test_every_made_misspelling_is_one_mistake():
    rng = random.Random(0)
    for word in ("library", "telephone", "printer", "bicycle", "билет"):
        assert all(is_slip(misspell_word(word, rng), word, 1) for _ in range(200))
