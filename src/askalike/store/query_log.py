"""The log of users' queries, their feedback, daily counts of use, and the gaps that moderators chose to ignore.

Only complete queries are logged, never keystrokes, and not who asked; `retention.py` deletes them, and feedback. Daily
counts have no texts, cookies or names, and are kept longer.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, NamedTuple, get_args

from askalike.core.values import now
from askalike.store.archive import Archive
from askalike.store.database import Database, execute, write_transaction
from askalike.store.retention import get_keep_days

FeedbackVerdict = Literal["accept", "reject", "none_of_these", "posted_anyway"]
FEEDBACK_VERDICTS: tuple[FeedbackVerdict, ...] = get_args(FeedbackVerdict)
MAX_STORED_BODY = 2_000
"""Number of characters of a query's body that are stored; its title and the rest of the body say no more about it."""
UNHELPFUL_VERDICTS = ("none_of_these", "posted_anyway")


@dataclass(frozen=True, slots=True)
class LoggedQuery:
    """A query, the ids of the questions shown for it, best first, and the ranker that retrieved them.

    probability: that the first one asks the same; None if the ranker is not calibrated.
    """

    title: str
    body: str
    shown_ids: Sequence[str]
    ranker: str
    probability: float | None = None


class UnhelpedQuery(NamedTuple):
    """The title of a query that found nothing helpful, its time, and the reason: `nothing` retrieved, or a verdict."""

    title: str
    asked_at: str
    reason: str


def log_query(archive: Archive, query: LoggedQuery) -> None:
    """Log a query, unless the archive keeps nothing."""
    if get_keep_days(archive):
        at = now("milliseconds")
        body = query.body[:MAX_STORED_BODY]
        row = (at, query.title, body, query.ranker, json.dumps(query.shown_ids), query.probability)
        columns = "created_at, title, body, ranker, shown_ids, probability"
        execute(archive, f"INSERT INTO query_log ({columns}) VALUES (?, ?, ?, ?, ?, ?)", *row)


def insert_feedback(archive: Archive, query: LoggedQuery, verdict: FeedbackVerdict, chosen_id: str | None) -> None:
    """Store a verdict on one of the shown questions, or on all of them if `chosen_id` is None; see `log_query`."""
    if not get_keep_days(archive):
        return
    at = now("milliseconds")
    body = query.body[:MAX_STORED_BODY]
    row = (at, query.title, body, json.dumps(query.shown_ids), chosen_id, verdict, query.ranker)
    columns = "created_at, title, body, shown_ids, chosen_id, verdict, ranker"
    execute(archive, f"INSERT INTO feedback ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", *row)


def weekly_verdicts(archive: Archive, weeks: int) -> list[tuple[str, dict[str, int]]]:
    """Return the counts of verdicts in the latest weeks with feedback, by the date of the week's Monday."""
    sql = "SELECT date(created_at, 'weekday 0', '-6 days'), verdict, COUNT(*) FROM feedback GROUP BY 1, 2 ORDER BY 1"
    counts: dict[str, dict[str, int]] = {}
    for week, verdict, count in archive._connection.execute(sql):
        counts.setdefault(week, dict.fromkeys(FEEDBACK_VERDICTS, 0))[verdict] = count
    return list(counts.items())[-weeks:]


def read_unhelped_queries(archive: Archive, min_probability: float = 0.0) -> Iterator[UnhelpedQuery]:
    """Yield the queries that found nothing, nothing of that probability, or nothing helpful; oldest first."""
    sql = f"""SELECT title, created_at AS at, 'nothing' FROM query_log WHERE shown_ids = '[]' OR probability < ?1
        UNION ALL SELECT title, created_at, verdict FROM feedback WHERE verdict IN {UNHELPFUL_VERDICTS} ORDER BY at"""
    return map(UnhelpedQuery._make, archive._connection.execute(sql, (min_probability,)))


def has_probabilities(archive: Archive) -> bool:
    """Return whether the best hit of any logged query has a probability."""
    sql = "SELECT EXISTS (SELECT 1 FROM query_log WHERE probability IS NOT NULL)"
    return bool(archive._connection.execute(sql).fetchone()[0])


def measure_stored(archive: Archive) -> tuple[int, int]:
    """Return the number of queries, pieces of feedback and posted questions, and the bytes of their texts."""
    sql = """SELECT COUNT(*), TOTAL(LENGTH(CAST(text AS BLOB))) FROM (
        SELECT title || body || shown_ids AS text FROM query_log
        UNION ALL SELECT title || body || shown_ids FROM feedback
        UNION ALL SELECT title || body FROM drafts WHERE origin LIKE 'asked/%')"""
    count, size = archive._connection.execute(sql).fetchone()
    return count, int(size)


def ignore_phrasings(archive: Archive, digests: Iterable[str], ignored_by: str) -> None:
    """Ignore phrasings in gaps from now on. Only their digests are stored."""
    at = now("milliseconds")
    rows = [(digest, at, ignored_by) for digest in digests]
    with write_transaction(archive) as connection:
        connection.executemany("INSERT OR IGNORE INTO ignored_gaps VALUES (?, ?, ?)", rows)


def restore_phrasings(archive: Archive, digests: Iterable[str]) -> None:
    """Stop ignoring phrasings, given by their digests."""
    with write_transaction(archive) as connection:
        connection.executemany("DELETE FROM ignored_gaps WHERE phrasing_digest = ?", [(digest,) for digest in digests])


def ignored_phrasings(archive: Archive) -> set[str]:
    """Return the digests of the ignored phrasings."""
    return {digest for (digest,) in archive._connection.execute("SELECT phrasing_digest FROM ignored_gaps")}


def ignored_phrasings_version(archive: Archive) -> tuple[int, str | None]:
    """Return a value that changes with the ignored phrasings: their number and the time of the latest."""
    count, latest = archive._connection.execute("SELECT COUNT(*), MAX(ignored_at) FROM ignored_gaps").fetchone()
    return count, latest


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
