"""Which ranker an archive serves where none is named: what was put into service last and not withdrawn since."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from askalike.clock import now
from askalike.store.archive import Archive, storage_errors

SERVED_COLUMNS = "number, since, ranker, settings, reason"


@dataclass(frozen=True, slots=True)
class ServedRanker:
    """A ranker that was put into service: its name, its settings, when (ISO 8601, UTC), and why, in a sentence."""

    number: int
    since: str
    ranker: str
    settings: Mapping[str, Any]
    reason: str


def serve_ranker(archive: Archive, ranker: str, settings: Mapping[str, Any], reason: str) -> ServedRanker:
    """Puts a ranker into service; whoever searches or serves the archive without naming one takes it from now on."""
    row = (now(), ranker, json.dumps(dict(settings)), reason)
    with storage_errors(archive.path):
        archive.connection.execute("INSERT INTO served (since, ranker, settings, reason) VALUES (?, ?, ?, ?)", row)
    return serving_history(archive)[0]


def get_served_ranker(archive: Archive) -> ServedRanker | None:
    """The ranker in service; None where none was ever chosen, or all were withdrawn."""
    return next(iter(serving_history(archive)), None)


def withdraw_ranker(archive: Archive) -> ServedRanker | None:
    """Withdraws the ranker in service, and gives the one that serves again: None is the built-in default."""
    sql = "UPDATE served SET withdrawn = 1 WHERE number = (SELECT MAX(number) FROM served WHERE NOT withdrawn)"
    with storage_errors(archive.path):
        archive.connection.execute(sql)
    return get_served_ranker(archive)


def ready_ranker(archive: Archive) -> ServedRanker | None:
    """The one whose index a running service has built: what is in service, once that is done; None is the default."""
    with storage_errors(archive.path):
        row = archive.connection.execute(f"SELECT {SERVED_COLUMNS} FROM served WHERE ready").fetchone()
    return _served_from_row(row) if row else None


def mark_ready(archive: Archive, number: int | None) -> None:
    """Says that the index of the one with that number, None being the default, is built, and that it is to be used."""
    with storage_errors(archive.path):
        archive.connection.execute("UPDATE served SET ready = number IS ? WHERE ready OR number IS ?", (number, number))


def serving_history(archive: Archive) -> list[ServedRanker]:
    """What was put into service and not withdrawn, the newest first."""
    rows = archive.connection.execute(f"SELECT {SERVED_COLUMNS} FROM served WHERE NOT withdrawn ORDER BY number DESC")
    return [_served_from_row(row) for row in rows]


def _served_from_row(row: Sequence[Any]) -> ServedRanker:
    number, since, ranker, settings, reason = row
    return ServedRanker(number, since, ranker, json.loads(settings), reason)
