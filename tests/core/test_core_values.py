"""Numbers with their nouns."""

import pytest

from askalike.core.values import format_count


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
