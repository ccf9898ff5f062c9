"""API keys and login sessions of an archive's HTTP users.

Only hashes are stored: a key, or a session's secret, is shown only once, when it is created.
"""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Literal, get_args

from askalike.core.errors import SettingsError
from askalike.core.values import now, parse_origin
from askalike.store.archive import Archive
from askalike.store.database import Database, execute, fetch_int, write_transaction

Scope = Literal["read", "write", "moderate", "manage"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""Each scope includes those before it. read: search and give feedback. write: change the archive's texts. moderate:
decide on proposals and read the query log. manage: see sources, keys, backups and disk."""
KEY_PREFIX = "ask_"
KEY_PATTERN = re.compile(f"{KEY_PREFIX}([0-9a-f]{{12}})_([A-Za-z0-9_-]{{43}})")
KEY_COLUMNS = "id, scope, note, created_at, revoked_at, origin"


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret. `note` is the operator's own; times are ISO 8601 in UTC.

    A key with an `origin` may be published: it is valid only for reading, from pages of that origin.
    """

    id: str
    scope: Scope
    note: str
    created_at: str
    revoked_at: str | None = None
    origin: str | None = None

    def allows(self, scope: Scope) -> bool:
        """Return whether the key includes a scope."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


def create_key(archive: Archive, scope: str, note: str = "", origin: str | None = None) -> str:
    """Create a key and return its text, which cannot be read again later.

    Raises SettingsError for an unknown scope, for an invalid origin, and for an origin with another scope than read.
    """
    if scope not in SCOPES:
        raise SettingsError(f"no scope is called {scope!r}; there are: {', '.join(SCOPES)}")
    if origin is not None and scope != "read":
        raise SettingsError(f"everybody can see a key for pages of {origin}: its scope must be read")
    if origin is not None:
        try:
            parse_origin(origin)
        except ValueError as error:
            raise SettingsError(str(error)) from None
    id = secrets.token_hex(6)
    secret = secrets.token_urlsafe(32)
    salt = secrets.token_bytes(16)
    row = (id, scope, note, now(), None, origin, salt, _hash_key_secret(salt, secret))
    execute(archive, f"INSERT INTO api_keys ({KEY_COLUMNS}, salt, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *row)
    return f"{KEY_PREFIX}{id}_{secret}"


def list_keys(archive: Archive) -> list[ApiKey]:
    """Return all keys, oldest first, including revoked ones."""
    rows = archive._connection.execute(f"SELECT {KEY_COLUMNS} FROM api_keys ORDER BY created_at, id")
    return [ApiKey(*row) for row in rows]


def count_active_keys(archive: Database) -> int:
    """Return the number of keys that are not revoked."""
    return fetch_int(archive, "SELECT COUNT(*) FROM api_keys WHERE revoked_at IS NULL")


def delete_keys(archive: Archive) -> None:
    """Delete all keys and sessions, as if there had never been any."""
    with write_transaction(archive) as connection:
        connection.execute("DELETE FROM sessions")
        connection.execute("DELETE FROM api_keys")


def revoke_key(archive: Archive, id: str) -> None:
    """Revoke a key immediately. Raises SettingsError if no active key has that id."""
    sql = "UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"
    if not execute(archive, sql, now(), id).rowcount:
        raise SettingsError(f"{archive.path}: no active key {id!r}; see: askalike keys list {archive.path}")


def verify_key(archive: Database, text: str, origin: str | None = None) -> ApiKey | None:
    """Return the active key with this text, or None. The time taken does not reveal why a text is wrong.

    origin: of the page that sent the key, if any; a key with an origin is valid only there.
    """
    match = KEY_PATTERN.fullmatch(text)
    id, secret = match.groups() if match else ("", "")
    sql = f"SELECT {KEY_COLUMNS}, salt, hash FROM api_keys WHERE id = ? AND revoked_at IS NULL"
    *columns, salt, stored_hash = archive._connection.execute(sql, (id,)).fetchone() or (None, None, b"", b"")
    is_same = hmac.compare_digest(_hash_key_secret(salt, secret), stored_hash)
    return ApiKey(*columns) if is_same and columns[0] and columns[-1] in (None, origin) else None


def has_key_for_origin(archive: Database, origin: str) -> bool:
    """Return whether there is an active key for pages of an origin."""
    return bool(fetch_int(archive, "SELECT COUNT(*) FROM api_keys WHERE origin = ? AND revoked_at IS NULL", origin))


def begin_session(archive: Archive, key: ApiKey, hours: float) -> str:
    """Begin a session that ends after a number of hours, or with its key; return its secret."""
    secret = secrets.token_urlsafe(32)
    begin = now()
    row = (_hash_session_secret(secret), key.id, begin, now(days_ago=-hours / 24))
    with write_transaction(archive) as connection:
        connection.execute("DELETE FROM sessions WHERE expires_at <= ?", (begin,))
        connection.execute("INSERT INTO sessions (hash, key_id, created_at, expires_at) VALUES (?, ?, ?, ?)", row)
    return secret


def session_key(archive: Database, secret: str) -> ApiKey | None:
    """Return the key of a session; None if the session has ended or the key was revoked."""
    columns = ", ".join(f"k.{name}" for name in KEY_COLUMNS.split(", "))
    sql = f"""SELECT {columns} FROM sessions s JOIN api_keys k ON k.id = s.key_id WHERE s.hash = ? AND s.expires_at > ?
        AND k.revoked_at IS NULL"""
    row = archive._connection.execute(sql, (_hash_session_secret(secret), now())).fetchone()
    return ApiKey(*row) if row else None


def end_session(archive: Archive, secret: str) -> None:
    """End a session, if there is one."""
    execute(archive, "DELETE FROM sessions WHERE hash = ?", _hash_session_secret(secret))


def _hash_key_secret(salt: bytes, secret: str) -> bytes:
    """Return a fast hash, which is safe for 256 random bits; the salt makes the hashes of two archives differ."""
    return hashlib.blake2b(secret.encode(), salt=salt[:16].ljust(16, b"\0"), digest_size=32).digest()


def _hash_session_secret(secret: str) -> bytes:
    """Return a fast hash, which is safe for 256 random bits."""
    return hashlib.blake2b(secret.encode(errors="replace"), digest_size=32, person=b"session").digest()
