"""What people said of pairs, and how they use an archive: taken together, exported, learned from, held out, counted."""

import csv
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from askalike.core.errors import InputError
from askalike.core.records import Link, Question
from askalike.core.values import now
from askalike.labels.training_pairs import training_pairs
from askalike.readers import import_archive
from askalike.store import candidate_pairs
from askalike.store.archive import Archive
from askalike.store.candidate_pairs import CandidatePair, add_proposals, decide_proposal
from askalike.store.contents import pending_changes
from askalike.store.feedback import (
    export_feedback,
    held_out_feedback_split,
    is_held_out,
    judged_pairs,
    rejected_documents,
    training_pairs_from_feedback,
)
from askalike.store.query_log import (
    LoggedQuery,
    count_use,
    daily_use,
    insert_feedback,
    log_query,
    sum_use,
)
from askalike.store.retention import delete_containing, delete_older_than
from database import run_sql


def ids_held_out(held: bool, count: int) -> list[str]:
    return [id for id in (f"q{n}" for n in range(1000)) if is_held_out(id) == held][:count]


LEARN, HELD = ids_held_out(False, 4), ids_held_out(True, 2)


@pytest.fixture
def archive(archive):
    archive.upsert(Question(id, f"title {id}") for id in (*LEARN, *HELD))
    return archive


def give_feedback(archive, title, verdict, chosen=None, shown=()):
    insert_feedback(
        archive, LoggedQuery(title, "", list(shown) or ([chosen] if chosen else []), "bm25"), verdict, chosen
    )


def test_verdicts_of_a_pair_are_taken_together(archive):
    a, b, c, _ = LEARN
    for verdict in ("accept", "accept", "reject"):
        give_feedback(archive, "lost my card", verdict, a)
    give_feedback(archive, "lost my card", "none_of_these", shown=[b, c])
    give_feedback(archive, "lost my card", "accept", c)
    give_feedback(archive, "another", "posted_anyway", shown=[a])
    found = {(j.query.title, j.document_id): j.relevant for j in judged_pairs(archive)}
    assert found == {("lost my card", a): True, ("lost my card", b): False}
    assert len({j.query.id for j in judged_pairs(archive)}) == 1


def test_held_out_feedback_is_never_learned_from(archive):
    a, b, *_ = LEARN
    give_feedback(archive, "card", "accept", a)
    give_feedback(archive, "bicycle", "accept", HELD[0])
    give_feedback(archive, "bicycle", "accept", a)
    give_feedback(archive, "bicycle", "reject", b)
    give_feedback(archive, "parking", "reject", b)
    assert {j.query.title for j in training_pairs_from_feedback(archive)} == {"card", "parking"}
    assert rejected_documents(archive) == {training_pairs_from_feedback(archive)[1].query.id: [b]}
    split = held_out_feedback_split(archive)
    assert [q.title for q in split.queries.values()] == ["bicycle"]
    assert list(split.qrels.values()) == [{HELD[0]: 1, a: 1}]
    archive.delete([HELD[0], a])
    assert held_out_feedback_split(archive).queries == {}


def test_feedback_is_a_training_signal(archive):
    a, b, *_ = LEARN
    give_feedback(archive, "card", "accept", a)
    give_feedback(archive, "gone", "accept", "nobody")
    give_feedback(archive, "bicycle", "accept", HELD[0])
    give_feedback(archive, "wrong", "reject", b)
    (pair,) = training_pairs(archive.training_view(()), ["feedback"])
    assert (pair.query.title, pair.positive.id, pair.signal, pair.cluster) == ("card", a, "feedback", a)
    assert list(training_pairs(archive.training_view((), before="2001-01-01"), ["feedback"])) == []


def test_feedback_of_a_held_out_cluster_is_none(archive):
    a, b, *_ = LEARN
    give_feedback(archive, "card", "accept", a)
    archive.upsert([Link(b, a)])
    assert list(training_pairs(archive.training_view(["duplicates"]), ["feedback"])) == []


def test_the_export_is_read_back_as_pairs(archive, tmp_path):
    a, b, c, d = LEARN
    give_feedback(archive, 'My "card", lost\nin the pool', "accept", a)
    give_feedback(archive, "card", "none_of_these", shown=[a, b, "nobody"])
    add_proposals(archive, [CandidatePair(a, b, 0.9, 1.0, "bm25"), CandidatePair(c, d, 0.8, 1.0, "bm25")])
    for decision in ("accept", "reject"):
        decide_proposal(archive, candidate_pairs.pending_proposals(archive)[0].id, decision)
    assert export_feedback(archive, tmp_path / "pairs.csv") == 5
    with open(tmp_path / "pairs.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(r["candidate_id"], r["label"], r["verdict"]) for r in rows] == [
        (a, "1", "accept"), (a, "0", "none_of_these"), (b, "0", "none_of_these"), (b, "1", "accepted"),
        (d, "0", "rejected"),
    ]  # fmt: skip
    summary = import_archive("pairs", [str(tmp_path / "pairs.csv")], str(tmp_path / "pairs"))
    assert "0 rejected" in str(summary)
    with Archive.open(tmp_path / "pairs") as read:
        labels = run_sql(read, "SELECT COUNT(*), SUM(relevance) FROM judgements")[0]
    assert labels == (5, 2)
    with pytest.raises(InputError, match="cannot be written there; choose another file"):
        export_feedback(archive, tmp_path / "no" / "pairs.csv")


