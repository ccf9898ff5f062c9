"""Converts values in files to values in records: dates, ids, lists, plain text."""

import hashlib
import html
import json
import re
from contextlib import suppress
from typing import Any

from askalike.core.clock import parse_utc


def parse_optional_utc(text: Any) -> str | None:
    """Return `parse_utc` of a value; None for None and the empty string. Raises ValueError."""
    return parse_utc(text) if text not in (None, "") else None


def derive_id(*parts: str) -> str:
    """Return an id derived from content: 16 hexadecimal digits, always the same."""
    return hashlib.blake2b("\x1f".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()


def to_text(value: Any) -> str:
    """Return a cell as stripped text: None is empty, numbers are converted."""
    return "" if value is None else str(value).strip()


def split_cell(value: Any, separators: str = "|;") -> tuple[str, ...]:
    """Return the texts in a cell: a list, a JSON list, or text that is split at the first separator it contains."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError):
            value = json.loads(value)
    if not isinstance(value, list):
        text = to_text(value)
        value = text.split(next((s for s in separators if s in text), None) or "\0")
    return tuple(to_text(v) for v in value if to_text(v))


def unescape(text: str) -> str:
    """Return escaped HTML as plain text: entities are resolved, line breaks become spaces."""
    return " ".join(re.sub(r"<br\s*/?>", " ", html.unescape(text)).split())
