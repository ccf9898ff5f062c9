"""Sentences that deny something, and the words that they are about."""

import pytest

from askalike.calibration.differences import content_words, is_negated


@pytest.mark.parametrize(
    ("sentence", "language", "negated"),
    [
        ("You may bring a dog.", "en", False),
        ("You may not bring a dog.", "en", True),
        ("You can't renew it.", "en", True),
        ("You cannot renew it.", "en", True),
        ("Not only members may borrow.", "en", False),
        ("Hunde sind erlaubt.", "de", False),
        ("Hunde sind nicht erlaubt.", "de", True),
        ("Les chiens sont admis.", "fr", False),
        ("Les chiens ne sont pas admis.", "fr", True),
        ("Собаки разрешены.", "ru", False),
        ("Собаки не разрешены.", "ru", True),
        ("non è vero", "it", True),
        ("Não no mercado", "de", False),
    ],
)
def test_is_negated(sentence: str, language: str, negated: bool) -> None:
    assert is_negated(sentence, language) is negated


def test_content_words_without_numbers_dates_and_negations() -> None:
    assert content_words("The card doesn't cost two euros on Mondays, nor 5 % more in March.", "en") == content_words(
        "The card does cost euros more.", "en"
    )