@pytest.mark.parametrize("title", ["=HYPERLINK(1)", "＝1+1", "@SUM(1)", "\tx"])
def test_an_export_has_no_formulas(archive, tmp_path, title):
    give_feedback(archive, title, "accept", LEARN[0])
    export_feedback(archive, tmp_path / "pairs.csv")
    with open(tmp_path / "pairs.csv", encoding="utf-8", newline="") as file:
        assert [f"'{title.strip()}"] == [row["query"].replace("\t", "") for row in csv.DictReader(file)]


def test_an_earlier_export_survives_a_full_disk(archive, tmp_path, limit_file_size):
    for n in range(200):
        give_feedback(archive, f"asked {n}", "accept", LEARN[0])
    assert export_feedback(archive, tmp_path / "pairs.csv") == 200
    earlier = (tmp_path / "pairs.csv").read_bytes()
    limit_file_size(len(earlier) // 2)
    with pytest.raises(InputError, match="cannot be written there"):
        export_feedback(archive, tmp_path / "pairs.csv")
    assert (tmp_path / "pairs.csv").read_bytes() == earlier
    assert not list(tmp_path.glob(".*"))


def logged(archive, text="Where is my parcel?", days_ago=0.0):
    log_query(archive, LoggedQuery(text, "", ["a"], "bm25"))
    insert_feedback(archive, LoggedQuery(text, "", ["a"], "bm25"), "none_of_these", None)
    for table in ("query_log", "feedback"):
        where = f"number = (SELECT MAX(number) FROM {table})"
        sql = f"UPDATE {table} SET created_at = ? WHERE {where}"
        run_sql(archive, sql, now("milliseconds", days_ago=days_ago))


def titles(archive, table):
    return [title for (title,) in run_sql(archive, f"SELECT title FROM {table} ORDER BY number")]


def test_asked_texts_are_deleted_from_all_files(tmp_path):
    with Archive.create(tmp_path / "a") as archive:
        logged(archive, "Write to ANN@example.org: SECRETMARKER")
        logged(archive, "Where is my parcel?")
        assert delete_containing(archive, " ann@EXAMPLE.org ")[:2] == (1, 1)
        assert titles(archive, "query_log") == titles(archive, "feedback") == ["Where is my parcel?"]
        for file in (tmp_path / "a").glob("archive.sqlite*"):
            assert b"SECRETMARKER" not in file.read_bytes()
        with pytest.raises(ValueError, match="some text"):
            delete_containing(archive, " ")


def test_jumping_clock_deletes_only_older_ones(tmp_path, monkeypatch):
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    monkeypatch.setattr("askalike.core.values.datetime", SimpleNamespace(now=lambda zone: moment))
    with Archive.create(tmp_path / "a") as archive:
        logged(archive)
        moment = datetime(2025, 1, 1, tzinfo=UTC)  # set back: nothing is old
        assert delete_older_than(archive, 90)[:2] == (0, 0)
        logged(archive, "from the past")
        moment = datetime(2026, 1, 2, tzinfo=UTC)
        assert delete_older_than(archive, 90)[:2] == (1, 1)
        assert titles(archive, "feedback") == ["Where is my parcel?"]
        assert pending_changes(archive, 0)[0] >= 0


def test_events_are_counted_by_day(archive, monkeypatch):
    for day, events in (
        ("2026-02-27", ["shown", "shown", "opened", "accepted"]),
        ("2026-03-01", ["shown", "opened", "posted", "posted_after_opening"]),
    ):
        monkeypatch.setattr("askalike.store.query_log.now", lambda day=day: f"{day}T12:00:00")
        for event in events:
            count_use(archive, [event])
    first, between, last = daily_use(archive, 30)
    assert [each.day for each in (first, between, last)] == ["2026-02-27", "2026-02-28", "2026-03-01"]
    assert (first.counts["shown"], first.not_asked, last.not_asked) == (2, 1, 0)
    assert set(between.counts.values()) == {0}
    total = sum_use([first, between, last])
    assert (total.counts["shown"], total.counts["opened"], total.not_asked) == (3, 2, 1)
    assert [each.day for each in daily_use(archive, 1)] == ["2026-03-01"]


def test_nothing_but_day_event_and_count_is_stored(archive):
    assert daily_use(archive, 30) == []
    count_use(archive, ["shown"])
    columns = [row[1] for row in run_sql(archive, "PRAGMA table_info(usage_counts)")]
    assert columns == ["day", "event", "count"]
