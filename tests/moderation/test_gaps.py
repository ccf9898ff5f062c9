"""Gaps: which phrasings are one gap, in which order, and that an ignored gap stays ignored."""

import json
from functools import partial

import pytest

from askalike.core.errors import ArchiveError, UncalibratedError
from askalike.moderation.gaps import GapCache, find_gaps, get_gap, ignore_gap, restore_gap
from askalike.store.archive import Archive
from askalike.store.query_log import LoggedQuery, insert_feedback, log_query
from askalike.store.retention import delete_older_than
from commands import askalike


@pytest.fixture
def archive(tmp_path):
    with Archive.create(tmp_path / "desk") as archive:
        archive.set_meta(language="en")
        yield archive


def ask(archive, *titles, shown=(), probability=None):
    for title in titles:
        log_query(archive, LoggedQuery(title, "", shown, "bm25", probability))


def titles(gaps):
    return [gap.title for gap in gaps]


def test_phrasings_of_a_question_are_one_gap(archive):
    ask(archive, "Where can I park my boat?", "boat parking", "Where may I park a boat", "Where can I park my boat?")
    ask(archive, "Is there a chess club?")
    insert_feedback(archive, LoggedQuery("Chess clubs", "", ["r1"], "bm25"), "posted_anyway", None)
    insert_feedback(archive, LoggedQuery("Who mends clocks?", "", ["r1"], "bm25"), "none_of_these", None)
    insert_feedback(archive, LoggedQuery("Lost card", "", ["r1"], "bm25"), "accept", "r1")
    boats, chess, clocks = find_gaps(archive)
    assert (boats.title, boats.count, boats.reasons) == ("Where can I park my boat?", 4, {"nothing": 4})
    assert {p.title: p.count for p in boats.examples} == {
        "Where can I park my boat?": 2, "boat parking": 1, "Where may I park a boat": 1
    }  # fmt: skip
    assert (chess.count, chess.reasons) == (2, {"nothing": 1, "posted_anyway": 1})
    assert (clocks.count, clocks.reasons) == (1, {"none_of_these": 1})


def test_one_title_with_other_details_is_one_gap(archive):
    for body in ("", "It is six metres long.", "I come by land on Sunday, and it has a trailer."):
        log_query(archive, LoggedQuery("Where can I park my boat?", body, (), "bm25", None))
    (boats,) = find_gaps(archive)
    assert boats.count == 3


def test_gaps_min_probability_without_a_calibration(archive):
    ask(archive, "nobody knows", shown=["r3"])
    for refused in (partial(find_gaps, archive), partial(get_gap, archive, "x")):
        with pytest.raises(UncalibratedError, match="not calibrated, so there are no probabilities"):
            refused(min_probability=0.5)


def test_query_with_hits_is_a_gap_if_improbable(archive):
    ask(archive, "answered well", shown=["r1"], probability=0.9)
    ask(archive, "hardly answered", shown=["r2"], probability=0.2)
    ask(archive, "nobody knows", shown=["r3"])
    assert find_gaps(archive) == []
    assert titles(find_gaps(archive, min_probability=0.5)) == ["hardly answered"]


def test_ignored_gap_stays_ignored_in_other_words(archive):
    ask(archive, "Where can I park my boat?", "boat parking", "chess club")
    ignore_gap(archive, find_gaps(archive)[0], "kim")
    assert titles(find_gaps(archive)) == ["chess club"]
    delete_older_than(archive, 0)
    ask(archive, "boat parking", "parking a boat here", "chess club")
    assert titles(find_gaps(archive)) == ["chess club"]
    (boats,) = find_gaps(archive, ignored=True)
    assert boats.count == 2
    assert get_gap(archive, boats.id) == boats
    restore_gap(archive, boats)
    assert len(find_gaps(archive)) == 2
    with pytest.raises(ArchiveError, match="no gap 'x'"):
        get_gap(archive, "x")


def test_texts_without_a_word_are_gaps_too(archive):
    ask(archive, "???", "how do I", "How do I?", "你好吗")
    assert sorted(titles(find_gaps(archive))) == ["???", "how do I", "你好吗"]


def test_without_gaps_nothing_is_said_of_queries(tmp_path):
    with Archive.create(tmp_path / "desk"):
        pass
    assert askalike("gaps", tmp_path / "desk").stdout == "no gaps\n"


def test_the_command(archive):
    ask(archive, "Where can I park my boat?", "boat parking", "chess club")
    for verdict in ("none_of_these", "posted_anyway"):
        insert_feedback(archive, LoggedQuery("chess club", "", ("1",), "bm25"), verdict, None)

    def cli(*arguments):
        done = askalike("gaps", archive.path, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert cli("--ignored") == "no ignored gaps\n"
    assert "    2  Where can I park my boat?\n" in cli()
    assert "1 × no helpful hit, 1 × found nothing, 1 × asked anyway" in cli()
    _, boats = json.loads(cli("--json", "-k", "2"))["gaps"]
    assert (boats["count"], boats["reasons"]) == (2, {"nothing": 2})
    assert "boat" not in cli("--ignore", boats["id"])
    assert "boat" in cli("--ignored")
    assert "boat" in cli("--restore", boats["id"])


def test_cache_saves_time_and_ignoring_counts_at_once(archive, monkeypatch):
    ask(archive, "Where can I park my boat?", "chess club")
    cache, clock = GapCache(), iter([0.0, 1.0, 10.0, 25.0, 25.5, 26.0, 26.5])
    monkeypatch.setattr("askalike.moderation.gaps.time.monotonic", lambda: next(clock))
    assert len(cache.get(archive)) == 2  # this took a second, so the next twenty it is not done again
    ask(archive, "Who mends clocks?")
    assert len(cache.get(archive)) == 2
    assert len(cache.get(archive)) == 3
    ignore_gap(archive, find_gaps(archive)[0])
    assert len(cache.get(archive)) == 2
