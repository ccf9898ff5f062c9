"""Advice on prose: phrases, counted nouns and sentences are found."""

import ast

import pytest
from advise import find_plurals, find_stumbles, split_sentences


@pytest.mark.parametrize(
    "text", ["it is told by the id", "training goes on", "so many hits", "x: is no SQLite file", "built anew"]
)
def test_find_stumbles_phrase(text: str) -> None:
    assert len(list(find_stumbles(text))) == 1


def test_find_plurals_number_that_may_be_one() -> None:
    found = find_plurals(ast.parse('f"{n} files"; f"1 of {n} files"; f"{LIMIT} files"; f"{n} of them"'))
    assert list(found) == [(1, "n files")]


def test_split_sentences_code_and_items() -> None:
    code, items = "```console\n$ no\n```\n", "- six [seven](x.md). `Eight` nine\n1. ten\n| no | no |\n"
    text = f"# Title\n\nOne two three. Four `a b c` five!\n\n{code}{items}"
    assert [len(words) for words in split_sentences(text)] == [3, 3, 2, 2, 1]
