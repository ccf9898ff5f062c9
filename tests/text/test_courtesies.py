"""Greetings, thanks and signatures go; what is asked stays as it was typed."""

import pytest

from askalike.text.courtesies import split_request

LETTERS = (
    ("en", "Dear Ms Miller,\n\nhow do I renew a loan?\n\nKind regards,\nPeter Snow", ["how do I renew a loan?"]),
    ("en", "hi how do I renew a loan thx", ["how do I renew a loan"]),
    ("en", "Sorry, I'm new here :) How do I renew a loan? Any help is appreciated!", ["How do I renew a loan?"]),
    ("en", "Re: Fwd: renew a loan", ["renew a loan"]),
    ("de", "Hallo zusammen, wie verlängere ich? Vielen Dank im Voraus! LG Anna", ["wie verlängere ich?"]),
    ("fr", "Bonjour, comment prolonger un prêt ? Merci d'avance, bonne journée !", ["comment prolonger un prêt ?"]),
    ("es", "Buenos días, ¿cómo renuevo un préstamo? Muchas gracias.", ["¿cómo renuevo un préstamo?"]),
    ("it", "Salve a tutti, come rinnovo un prestito? Grazie mille", ["come rinnovo un prestito?"]),
    ("ru", "Здравствуйте! Как продлить книгу? Заранее спасибо", ["Как продлить книгу?"]),
    (None, "Привет, как продлить книгу? merci", ["как продлить книгу?"]),
)


@pytest.mark.parametrize(("language", "text", "rest"), LETTERS)
def test_courtesies_go(language, text, rest):
    assert split_request(text, language) == rest


@pytest.mark.parametrize(
    "text",
    [
        "How do I say thanks?", "Thank you page", "Hello", "help", "Best, worst and average case",
        "reset password, QUICKLY!", "Dear diary", "What is O(n), and why?", "Regards",
    ],
)  # fmt: skip
def test_questions_stay_as_typed(text):
    assert split_request(text, "en") == [text]


def test_all_sentences_of_a_question_stay():
    text = "I lost my card. Somebody else found it! Can I use it again?"
    assert split_request(text, "en") == ["I lost my card.", "Somebody else found it!", "Can I use it again?"]
