"""What two sentences say differently."""

import pytest

from askalike.text.claims import Claims, compare_sentences, is_negated


@pytest.mark.parametrize(
    ("one", "other", "language", "kind"),
    [
        ("A card costs 5 euros.", "A card costs 7 euros.", "en", "number"),
        ("A card costs five euros.", "A card costs 5 euros.", "en", None),
        ("It takes 5 to 10 days.", "It takes 5 days.", "en", None),
        ("It takes 1,000 steps.", "It takes 1000 steps.", "en", None),
        ("We open at 9:00.", "We open at 10:00.", "en", "number"),
        ("Two members share 3 keys.", "Two members share 4 keys.", "en", "number"),
        ("We close in March.", "We close in April.", "en", "date"),
        ("We close on Mondays.", "We close on Sunday.", "en", "date"),
        ("You may bring a dog.", "You may not bring a dog.", "en", "negation"),
        ("You can't renew it.", "You cannot renew it.", "en", None),
        ("Not only members may borrow.", "Members may borrow.", "en", None),
        ("Hunde sind erlaubt.", "Hunde sind nicht erlaubt.", "de", "negation"),
        ("Les chiens sont admis.", "Les chiens ne sont pas admis.", "fr", "negation"),
        ("Собаки разрешены.", "Собаки не разрешены.", "ru", "negation"),
    ],
)
def test_two_sentences(one: str, other: str, language: str, kind: str | None) -> None:
    assert compare_sentences(one, other, language) == compare_sentences(other, one, language) == kind


def test_an_english_word_denies_in_no_other_language() -> None:
    assert not is_negated("Não no mercado", "de")
    assert is_negated("non è vero", "it")


def test_texts_are_compared_sentence_by_sentence() -> None:
    one = Claims("Bring your card. The fee for a lost card is 5 euros. Thank you very much!")
    [difference] = one.differences(Claims("The fee for a lost card is 8 euros. Come early."))
    assert (difference.kind, difference.one, difference.other) == (
        "number", "The fee for a lost card is 5 euros.", "The fee for a lost card is 8 euros.",
    )  # fmt: skip
    assert one.differences(Claims("Dogs stay outside.")) == []
    agreeing = Claims("The fee for a lost card is 8 euros. The fee for a lost card is 5 euros.")
    assert one.differences(agreeing) == []  # some sentence says the same
