"""The part of a text that is shown, with its formulas whole."""

import pytest
from growth import assert_linear
from hypothesis import given, strategies as st

from askalike.text.passages import extract_snippet, find_formulas

TEXT = "The quick brown fox jumps over the lazy dog. " * 10 + "Then the egg boils in water. " + "And so on. " * 30


def spans(*words: str) -> list[tuple[int, int]]:
    return [(TEXT.index(word), TEXT.index(word) + len(word)) for word in words]


def test_a_short_text_is_its_own_snippet() -> None:
    assert extract_snippet("Boil\nan egg", [(0, 4)]) == "Boil an egg"


def test_the_densest_window_is_shown_between_words() -> None:
    snippet = extract_snippet(TEXT, spans("quick", "water", "egg"), 60)
    assert "egg boils in water" in snippet
    assert snippet.startswith("…")
    assert snippet.endswith("…")
    assert set(snippet.strip("…").split()) <= set(TEXT.split())


def test_without_a_match_the_beginning_is_shown() -> None:
    assert extract_snippet(TEXT, [], 30) == "The quick brown fox jumps over…"
    assert extract_snippet(TEXT, spans("quick"), 30).startswith("The quick")


def test_a_text_without_spaces_is_cut_anywhere() -> None:
    assert len(extract_snippet("蛋" * 500, [(400, 402)], 50)) == 52


def test_a_match_longer_than_the_width_is_cut() -> None:
    assert len(extract_snippet(TEXT, [(0, 300)], 50)) <= 51


@given(
    st.text("ab \n蛋", max_size=300),
    st.lists(st.tuples(st.integers(0, 299), st.integers(1, 9))),
    st.integers(1, 100),
)
def test_a_snippet_is_a_stretch_of_the_text(text: str, places: list[tuple[int, int]], width: int) -> None:
    snippet = extract_snippet(
        text, [(start, min(start + n, len(text))) for start, n in places if start < len(text)], width
    )
    assert len(snippet) <= width + 2
    assert snippet.strip("…") in " ".join(text.split()) or snippet.strip("…").strip() in " ".join(text.split())
    assert snippet.strip("…").strip() or not text[:width].strip() or places or width < 31


@pytest.mark.parametrize("piece", ["$", "$a ", "$\\a", "$ a(", "$$\\text{a} ", "\\(", "\\begin{a}", "$^\\$", "$_"])
def test_finding_formulas_takes_linear_time(piece: str) -> None:
    assert_linear(lambda size: find_formulas((piece * size)[: 2 * size]))
