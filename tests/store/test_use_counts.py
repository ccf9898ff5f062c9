"""Use is counted by day, and by nothing else."""

import pytest

from askalike.store import Archive
from askalike.store.query_log import count_use, daily_use, sum_use


@pytest.fixture
def archive(tmp_path):
    with Archive.create(tmp_path / "archive") as archive:
        yield archive


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
    columns = [row[1] for row in archive._connection.execute("PRAGMA table_info(usage_counts)")]
    assert columns == ["day", "event", "count"]
