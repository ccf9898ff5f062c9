"""Usage of an archive, as counts by day: without texts, cookies or names. They outlive the query log."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, get_args

from askalike.clock import now
from askalike.store.archive import Archive
from askalike.store.database import Database, write_transaction

UseEvent = Literal["shown", "opened", "accepted", "posted", "posted_after_opening"]
"""shown: a view of a page in which similar questions were shown. opened: one in which somebody opened or accepted one
of them. accepted: somebody said that one answers it. posted: somebody posted the question all the same.
posted_after_opening: one of these, in a view in which they had opened a similar question."""
USE_EVENTS: tuple[UseEvent, ...] = get_args(UseEvent)


@dataclass(frozen=True, slots=True)
class DailyUse:
    """The counts of one day, of several days together, or of all."""

    day: str
    counts: Mapping[UseEvent, int]

    @property
    def not_asked(self) -> int:
        """In how many views somebody opened a similar question and did not post their own after that."""
        return max(0, self.counts["opened"] - self.counts["posted_after_opening"])


def count_use(archive: Archive, events: Iterable[UseEvent]) -> None:
    """Count events of today (UTC)."""
    sql = "INSERT INTO use_counts VALUES (?, ?, 1) ON CONFLICT (day, event) DO UPDATE SET count = count + 1"
    with write_transaction(archive) as connection:
        connection.executemany(sql, [(now()[:10], event) for event in events])


def daily_use(database: Database, days: int) -> list[DailyUse]:
    """Return the counts of each of the last days up to today (UTC), from the first that has any on."""
    rows = database._connection.execute("SELECT day, event, count FROM use_counts ORDER BY day").fetchall()
    counts: dict[str, dict[UseEvent, int]] = {}
    for day, event, count in rows:
        counts.setdefault(day, _no_use())[event] = count
    today = date.fromisoformat(now()[:10])
    names = [(today - timedelta(days=n)).isoformat() for n in reversed(range(days))]
    return [DailyUse(day, counts.get(day, _no_use())) for day in names if counts and day >= min(counts)]


def sum_use(days: Iterable[DailyUse]) -> DailyUse:
    """Return the counts of several days together."""
    total = _no_use()
    for day in days:
        for event in USE_EVENTS:
            total[event] += day.counts[event]
    return DailyUse("", total)


def _no_use() -> dict[UseEvent, int]:
    return dict.fromkeys(USE_EVENTS, 0)
