"""Sessions of people who have shown a key: only hashes are kept, and none outlives its key."""

import hashlib
import secrets
import sqlite3
from datetime import UTC, datetime, timedelta

from askalike.archive.keys import COLUMNS, Key
from askalike.archive.store import Archive, storage_errors
from askalike.archive.writer import atomic


def begin(archive: Archive, key: Key, hours: float) -> str:
    """Begins a session that ends after so many hours, or with its key; returns its secret, which is shown this once."""
    secret, now = secrets.token_urlsafe(32), datetime.now(UTC)
    row = (_hash(secret), key.id, _told(now), _told(now + timedelta(hours=hours)))
    with storage_errors(archive.path), atomic(archive.connection):
        archive.connection.execute("DELETE FROM sessions WHERE ends_at <= ?", (_told(now),))
        archive.connection.execute("INSERT INTO sessions (hash, key, began_at, ends_at) VALUES (?, ?, ?, ?)", row)
    return secret


def key_of(connection: sqlite3.Connection, secret: str) -> Key | None:
    """The key that a session was begun with, where both are still in force."""
    columns = ", ".join(f"k.{name}" for name in COLUMNS.split(", "))
    sql = (
        f"SELECT {columns} FROM sessions s JOIN keys k ON k.id = s.key "
        "WHERE s.hash = ? AND s.ends_at > ? AND k.revoked_at IS NULL"
    )
    row = connection.execute(sql, (_hash(secret), _told(datetime.now(UTC)))).fetchone()
    return Key(*row) if row else None


def end(archive: Archive, secret: str) -> None:
    """Ends a session, if there is one."""
    with storage_errors(archive.path):
        archive.connection.execute("DELETE FROM sessions WHERE hash = ?", (_hash(secret),))


def _hash(secret: str) -> bytes:
    """Of 256 random bits a fast hash gives nothing away; looking it up takes no longer for a near miss."""
    return hashlib.blake2b(secret.encode(errors="replace"), digest_size=32, person=b"session").digest()


def _told(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
