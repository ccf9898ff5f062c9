"""What people asked and what they said of the answers: settled questions, never keystrokes, no longer than wanted."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from askalike.archive.store import Archive, storage_errors
from askalike.archive.writer import atomic

Verdict = Literal["accept", "reject", "none_of_these", "posted_anyway"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
UNHELPED = ("none_of_these", "posted_anyway")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that somebody asked, the ids that were shown for it, best first, and the ranker that found them."""

    title: str
    body: str
    shown: Sequence[str]
    model: str


@dataclass(frozen=True, slots=True)
class Gap:
    """A question that was asked so many times without anything that helped, and when it last was."""

    title: str
    times: int
    last_asked_at: str


def keep(archive: Archive, asked: Asked, days: float) -> None:
    """Keeps a question that was asked, and lets go of those older than so many days. Nothing is kept for 0 days."""
    with storage_errors(archive.path), atomic(archive.connection):
        archive.connection.execute("DELETE FROM asked WHERE asked_at < ?", (_ago(days),))
        if days:
            row = (_now(), asked.title, asked.body, asked.model, json.dumps(asked.shown))
            archive.connection.execute(
                "INSERT INTO asked (asked_at, title, body, model, found) VALUES (?,?,?,?,?)", row
            )


def judge(archive: Archive, asked: Asked, verdict: Verdict, chosen: str | None) -> None:
    """Keeps what somebody said of what was shown: on the question `chosen`, or on all of them."""
    row = (_now(), asked.title, asked.body, json.dumps(asked.shown), chosen, verdict, asked.model)
    sql = "INSERT INTO feedback (given_at, title, body, shown, chosen, verdict, model) VALUES (?, ?, ?, ?, ?, ?, ?)"
    with storage_errors(archive.path):
        archive.connection.execute(sql, row)


def gaps(archive: Archive, most: int) -> list[Gap]:
    """The questions for which nothing was found, or nothing that helped: those asked most often first."""
    sql = (
        "SELECT MIN(title), COUNT(*), MAX(at) FROM (SELECT title, asked_at AS at FROM asked WHERE found = '[]' "
        "UNION ALL SELECT title, given_at FROM feedback WHERE verdict IN (?, ?)) "
        "GROUP BY LOWER(TRIM(title)) ORDER BY 2 DESC, 3 DESC, 1 LIMIT ?"
    )
    return [Gap(*row) for row in archive.connection.execute(sql, (*UNHELPED, most))]


def purge(archive: Archive, days: float) -> tuple[int, int]:
    """Deletes the questions asked, and the feedback given, more than so many days ago; how many there were of each."""
    with storage_errors(archive.path), atomic(archive.connection):
        asked = archive.connection.execute("DELETE FROM asked WHERE asked_at < ?", (_ago(days),)).rowcount
        given = archive.connection.execute("DELETE FROM feedback WHERE given_at < ?", (_ago(days),)).rowcount
    return asked, given


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _ago(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="milliseconds")
