"""What people asked and what they said of the answers: settled questions, never keystrokes, no longer than wanted."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from askalike.clock import now
from askalike.store.archive import Archive, storage_errors
from askalike.store.writer import atomic

FeedbackVerdict = Literal["accept", "reject", "none_of_these", "posted_anyway"]
FEEDBACK_VERDICTS: tuple[FeedbackVerdict, ...] = get_args(FeedbackVerdict)
UNHELPFUL_VERDICTS = ("none_of_these", "posted_anyway")


@dataclass(frozen=True, slots=True)
class LoggedQuery:
    """A question that somebody asked, the ids that were shown for it, best first, and the ranker that found them.

    `probability`: that the first of them asks the same; None where that is not known.
    """

    title: str
    body: str
    shown_ids: Sequence[str]
    model: str
    probability: float | None = None


class UnhelpedQuery(NamedTuple):
    """A question that somebody asked without finding what helps, and when. `why`: `nothing` was found, or a verdict."""

    title: str
    asked_at: str
    reason: str


def log_query(archive: Archive, query: LoggedQuery, retention_days: float) -> None:
    """Keeps a question that was asked, and lets go of those older than so many days. Nothing is kept for 0 days."""
    with storage_errors(archive.path), atomic(archive.connection):
        archive.connection.execute(
            "DELETE FROM asked WHERE asked_at < ?", (now("milliseconds", days_ago=retention_days),)
        )
        if retention_days:
            at = now("milliseconds")
            row = (at, query.title, query.body, query.model, json.dumps(query.shown_ids), query.probability)
            columns = "asked_at, title, body, model, found, probability"
            archive.connection.execute(f"INSERT INTO asked ({columns}) VALUES (?, ?, ?, ?, ?, ?)", row)


def insert_feedback(archive: Archive, query: LoggedQuery, verdict: FeedbackVerdict, chosen_id: str | None) -> None:
    """Keeps what somebody said of what was shown: on the question `chosen`, or on all of them."""
    row = (now("milliseconds"), query.title, query.body, json.dumps(query.shown_ids), chosen_id, verdict, query.model)
    sql = "INSERT INTO feedback (given_at, title, body, shown, chosen, verdict, model) VALUES (?, ?, ?, ?, ?, ?, ?)"
    with storage_errors(archive.path):
        archive.connection.execute(sql, row)


def read_unhelped_queries(archive: Archive, min_probability: float = 0.0) -> Iterator[UnhelpedQuery]:
    """All that was asked and found nothing, or nothing as probable, or nothing that helped; the oldest first."""
    sql = (
        "SELECT title, asked_at AS at, 'nothing' FROM asked WHERE found = '[]' OR probability < ?1 "
        f"UNION ALL SELECT title, given_at, verdict FROM feedback WHERE verdict IN {UNHELPFUL_VERDICTS} ORDER BY at"
    )
    return map(UnhelpedQuery._make, archive.connection.execute(sql, (min_probability,)))


def delete_older_than(archive: Archive, days: float) -> tuple[int, int]:
    """Deletes the questions asked, and the feedback given, more than so many days ago; how many there were of each."""
    before = (now("milliseconds", days_ago=days),)
    with storage_errors(archive.path), atomic(archive.connection):
        asked = archive.connection.execute("DELETE FROM asked WHERE asked_at < ?", before).rowcount
        given = archive.connection.execute("DELETE FROM feedback WHERE given_at < ?", before).rowcount
    return asked, given
