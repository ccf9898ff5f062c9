"""People write politely and long, and find what they would find by the question alone."""

import pytest

from askalike.core.hits import TYPED_QUERY_ID
from askalike.core.records import Question
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.search.readings import read_queries
from calibration.riverside import riverside

ASKED = "I have lost my library card. What should I do?"


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with ArchiveRetriever.open(
        riverside(tmp_path_factory.mktemp("readings") / "archive"), "lm_jelinek_mercer"
    ) as engine:
        yield engine


class Telling:
    """A searcher that takes the sentences with `talk` for such."""

    language, own_languages, text_languages, bridges_languages, detects_language = "en", ["en"], (), False, False

    def find_talk(self, sentences):
        return {one: 9.0 for one in sentences if "talk" in one.title}


def titles(text, id=TYPED_QUERY_ID):
    return [reading.title for reading in read_queries(Telling(), [Question(id, text)])[0]]


def test_title_is_read_as_it_is():
    assert titles("How do I renew a loan?") == ["How do I renew a loan?"]


def test_sentence_that_asks_is_a_reading():
    text = "I borrowed a book in May. My shelf fell down. How do I renew a loan? Thanks!"
    whole = "I borrowed a book in May. My shelf fell down. How do I renew a loan?"
    assert titles(text) == [whole, "How do I renew a loan?"]


def test_capitals_are_lowered():
    assert titles("HOW DO I RENEW A LOAN") == ["how do i renew a loan"]
    assert titles("GPL") == ["GPL"]


def test_archived_question_has_one_reading():
    assert titles("Hello! How do I renew a loan?", "r1") == ["Hello! How do I renew a loan?"]


def test_greeting_changes_no_hit(engine):
    plain = engine.search(ASKED)
    polite = engine.search(f"Hello everybody,\n{ASKED}\nMany thanks and kind regards,\nAnna Field")
    assert polite[0].id == plain[0].id
    assert polite[0].grade == plain[0].grade == "same"


def test_long_story_is_answered(engine):
    story = "We were on holiday by the sea last week and it rained a lot, which the children hated. "
    found = engine.search(f"{story} {ASKED}", k=3)
    assert engine.search(ASKED)[0].id in [hit.id for hit in found]


def test_talk_is_left_out_if_more_is_said():
    asked = "How do I renew a loan?"
    assert titles(f"My boss is talking. {asked} We talk on Friday.") == [asked]
    assert titles(f"The book was blue. {asked} My boss is talking.") == [f"The book was blue. {asked}", asked]
    assert titles("My boss is talking. We talk on Friday.")[0] == "My boss is talking. We talk on Friday."


def test_batch_keeps_its_order(engine):
    texts = [f"Hi! {ASKED} Thanks.", "Can I return a book late?", f"{ASKED} My sister has it. Is it still valid?"]
    together = engine.search_many(texts)
    assert [[hit.id for hit in one] for one in together] == [[hit.id for hit in engine.search(text)] for text in texts]
