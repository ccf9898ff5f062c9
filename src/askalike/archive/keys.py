"""The keys of those who may use an archive over HTTP. Only salted hashes are kept: a key is shown once, when made."""

import hashlib
import hmac
import re
import secrets
import sqlite3
from dataclasses import dataclass
from typing import Literal, get_args

from askalike.archive.store import Archive, storage_errors
from askalike.clock import now
from askalike.errors import SettingsError

Scope = Literal["read", "write", "moderate"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""Each may what those before it may: search and give feedback; change what is there; decide and see what was asked."""
FORM = re.compile("ask_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
COLUMNS = "id, scope, note, created_at, revoked_at, origin"
ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9a-f:]+\](:[0-9]{1,5})?")
"""As a browser sends it: no path, nothing in capitals."""


@dataclass(frozen=True, slots=True)
class Key:
    """What is known of a key. `note` is the operator's own; times are ISO 8601 in UTC.

    A key with an `origin` may be published: it is good for reading only, from pages of that origin.
    """

    id: str
    scope: Scope
    note: str
    created_at: str
    revoked_at: str | None = None
    origin: str | None = None

    def may(self, scope: Scope) -> bool:
        """Whether the key is good for what needs that scope."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


def create(archive: Archive, scope: str, note: str = "", origin: str | None = None) -> str:
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
    row = (id, scope, note, now(), None, origin, salt, _hash(salt, secret))
    with storage_errors(archive.path):
        archive.connection.execute(f"INSERT INTO keys ({COLUMNS}, salt, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    return f"ask_{id}_{secret}"


def check_origin(origin: str) -> None:
    """Raises SettingsError for what no browser sends as an origin."""
    if not ORIGIN.fullmatch(origin):
        raise SettingsError(f"{origin!r} is no origin; expected one such as https://forum.example, without a path")


def listed(archive: Archive) -> list[Key]:
    """All keys, the oldest first, those that are revoked too."""
    rows = archive.connection.execute(f"SELECT {COLUMNS} FROM keys ORDER BY created_at, id")
    return [Key(*row) for row in rows]


def revoke(archive: Archive, id: str) -> None:
    """Makes a key good for nothing, at once. Raises SettingsError where no such key is in force."""
    sql = "UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"
    with storage_errors(archive.path):
        done = archive.connection.execute(sql, (now(), id)).rowcount
    if not done:
        raise SettingsError(f"{archive.path}: no key {id!r} is in force; see: askalike keys list {archive.path}")


def verified(connection: sqlite3.Connection, text: str, origin: str | None = None) -> Key | None:
    """The key that somebody shows, if it is one and in force. Whatever is wrong with it, comparing takes as long.

    `origin`: where the page is from that shows it, if any; a key that may be published is good there alone.
    """
    form = FORM.fullmatch(text)
    id, secret = form.groups() if form else ("", "")
    sql = f"SELECT {COLUMNS}, salt, hash FROM keys WHERE id = ? AND revoked_at IS NULL"
    *facts, salt, kept = connection.execute(sql, (id,)).fetchone() or (None, None, b"", b"")
    same = hmac.compare_digest(_hash(salt, secret), kept)
    return Key(*facts) if same and facts[0] and facts[-1] in (None, origin) else None


def published(connection: sqlite3.Connection, origin: str) -> bool:
    """Whether a key for pages of that origin is in force."""
    sql = "SELECT EXISTS (SELECT 1 FROM keys WHERE origin = ? AND revoked_at IS NULL)"
    return bool(connection.execute(sql, (origin,)).fetchone()[0])


def in_force(archive: Archive) -> bool:
    """Whether any key is."""
    return any(key.revoked_at is None for key in listed(archive))


def _hash(salt: bytes, secret: str) -> bytes:
    """Of 256 random bits a fast hash gives nothing away; it is the salt that makes two archives' differ."""
    return hashlib.blake2b(secret.encode(), salt=salt[:16].ljust(16, b"\0"), digest_size=32).digest()
