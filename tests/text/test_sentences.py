import pytest
from growth import assert_linear
from hypothesis import given, strategies as st

from askalike.text.passages import split_sentences

CASES = {
    "lower case": (
        "i have a problem. how do i fix it? thanks!!!",
        ["i have a problem.", "how do i fix it?", "thanks!!!"],
    ),
    "lines": ("One\nTwo. Three", ["One", "Two.", "Three"]),
    "abbreviations": ("Ask Dr. Smith, e.g. Python etc. first. Ok.", ["Ask Dr. Smith, e.g. Python etc. first.", "Ok."]),
    "closing abbreviation": ("Eggs, salt etc. Then boil.", ["Eggs, salt etc.", "Then boil."]),
    "initials": ("J. Smith and I. So what?", ["J. Smith and I.", "So what?"]),
    "numbers": ("2. Restart 3.14 now. Done.", ["2. Restart 3.14 now.", "Done."]),
    "quotes": ('He said "stop." (Really.) Yes.', ['He said "stop."', "(Really.)", "Yes."]),
    "dots": ("wait... what?! ok", ["wait...", "what?!", "ok"]),
    "chinese": ("如何煮鸡蛋？我不知道。请帮忙!谢谢", ["如何煮鸡蛋？", "我不知道。", "请帮忙!", "谢谢"]),
    "russian": ("Не работает, см. рис. 1. Что делать?", ["Не работает, см. рис. 1.", "Что делать?"]),
    "nothing": (" \n ", []),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_sentences(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


@given(st.text() | st.lists(st.sampled_from(["a", "B", ".", "!", "…", "。", '"', " ", "\n"])).map("".join))
def test_no_character_is_lost(text: str) -> None:
    sentences = split_sentences(text)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert all(sentence == sentence.strip() != "" for sentence in sentences)


@pytest.mark.parametrize("piece", ["!", ".", "!.", ".)", "A. ", "。", "\n"])
def test_time_stays_linear(piece: str) -> None:
    assert_linear(lambda size: split_sentences(piece * size + "x"))
