"""The time for which an archive keeps queries, feedback and drafts that nobody accepted, and their deletion.

A draft is of a question posted on *Ask*, of a chat thread, or of questions of the archive. A decided one has no texts.
"""

from typing import NamedTuple

from askalike.core.errors import ArchiveError
from askalike.core.values import now
from askalike.store.archive import Archive
from askalike.store.database import BUSY_MS, execute, write_transaction

DEFAULT_KEEP_DAYS = 90.0
MAX_KEEP_DAYS = 36_500
META_KEY = "keep_days"
ASKED_ORIGIN = "asked/"
"""Beginning of the origin of a draft that somebody posted on *Ask*."""
NO_TEXTS = "title = '', body = '', rephrasings = '[]', answer = '', url = NULL"
"""SQL assignments that leave of a draft what keeps it from being proposed again: origin and ids of its sources."""
HAS_TEXTS = "(title, body, rephrasings, answer, url) IS NOT ('', '', '[]', '', NULL)"


OVERWRITE_MS = 1_000


class KeepsNothingError(ArchiveError):
    """The archive keeps nothing that people post."""


class Deleted(NamedTuple):
    """The numbers of what was deleted. is_overwritten: False while a reader keeps it in the write-ahead log."""

    queries: int
    feedback: int
    drafts: int
    is_overwritten: bool


def get_keep_days(archive: Archive) -> float:
    """Return for how many days what people post is kept; with 0 nothing is stored."""
    value = archive.meta.get(META_KEY)
    return DEFAULT_KEEP_DAYS if value is None else float(value)


def set_keep_days(archive: Archive, days: float) -> None:
    """Set for how many days what people post is kept from now on. Raises ArchiveError."""
    if days != archive.meta.get(META_KEY):
        archive.set_meta(**{META_KEY: days})


def delete_expired(archive: Archive) -> Deleted:
    """Delete what is older than the archive keeps it."""
    return delete_older_than(archive, get_keep_days(archive))


def delete_older_than(archive: Archive, days: float) -> Deleted:
    """Delete what was posted more than a number of days ago."""
    before = now("milliseconds", days_ago=days)
    return _delete(archive, "created_at < ?", "created_at < ?", before)


def delete_containing(archive: Archive, text: str) -> Deleted:
    """Delete what contains a text, in any case. Raises ValueError for an empty text, which all contain."""
    if not (wanted := text.strip().casefold()):
        raise ValueError("expected some text")
    archive._connection.create_function("is_wanted", -1, lambda *texts: wanted in "\n".join(texts).casefold())
    return _delete(archive, "is_wanted(title, body)", "is_wanted(title, body, rephrasings, answer)")


def require_keeping(archive: Archive) -> None:
    """Raise KeepsNothingError if the archive keeps nothing that people post."""
    if not get_keep_days(archive):
        advice = f"to keep it for 90 days: askalike purge {archive.path} --keep-days 90"
        raise KeepsNothingError(f"{archive.path}: keeps nothing that people post, so no drafts of it either; {advice}")


def overwrite_deleted(archive: Archive) -> bool:
    """Take what was deleted out of the write-ahead log; return False if others still read or write the archive."""
    with archive._connection.in_use:
        execute(archive, f"PRAGMA busy_timeout = {OVERWRITE_MS}")
        try:
            return not execute(archive, "PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        finally:
            execute(archive, f"PRAGMA busy_timeout = {BUSY_MS}")


def _delete(archive: Archive, condition: str, draft_condition: str, *values: object) -> Deleted:
    """Delete rows that meet a condition, also from the write-ahead log.

    A chat thread stays as a rejected draft without texts: the next import of the chat must not bring them back.
    """
    is_thread = f"origin IS NOT NULL AND origin NOT LIKE '{ASKED_ORIGIN}%'"
    with write_transaction(archive) as connection:
        queries = connection.execute(f"DELETE FROM query_log WHERE {condition}", values).rowcount
        feedback = connection.execute(f"DELETE FROM feedback WHERE {condition}", values).rowcount
        open_drafts = f"drafts WHERE state = 'open' AND {draft_condition}"
        rejected = f"UPDATE drafts SET state = 'rejected', decided_at = ?, {NO_TEXTS} WHERE rowid IN (SELECT rowid FROM"
        drafts = connection.execute(f"{rejected} {open_drafts} AND {is_thread})", (now(), *values)).rowcount
        drafts += connection.execute(f"DELETE FROM {open_drafts}", values).rowcount
        decided = f"UPDATE drafts SET {NO_TEXTS} WHERE state <> 'open' AND {HAS_TEXTS}"  # of earlier versions
        drafts += connection.execute(decided).rowcount
    return Deleted(queries, feedback, drafts, overwrite_deleted(archive))
