"""What an unfinished word may be: a complete word first, then what is stored and typed most."""

import pytest

from askalike import rankers
from askalike.core.records import Question
from askalike.rankers._completion import ArchiveWords
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.search.retriever import Retriever
from askalike.store import Archive
from askalike.store.query_log import LoggedQuery, log_query
from askalike.text.analyzer import Analyzer

TITLES = {
    "car": "Where may I park my car?",
    "card": "How do I renew my library card?",
    "cards": "Are cards free for children?",
    "carpet": "Who cleans the carpet?",
    "whale": "Which books are about a whale?",
    "what": "What does a copy cost?",
    "what else": "What do I need for the reading room?",
    "what now": "What happens when a book is late?",
    "running": "Is running on the stairs allowed?",
    "shor": "What is Shor's algorithm?",
    "short": "Is there a short guide to the shelves?",
}


@pytest.fixture
def archive(archive):
    archive.upsert(Question(id, title, language="en") for id, title in TITLES.items())
    return archive


def complete(archive, title, ranker="hybrid"):
    searcher = rankers.open_current(rankers.create(ranker), archive.view())
    [one] = rankers.resolve(searcher, {"q": Question("q", title, language="en")}, True)
    return one


def shown(archive, title):
    with ArchiveRetriever.open(archive.path) as retriever:
        return [hit.id for hit in retriever.search(title, prefix=True)]


def test_complete_word_comes_before_its_completions(archive):
    one = complete(archive, "my car")
    assert one.finished is None
    assert max(one.completions, key=one.completions.get) == "car"
    assert 0 < one.completions["card"] < one.completions["car"] == 1
    assert shown(archive, "car")[0] == "car"


def test_word_with_possessive_ending_is_complete(archive):
    assert shown(archive, "Shor's") == ["shor"]
    assert shown(archive, "shor")[0] == "shor"
    assert "short" in shown(archive, "sho")


def test_likely_function_word_finds_nothing(archive):
    assert complete(archive, "wha").finished.title == "what"
    assert shown(archive, "wha") == shown(archive, "what") == []
    assert shown(archive, "whal") == ["whale"]


def test_words_with_shorter_stems_are_completed(archive):
    for typed in ("run", "runn", "runni", "runnin", "running"):
        assert "running" in shown(archive, typed), typed
    assert dict(complete(archive, "runni").completions) == pytest.approx({"run": 5 / 7})


def test_one_letter_says_nothing(archive):
    one = complete(archive, "my library c")
    assert one.finished.title == "my library "
    assert max(one.completions.values()) < 0.5


def test_words_before_a_space_are_finished(archive):
    assert not complete(archive, "my car ").prefix
    assert complete(archive, "my car").prefix


def test_words_before_a_courtesy_are_finished(archive):
    assert "car" in shown(archive, "Where may I park my car? Thanks")
    assert shown(archive, "sho. Thanks a lot") == []
    assert "short" in shown(archive, "Hello everybody! Where is the sho")


def test_completions_count_by_what_is_typed(archive):
    assert complete(archive, "carp").finished.title == "carpet"
    for _ in range(5):
        log_query(archive, LoggedQuery("Does the carport close at night?", "", (), "hybrid"))
        log_query(archive, LoggedQuery("Who cleans the carpet?", "", (), "hybrid"))
    weights = complete(archive, "carp").completions
    assert "carport" not in weights  # no question has it
    assert complete(archive, "ca").finished.title == "carpet"


def test_a_list_of_texts_completes_words():
    with Retriever(TITLES.values(), "lm_jelinek_mercer") as texts:
        assert texts.search("my car")[0].title == TITLES["car"]


def test_words_are_read_again_after_a_tenth(tmp_path):
    with Archive.create(tmp_path / "desk") as archive:
        archive.upsert(Question(str(n), f"Question number {n}?") for n in range(100))
        words = ArchiveWords(archive.view(), Analyzer())
        for n in range(10):
            archive.upsert([Question(f"new {n}", f"Another number {n}?")])
            assert not words.are_old(archive.view())
        log_query(archive, LoggedQuery("number", "", [], "lm"))
        assert words.are_old(archive.view())
