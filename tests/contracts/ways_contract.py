"""One text has the same hits with the same grades in the same order, whichever way it is asked.

A test file imports all names, and defines a fixture `ask`: a function of a text that returns the id and the grade of
each hit of `library` by the ranker WORDS, best first.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import askalike
from askalike import Archive, ArchiveRetriever, Link
from calibration.riverside import ask_again, import_riverside

WORDS = "lm_jelinek_mercer"
K = 7
TEXTS = (
    "I have lost my library card.",
    "Hello! Can I return a book late? Many thanks, Anna",
    "bike stolen",
    "What do hedgehogs eat?",
    "The shop had closed early. I want to hire a bike. What does it cost?",
    "Dear team, I am new here. My library card was stolen in the train yesterday and I need another one. How do I "
    "block it? Is there a fee for the replacement? Kind regards, Tom",
    "Hi there, sorry to bother you",
    "library",
    "hedgehog",
    "the of and",
    "LOST MY LIBRARY CARD",
    "How do I renw a book? plz :)",
    "How do I renew my book? Thanks!",
)
Hits = Sequence[tuple[str, str | None]]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled example, in which twenty questions are asked again: ten of these are known as duplicates."""
    path = import_riverside(tmp_path_factory.mktemp("ways") / "library")
    with Archive.open(path) as archive:
        archive.set_meta(language="en")
        ask_again(archive)
        archive.upsert(Link(f"again-r{n:03}", f"r{n:03}") for n in range(1, 11))
    return path


@pytest.fixture(scope="module")
def engine(library: Path):
    with askalike.load(library, WORDS) as engine:
        yield engine


def asked(engine: ArchiveRetriever, text: str) -> Hits:
    """Return the hits of a text in Python, typed as on a page."""
    return [(hit.id, hit.grade) for hit in engine.search(text, K, prefix=True)]


@pytest.mark.parametrize("text", TEXTS)
def test_hits_and_grades_are_those_of_the_archive(ask: Callable[[str], Hits], engine, text):
    assert ask(text) == asked(engine, text)


def test_texts_have_hits_of_each_grade(engine):
    grades = [grade for text in TEXTS for _, grade in asked(engine, text)]
    assert {"same", "related"} == set(grades)
    assert [] in [asked(engine, text) for text in TEXTS]
