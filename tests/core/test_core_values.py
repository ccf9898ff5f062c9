"""Numbers with their nouns, and hashes of texts."""

import pytest

from askalike.core.values import format_count, hash_texts


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [
        (1, "query", "1 query"), (0, "query", "0 queries"), (2, "labelled query", "2 labelled queries"),
        (-1, "vote", "-1 votes"), (1200, "vote", "1,200 votes"), (3, "day", "3 days"),
        (2, "index", "2 indexes"),
    ],
)  # fmt: skip
def test_format_count(count, noun, text):
    assert format_count(count, noun) == text


def test_hashes_of_texts_are_long_and_stable() -> None:
    assert hash_texts("How do I log in?", "") == "46c4e318a47656f0b5d7703f4e81900e"
    assert hash_texts("a", "bc") != hash_texts("ab", "c")
    assert hash_texts("a\x1f", "b") != hash_texts("a", "\x1fb")
    assert hash_texts("a?") != hash_texts("a\ud800")
