"""Tokens by their numbers, and words in a text."""

import random
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, strategies as st

from askalike.text.analyzer import Analyzer, AnalyzerSettings
from askalike.text.features.hashed_ngrams import NgramLookup, RowCounts
from askalike.text.tokens import GrowingArray, TokenTable
from askalike.text.words import any_word_pattern, find_words
from hash_collisions import COLLIDING, WEAK_KEYS, weak_keys


def spell(table: TokenTable, texts: list[str]) -> list[list[tuple[str, int]]]:
    numbers, starts, ends = table.number(texts)
    words = [(table.tokens[n], start) for n, start in zip(numbers.tolist(), starts.tolist(), strict=True)]
    return [words[a:b] for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]


def test_growing_array_stays_as_read():
    numbers = GrowingArray(np.int64, 7)
    read = [numbers.values]
    for n in range(5):
        numbers.extend([n] * n)
        read.append(numbers.values)
    assert [own.tolist() for own in read[:4]] == [[7], [7], [7, 1], [7, 1, 2, 2]]
    assert len(read[-1]) == 11


def test_token_table_splits_like_python():
    characters = [chr(c) for c in (*range(0x3100), *range(0xFE00, 0x10100), sys.maxunicode) if not 0xD800 <= c < 0xE000]
    text = "".join(f"a{c}b" for c in characters)
    assert [word for word, _ in spell(TokenTable(lambda _: None), [text])[0]] == text.split()


def test_token_table_keeps_numbers_beyond_its_slots():
    words = [f"w{n}" for n in range(30_000)]
    table = TokenTable(lambda _: None)
    first = table.number([" ".join(words[:100])]).numbers
    table.number([" ".join(words)])
    assert len(table.tokens) == len(words)
    np.testing.assert_array_equal(table.number([" ".join(words)]).numbers, np.arange(len(words)))
    np.testing.assert_array_equal(first, np.arange(100))


@pytest.mark.parametrize(("word", "other"), COLLIDING.items())
def test_token_table_compares_letters(word: str, other: str) -> None:
    table = TokenTable(lambda _: None)
    assert spell(table, [f"{other} {word}"]) == [[(other, 0), (word, 7)]]
    assert spell(table, [word, other]) == [[(word, 0)], [(other, 0)]]


@pytest.mark.parametrize("key", WEAK_KEYS)
@given(st.lists(st.lists(st.text("ab\u0161\U00010061", min_size=1, max_size=4)), max_size=4))
def test_token_table_numbers_as_a_dict(key: tuple[int, int], calls: list[list[str]]) -> None:
    with weak_keys(key):
        table, numbers = TokenTable(lambda _: None), dict[str, int]()
    for words in calls:
        expected = [numbers.setdefault(word, len(numbers)) for word in words]
        assert table.number([" ".join(words)]).numbers.tolist() == expected
    assert table.tokens == [*numbers]


@pytest.mark.parametrize("key", WEAK_KEYS)
@given(st.lists(st.text("ab é雪-'", max_size=12), max_size=6))
def test_terms_and_rows_do_not_depend_on_hashes(key: tuple[int, int], texts: Sequence[str]) -> None:
    def read() -> object:
        analyzer, lookup = Analyzer(), NgramLookup(RowCounts(0, 50, 50), None)
        names, *terms = analyzer.number_terms(texts, ["en"] * len(texts))
        return names, analyzer.find_terms(texts, ["ab", "b"]), [own.tolist() for own in (*terms, *lookup(texts))]

    expected = read()
    with weak_keys(key):
        assert read() == expected


def test_a_cache_of_long_tokens_is_emptied() -> None:
    table = TokenTable(lambda _: None)
    table.number(["x" * 1_000])
    assert table.has_room(100)
    assert not table.has_room(10)


@pytest.mark.parametrize("tokenizer", ["standard", "ptb", "whitespace"])
def test_find_terms_finds_those_of_the_whole_text(tokenizer):
    analyzer = Analyzer(AnalyzerSettings(tokenizer=tokenizer))
    pieces = [
        "don't",
        "eggs,",
        "C++",
        "雪が降る",
        "नमस्ते",
        "John's",
        "cannot",
        "e.g.",
        "Mr.",
        "3.5",
        "(egg)",
        "--",
        "\u0301x",
        "ＡＢ",
    ]
    rng = random.Random(3)
    texts = [" ".join(rng.choices(pieces, k=9)) for _ in range(30)]
    every = {term for text in texts for term in analyzer.analyze(text, "en")}
    wanted = sorted(every)[::2]
    expected = [[span for span in analyzer.analyze_with_spans(text, "en") if span[0] in wanted] for text in texts]
    assert analyzer.find_terms(texts, wanted, "en") == expected
    assert analyzer.find_terms(texts, ["nowhere"], "en") == [[] for _ in texts]
    assert analyzer.find_terms([], wanted, "en") == []


def test_find_terms_finds_many_words_in_a_token():
    analyzer, text = Analyzer(), "雪が" * 300
    expected = [span for span in analyzer.analyze_with_spans(text) if span[0] == "雪が"]
    assert analyzer.find_terms([text, "egg"], ["雪が", "egg"]) == [expected, [("egg", 0, 3)]]
    assert len(expected) == 300


def test_find_terms_is_thread_safe():
    analyzer = Analyzer()
    texts = [" ".join(f"word{(7 * n + k) % 900}" for k in range(60)) for n in range(300)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: analyzer.find_terms([text], ["word5", "word7"])[0], texts))
    expected = [[s for s in analyzer.analyze_with_spans(t) if s[0] in ("word5", "word7")] for t in texts]
    assert found == expected


@pytest.mark.parametrize(
    ("joined", "stop_words", "ascii"),
    [(False, True, False), (True, False, False), (False, False, False), (False, False, True), (True, False, True)],
)
def test_number_terms_gives_those_of_analyze(joined, stop_words, ascii):
    analyzer = Analyzer(AnalyzerSettings(joined=joined, stop_words=stop_words))
    words = ["don't", "Häuser", "eggs,", "e-mail", "雪が降る", "the", "und", "", "\u0301x", "Boil", "snake_case9!", "…"]
    pieces, rng = [word for word in words if word.isascii() or not ascii], random.Random(4)
    texts = [" ".join(rng.choices(pieces, k=n % 7)) for n in range(40)]
    languages = [("en", "de", None, "ja")[n % 4] for n in range(40)]
    for count in (0, 1, 3, 40):
        names, numbers, ends = analyzer.number_terms(texts[:count], languages[:count])
        found = [[names[n] for n in numbers[ends[i] : ends[i + 1]]] for i in range(count)]
        assert found == [analyzer.analyze(*one) for one in zip(texts[:count], languages, strict=False)]
        assert set(names) == {name for own in found for name in own}


PHRASES = (
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


@pytest.mark.parametrize("text", PHRASES)
@pytest.mark.parametrize("forms", FORMS, ids=lambda forms: " ".join(sorted(forms)))
def test_finds_what_the_pattern_finds(text: str, forms: set[str]) -> None:
    assert find_words(text, forms) == [match.span() for match in any_word_pattern(forms).finditer(text)]
