"""Turns what files write into what records hold: dates, ids, lists, text without forbidden characters."""

import hashlib
import html
import json
import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

FORBIDDEN = re.compile("[\0\ud800-\udfff]")
EPOCH_DIGITS = {9: 1, 10: 1, 12: 1000, 13: 1000}
DATE_HINT = "expected a date such as 2014-01-21T20:26:05"


def parse_utc(text: str | int | float) -> str:
    """A date as ISO 8601 in UTC, to the second and without offset: `2014-01-21T20:26:05`.

    Takes ISO 8601 (without an offset it is UTC) and seconds or milliseconds since 1970. Raises ValueError that says
    what was expected.
    """
    text = str(text).strip()
    try:
        if text.isdecimal() and len(text) in EPOCH_DIGITS:
            return datetime.fromtimestamp(int(text) / EPOCH_DIGITS[len(text)], UTC).isoformat()[:19]
        date = datetime.fromisoformat(text)
        return (date.astimezone(UTC) if date.tzinfo else date).isoformat()[:19]
    except (ValueError, OverflowError):
        raise ValueError(f"date {text!r}: {DATE_HINT}") from None


def parse_optional_utc(text: Any) -> str | None:
    """`utc` of what is there; None for what is not (None, empty). Raises ValueError."""
    return parse_utc(text) if text not in (None, "") else None


def derive_id(*parts: str) -> str:
    """An id made from content, the same whenever and wherever it is made: 16 hexadecimal digits."""
    return hashlib.blake2b("\x1f".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()


def replace_forbidden(value: Any) -> Any:
    """A JSON value with NULs and lone surrogates, which no database or file takes, replaced in all its strings."""
    if isinstance(value, str):
        return FORBIDDEN.sub("\ufffd", value)
    if isinstance(value, list):
        return [replace_forbidden(v) for v in value]
    return {replace_forbidden(k): replace_forbidden(v) for k, v in value.items()} if isinstance(value, dict) else value


def to_text(value: Any) -> str:
    """A cell as stripped text: None is empty, numbers are written out."""
    return "" if value is None else str(value).strip()


def split_cell(value: Any, separators: str = "|;") -> tuple[str, ...]:
    """A cell that holds several texts: a list, a JSON list, or text split at the first separator that is in it."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError):
            value = json.loads(value)
    if not isinstance(value, list):
        text = to_text(value)
        value = text.split(next((s for s in separators if s in text), None) or "\0")
    return tuple(to_text(v) for v in value if to_text(v))


def unescape(text: str) -> str:
    """Escaped text as plain text: entities resolved, line breaks as blanks."""
    return " ".join(re.sub(r"<br\s*/?>", " ", html.unescape(text)).split())


def describe_error(error: Exception) -> str:
    """Why a row cannot be taken, from what taking it raised: a KeyError names what is missing."""
    return f"no {error.args[0]}" if isinstance(error, KeyError) else str(error)
