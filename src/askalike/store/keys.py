"""The keys of those who may use an archive over HTTP. Only salted hashes are kept: a key is shown once, when made."""

import hashlib
import hmac
import re
import secrets
import sqlite3
from dataclasses import dataclass
from typing import Literal, get_args

from askalike.clock import now
from askalike.errors import SettingsError
from askalike.store.archive import Archive, storage_errors

Scope = Literal["read", "write", "moderate"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""Each may what those before it may: search and give feedback; change what is there; decide and see what was asked."""
KEY_PATTERN = re.compile("ask_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
KEY_COLUMNS = "id, scope, note, created_at, revoked_at, origin"
ORIGIN_PATTERN = re.compile(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9a-f:]+\](:[0-9]{1,5})?")
"""As a browser sends it: no path, nothing in capitals."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is known of a key. `note` is the operator's own; times are ISO 8601 in UTC.

    A key with an `origin` may be published: it is good for reading only, from pages of that origin.
    """

    id: str
    scope: Scope
    note: str
    created_at: str
    revoked_at: str | None = None
    origin: str | None = None

    def allows(self, scope: Scope) -> bool:
        """Whether the key is good for what needs that scope."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


def create_key(archive: Archive, scope: str, note: str = "", origin: str | None = None) -> str:
    """Makes a key and returns it; it cannot be had again.

    Raises SettingsError for a scope that there is not, for what is no origin, and for one with another scope than read.
    """
    if scope not in SCOPES:
        raise SettingsError(f"no scope is called {scope!r}; there are: {', '.join(SCOPES)}")
    if origin is not None and scope != "read":
        raise SettingsError(f"a key for pages of {origin} is seen by everybody: its scope can only be read")
    if origin is not None:
        check_origin(origin)
    id, secret, salt = secrets.token_hex(6), secrets.token_urlsafe(32), secrets.token_bytes(16)
    row = (id, scope, note, now(), None, origin, salt, _hash_secret(salt, secret))
    with storage_errors(archive.path):
        archive.connection.execute(f"INSERT INTO keys ({KEY_COLUMNS}, salt, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    return f"ask_{id}_{secret}"


def check_origin(origin: str) -> None:
    """Raises SettingsError for what no browser sends as an origin."""
    if not ORIGIN_PATTERN.fullmatch(origin):
        raise SettingsError(f"{origin!r} is no origin; expected one such as https://forum.example, without a path")


def list_keys(archive: Archive) -> list[ApiKey]:
    """All keys, the oldest first, those that are revoked too."""
    rows = archive.connection.execute(f"SELECT {KEY_COLUMNS} FROM keys ORDER BY created_at, id")
    return [ApiKey(*row) for row in rows]


def revoke_key(archive: Archive, id: str) -> None:
    """Makes a key good for nothing, at once. Raises SettingsError where no such key is in force."""
    sql = "UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"
    with storage_errors(archive.path):
        done = archive.connection.execute(sql, (now(), id)).rowcount
    if not done:
        raise SettingsError(f"{archive.path}: no key {id!r} is in force; see: askalike keys list {archive.path}")


def verify_key(connection: sqlite3.Connection, text: str, origin: str | None = None) -> ApiKey | None:
    """The key that somebody shows, if it is one and in force. Whatever is wrong with it, comparing takes as long.

    `origin`: where the page is from that shows it, if any; a key that may be published is good there alone.
    """
    form = KEY_PATTERN.fullmatch(text)
    id, secret = form.groups() if form else ("", "")
    sql = f"SELECT {KEY_COLUMNS}, salt, hash FROM keys WHERE id = ? AND revoked_at IS NULL"
    *facts, salt, kept = connection.execute(sql, (id,)).fetchone() or (None, None, b"", b"")
    same = hmac.compare_digest(_hash_secret(salt, secret), kept)
    return ApiKey(*facts) if same and facts[0] and facts[-1] in (None, origin) else None


def has_key_for_origin(connection: sqlite3.Connection, origin: str) -> bool:
    """Whether a key for pages of that origin is in force."""
    sql = "SELECT EXISTS (SELECT 1 FROM keys WHERE origin = ? AND revoked_at IS NULL)"
    return bool(connection.execute(sql, (origin,)).fetchone()[0])


def has_active_key(archive: Archive) -> bool:
    """Whether any key is."""
    return any(key.revoked_at is None for key in list_keys(archive))


def _hash_secret(salt: bytes, secret: str) -> bytes:
    """Of 256 random bits a fast hash gives nothing away; it is the salt that makes two archives' differ."""
    return hashlib.blake2b(secret.encode(), salt=salt[:16].ljust(16, b"\0"), digest_size=32).digest()
