"""Greetings, thanks and signatures go; what is asked stays as it was typed."""

import pytest

from askalike.text.talk import split_parts

LETTERS = (
    ("Dear Ms Miller,\n\nhow do I renew a loan?\n\nKind regards,\nPeter Snow", ["how do I renew a loan?"]),
    ("hi how do I renew a loan? thx", ["how do I renew a loan?"]),
    ("Sorry, I'm new here :) How do I renew a loan? Any help is appreciated!", ["How do I renew a loan?"]),
    ("Re: Fwd: renew a loan", ["renew a loan"]),
    ("Hallo zusammen, wie verlängere ich? Vielen Dank im Voraus! LG Anna", ["wie verlängere ich?"]),
    ("Bonjour, comment prolonger un prêt ? Merci d'avance, bonne journée !", ["comment prolonger un prêt ?"]),
    ("Buenos días, ¿cómo renuevo un préstamo? Muchas gracias.", ["¿cómo renuevo un préstamo?"]),
    ("Salve a tutti, come rinnovo un prestito? Grazie mille", ["come rinnovo un prestito?"]),
    ("Здравствуйте! Как продлить книгу? Заранее спасибо", ["Как продлить книгу?"]),
)


def matter(text):
    return [part.text for part in split_parts(text) if not part.is_talk]


@pytest.mark.parametrize(("text", "rest"), LETTERS)
def test_courtesies_go(text, rest):
    assert matter(text) == rest


@pytest.mark.parametrize(
    "text",
    [
        "How do I say thanks?", "Thank you page", "Hello", "help", "Best, worst and average case",
        "Dear diary", "What is O(n), and why?", "Regards",
    ],
)  # fmt: skip
def test_questions_stay_as_typed(text):
    assert [part.text for part in split_parts(text)] == [text]


def test_all_sentences_of_a_question_stay():
    text = "I lost my card. Somebody else found it! Can I use it again?"
    assert matter(text) == ["I lost my card.", "Somebody else found it!", "Can I use it again?"]
