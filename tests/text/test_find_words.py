"""Words are found in a text without a pattern for each set of words, where its pattern would find them."""

import pytest

from askalike.text.words import any_word_pattern, find_words

TEXTS = (
    "A worst case of O(n log n): the Worst Case, casework; don't, don, über ÜBER 東京都 and non-computable sets.",
    "",
    "n",
)
FORMS = (
    set(),
    {"case"},
    {"Case", "worst"},
    {"n", "O(n"},
    {"don't", "t"},
    {"Über", "computable", "non-computable"},
    {"東京", "case"},
    {""},
)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("forms", FORMS, ids=lambda forms: " ".join(sorted(forms)))
def test_finds_what_the_pattern_finds(text: str, forms: set[str]) -> None:
    assert find_words(text, forms) == [match.span() for match in any_word_pattern(forms).finditer(text)]
