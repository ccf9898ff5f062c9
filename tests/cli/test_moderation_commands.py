"""drafts and gaps, as a moderator calls them."""

import pytest

from askalike import Answer, Archive, Link, Question
from askalike.store.query_log import LoggedQuery, insert_feedback, log_query
from commands import askalike


@pytest.fixture
def desk(tmp_path):
    with Archive.create(tmp_path / "desk") as archive:
        archive.upsert(
            [Question("1", "How do I renew a card?", accepted_answer_id="a"), Question("2", "Renew my card")]
        )
        archive.upsert([Answer("a", "1", f"<p>{'Ask at the desk. ' * 40}</p>", "html"), Link("2", "1")])
    return tmp_path / "desk"


def test_a_long_answer_of_a_draft_is_cut_between_words_and_says_so(desk):
    [answer] = [line for line in askalike("drafts", desk).stdout.splitlines() if "answer: " in line]
    assert answer.startswith("    answer: Ask at the desk.")
    assert answer.removesuffix("…").split()[-1] in {"Ask", "at", "the", "desk."}
    assert answer.endswith("…")


def test_gaps_say_why_in_the_words_of_the_page(desk):
    with Archive.open(desk) as archive:
        log_query(archive, LoggedQuery("Where do I park?", "", (), "bm25"), 30)
        for verdict in ("none_of_these", "posted_anyway"):
            insert_feedback(archive, LoggedQuery("Where do I park?", "", ("1",), "bm25"), verdict, None)
    assert "1 × no helpful hit, 1 × found nothing, 1 × asked anyway" in askalike("gaps", desk).stdout
