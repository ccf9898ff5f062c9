"""Sessions of people who have shown a key: only hashes are kept, and none outlives its key."""

import hashlib
import secrets
import sqlite3
from datetime import UTC, datetime, timedelta

from askalike.store.archive import Archive, storage_errors
from askalike.store.keys import KEY_COLUMNS, ApiKey
from askalike.store.writer import atomic


def begin_session(archive: Archive, key: ApiKey, hours: float) -> str:
    """Begins a session that ends after so many hours, or with its key; returns its secret, which is shown this once."""
    secret, now = secrets.token_urlsafe(32), datetime.now(UTC)
    row = (_hash_secret(secret), key.id, _format_time(now), _format_time(now + timedelta(hours=hours)))
    with storage_errors(archive.path), atomic(archive.connection):
        archive.connection.execute("DELETE FROM sessions WHERE ends_at <= ?", (_format_time(now),))
        archive.connection.execute("INSERT INTO sessions (hash, key, began_at, ends_at) VALUES (?, ?, ?, ?)", row)
    return secret


def session_key(connection: sqlite3.Connection, secret: str) -> ApiKey | None:
    """The key that a session was begun with, where both are still in force."""
    columns = ", ".join(f"k.{name}" for name in KEY_COLUMNS.split(", "))
    sql = (
        f"SELECT {columns} FROM sessions s JOIN keys k ON k.id = s.key "
        "WHERE s.hash = ? AND s.ends_at > ? AND k.revoked_at IS NULL"
    )
    row = connection.execute(sql, (_hash_secret(secret), _format_time(datetime.now(UTC)))).fetchone()
    return ApiKey(*row) if row else None


def end_session(archive: Archive, secret: str) -> None:
    """Ends a session, if there is one."""
    with storage_errors(archive.path):
        archive.connection.execute("DELETE FROM sessions WHERE hash = ?", (_hash_secret(secret),))


def _hash_secret(secret: str) -> bytes:
    """Of 256 random bits a fast hash gives nothing away; looking it up takes no longer for a near miss."""
    return hashlib.blake2b(secret.encode(errors="replace"), digest_size=32, person=b"session").digest()


def _format_time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
