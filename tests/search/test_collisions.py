"""Texts that were chosen so that hashes of them are equal do not change what is found."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from askalike import rankers
from askalike.core.records import Question
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.store.archive import Archive
from askalike.text.words import fold_title
from hash_collisions import COLLIDING

TEXTS = (
    "my bicycle was stolen", "where can I park a bicycle", "a stolen card", "how long do I boil an egg", "egg or hen",
    "can I rent a boat", "opening hours", "is the pool heated", "lost keys", "which bus goes to the lake",
)  # fmt: skip
QUERIES = ("bicycle", "stolen bicycle", "boil an egg", "stolen")
FOUND_TITLES = {"Which bus goes to the lake?": "9", "Where is the boat?": "r"}
QUESTIONS = [Question(str(n), text) for n, text in enumerate(TEXTS)]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    with Archive.create(tmp_path_factory.mktemp("collisions") / "a") as archive:
        archive.upsert(QUESTIONS)
        yield archive


def open_engine(archive: Archive, ranker: str, **settings: str) -> ArchiveRetriever:
    """Return an engine that has read no text, as in a new process."""
    rankers.open_current(rankers.create(ranker, settings), archive.view())
    return ArchiveRetriever(archive, rankers.create(ranker, settings))


@pytest.mark.parametrize("ranker", ["bm25", "static", "hybrid"])
def test_token_with_a_words_hash_changes_no_search(archive: Archive, ranker: str) -> None:
    first, other = open_engine(archive, ranker), open_engine(archive, ranker)
    expected = [first.search(query).hits for query in QUERIES]
    assert all(expected)
    for token in COLLIDING.values():
        other.search(token)
    assert [other.search(query).hits for query in QUERIES] == expected


@pytest.mark.parametrize("ranker", ["bm25", "static", "hybrid"])
def test_token_with_a_words_hash_changes_no_batch(archive: Archive, ranker: str) -> None:
    first, other = open_engine(archive, ranker), open_engine(archive, ranker)
    expected = [result.hits for result in first.search_many(QUERIES)]
    together = other.search_many([*QUERIES, *COLLIDING.values()])
    assert [result.hits for result in together[: len(QUERIES)]] == expected


def test_token_with_a_words_hash_changes_no_vector() -> None:
    encoder = rankers.create("static").encoder
    before = [Question(f"c{n}", token) for n, token in enumerate(COLLIDING.values())]
    encoder.encode_documents(before)
    [after], [alone] = (one.encode_documents(QUESTIONS).parts for one in (encoder, rankers.create("static").encoder))
    np.testing.assert_array_equal(after.values, alone.values)


@pytest.fixture
def equal_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give all titles that begin with the same letter the same key."""
    for module in ("_indexed", "_searcher"):
        monkeypatch.setattr(f"askalike.rankers.{module}.title_key", lambda title: ord(fold_title(title)[:1] or "\0"))


@pytest.mark.usefixtures("equal_keys")
@pytest.mark.parametrize("ranker", ["bm25", "static"])
def test_only_questions_with_the_typed_title_come_first(tmp_path: Path, ranker: str) -> None:
    with Archive.create(tmp_path / "a") as archive:
        archive.upsert([*QUESTIONS, Question("r", "a rephrased one", rephrasings=("where is the boat",))])
        searcher = open_engine(archive, ranker, fields="title,text").searcher()
        queries = {title: Question(title, title) for title in ("which bicycle was stolen", *FOUND_TITLES)}
        run = rankers.rank(searcher, queries, 5)
        assert {title: hits[0].id for title, hits in run.items()} == FOUND_TITLES | {"which bicycle was stolen": "0"}
