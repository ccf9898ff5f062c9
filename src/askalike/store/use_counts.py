"""Usage of an archive as daily counts, without texts, cookies or names. They are kept longer than the query log."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, get_args

from askalike.core.clock import now
from askalike.store.archive import Archive
from askalike.store.database import Database, write_transaction

UseEvent = Literal["shown", "opened", "accepted", "posted", "posted_after_opening"]
"""shown: a page view in which similar questions were shown. opened: one in which the user opened or accepted one of
them. accepted: the user marked one as the answer. posted: the user posted the question anyway. posted_after_opening:
the same after opening a similar question in that page view."""
USE_EVENTS: tuple[UseEvent, ...] = get_args(UseEvent)


@dataclass(frozen=True, slots=True)
class DailyUse:
    """The counts of one day, or summed over several or all days."""

    day: str
    counts: Mapping[UseEvent, int]

    @property
    def not_asked(self) -> int:
        """The number of page views in which a user opened a similar question and then did not post their own."""
        return max(0, self.counts["opened"] - self.counts["posted_after_opening"])


def count_use(archive: Archive, events: Iterable[UseEvent]) -> None:
    """Count events of today (UTC)."""
    sql = "INSERT INTO usage_counts VALUES (?, ?, 1) ON CONFLICT (day, event) DO UPDATE SET count = count + 1"
    with write_transaction(archive) as connection:
        connection.executemany(sql, [(now()[:10], event) for event in events])


def daily_use(database: Database, days: int) -> list[DailyUse]:
    """Return the counts of each of the last days up to today (UTC), beginning with the first that has any."""
    rows = database._connection.execute("SELECT day, event, count FROM usage_counts ORDER BY day").fetchall()
    counts: dict[str, dict[UseEvent, int]] = {}
    for day, event, count in rows:
        counts.setdefault(day, _no_use())[event] = count
    today = date.fromisoformat(now()[:10])
    names = [(today - timedelta(days=n)).isoformat() for n in reversed(range(days))]
    return [DailyUse(day, counts.get(day, _no_use())) for day in names if counts and day >= min(counts)]


def sum_use(days: Iterable[DailyUse]) -> DailyUse:
    """Return the sum of the counts of several days."""
    total = _no_use()
    for day in days:
        for event in USE_EVENTS:
            total[event] += day.counts[event]
    return DailyUse("", total)


def _no_use() -> dict[UseEvent, int]:
    return dict.fromkeys(USE_EVENTS, 0)
