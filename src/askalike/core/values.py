"""Values as people write and read them: one parser for each kind, for the command line, HTTP, TOML and Python.

A parser returns the value, or raises ValueError with what was expected. Points in time are ISO 8601 in UTC, as askalike
stores them. `format_count` gives messages their counts with nouns, `format_duration` times.
"""

import codecs
import hashlib
import json
import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, Literal
from urllib.parse import urlsplit

FORMULA_PREFIXES = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r")
"""Prefixes of cells that a spreadsheet runs as formulas; full-width signs are the same to some of them."""
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.I)
_CODES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo "
    "es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka "
    "kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng "
    "nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su "
    "sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
ISO_639_1 = frozenset(_CODES.split())
"""Language codes; words of languages without a stemmer are not stemmed."""

FIELDS = ("title", "body", "text", "answer")
"""The fields of a question that can be searched; text is its title and body as one text, answer the accepted one."""
Precision = Literal["seconds", "milliseconds"]
UNITS_PER_SECOND = {9: 1, 10: 1, 12: 1000, 13: 1000}
"""Number of digits of a time since 1970 → its units per second (1: seconds, 1000: milliseconds)."""
DATE_HINT = "expected a date such as 2014-01-21T20:26:05 or 2014-01-21"
PARTIAL_DATE = re.compile(r"\d{4}(-\d\d){0,2}")
ORIGIN_PATTERN = re.compile(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9a-f:]+\](:[0-9]{1,5})?")
"""An origin as browsers send it: without a path, in lower case."""
SIBILANTS = ("s", "x", "ch", "sh")
CONSONANT_Y = tuple(f"{consonant}y" for consonant in "bcdfghjklmnpqrstvwxz")


def parse_language(text: str) -> str:
    """Return `en` for `en`, `EN` and `en-US`. A three-letter code is returned unchanged."""
    code = text.strip().lower().replace("_", "-").partition("-")[0]
    if code in ISO_639_1 or (len(code) == 3 and code.isascii() and code.isalpha()):
        return code
    raise ValueError(f"language {text!r}: expected a code of ISO 639-1 such as en")


def parse_encoding(text: str) -> str | None:
    """Return Python's name for a text encoding; None for UTF-8."""
    try:
        "".encode(text)
        name = codecs.lookup(text).name
    except (LookupError, TypeError, ValueError):
        raise ValueError(f"encoding {text!r} is unknown; expected one such as utf-8, cp1252 or utf-16") from None
    return name if name != "utf-8" else None


def parse_ids(text: str) -> str:
    """Return a list of numbers with commas between them, or `all`."""
    if text != "all" and not all(part.strip().isdecimal() for part in text.split(",")):
        raise ValueError(f"{text!r}: expected numbers with commas between them, such as 4,7, or all")
    return text


def parse_tag(text: str) -> str:
    """Return a tag without the white space around it."""
    if tag := text.strip():
        return tag
    raise ValueError("a tag is empty; expected its name")


def check_weights(weights: Sequence[float]) -> Sequence[float]:
    """Return the weights of a sum; raise ValueError if one is negative or none is above 0."""
    if any(weight < 0 or not math.isfinite(weight) for weight in weights) or not any(weights):
        raise ValueError("expected a weight of 0 or more for each part, one of them above 0")
    return weights


def check_fields(fields: str) -> str:
    """Return a list of the fields of a question, with commas between them; raise ValueError for anything else."""
    names = [name.strip() for name in fields.split(",")]
    if not set(names) <= set(FIELDS) or len(set(names)) < len(names):
        listed = ", ".join(FIELDS)
        raise ValueError(f"{fields!r}: expected fields with commas between them, each once: {listed}")
    return ",".join(names)


def check_field_weights(fields: Sequence[str], weights: Sequence[float] | None) -> None:
    """Raise ValueError if there are weights, but not one for each field."""
    if weights is not None and len(weights) != len(fields):
        given = f"field_weights has {len(weights)} weight{'s' * (len(weights) != 1)}"
        raise ValueError(f"fields={','.join(fields)}, but {given}; expected one for each field")


def parse_memory(text: str) -> int:
    """Return the number of bytes of `500M`, `2GB` or `1.5 GiB`; a kilobyte has 1,024 bytes."""
    if (match := _MEMORY.fullmatch(text.strip())) and float(match[1]) > 0:
        return int(float(match[1]) * 1024 ** " kmgt".index(match[2].lower() or " "))
    raise ValueError(f"{text!r}: expected an amount of memory such as 500M or 2GB")


def escape_formula(cell: Any) -> Any:
    """Return the cell of a table, with an apostrophe before it if a spreadsheet would run it."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_PREFIXES) else cell


def now(precision: Precision = "seconds", *, days_ago: float = 0.0) -> str:
    """Return the time now, or `days_ago` days ago, as `2026-11-21T09:30:00+00:00`."""
    return (datetime.now(UTC) - timedelta(days=days_ago)).isoformat(timespec=precision)


def parse_utc(text: str | int | float) -> str:
    """Return a date as ISO 8601 in UTC, to the second and without offset: `2014-01-21T20:26:05`.

    text: ISO 8601, in UTC if it has no offset, or seconds or milliseconds since 1970.
    Raises ValueError with what was expected.
    """
    text = str(text).strip()
    try:
        if text.isdecimal() and len(text) in UNITS_PER_SECOND:
            return datetime.fromtimestamp(int(text) / UNITS_PER_SECOND[len(text)], UTC).isoformat()[:19]
        date = datetime.fromisoformat(text)
        return (date.astimezone(UTC) if date.tzinfo else date).isoformat()[:19]
    except (ValueError, OverflowError):
        raise ValueError(f"date {text!r}: {DATE_HINT}") from None


def parse_first_moment(text: str) -> str:
    """Return the first moment of a year, a month or a day, or what `parse_utc` returns. Raises ValueError."""
    date = text.strip()
    return parse_utc(f"{date}-01-01"[:10] if PARTIAL_DATE.fullmatch(date) else date)


def parse_limit(text: str) -> str:
    """Return the date of a date filter, in a form that sorts correctly with the dates of archives.

    text: a year, a month, a day, or what `parse_utc` takes. A day stands for its first moment. Raises ValueError.
    """
    date = text.strip()
    moment = parse_first_moment(date)
    return date if PARTIAL_DATE.fullmatch(date) else moment


def safe_url(url: str | None) -> str | None:
    """Return the address if a page may link to it (http or https), else None."""
    try:
        return url if url and urlsplit(url).scheme in ("http", "https") else None
    except ValueError:
        return None


@lru_cache(64)
def is_loopback(host: str) -> bool:
    """Return whether an address or a host name is this machine's own. Every request asks for the same ones."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def parse_url(text: str) -> str:
    """Return a web address."""
    if safe_url(text) is None or "//" not in text:
        raise ValueError(f"{text!r}: expected an address such as https://example.org")
    return text


def parse_origin(text: str) -> str:
    """Return the origin of a website."""
    if not ORIGIN_PATTERN.fullmatch(text):
        raise ValueError(f"{text!r} is not an origin; expected one such as https://forum.example, without a path")
    return text


def hash_texts(*texts: str) -> str:
    """Return 32 hexadecimal digits for some texts, always the same: others with these cannot be found."""
    return hashlib.blake2b(json.dumps(texts).encode(), digest_size=16).hexdigest()


def format_count(count: int, noun: str) -> str:
    """Return a number with its noun, such as `1 query`, `2 queries` and `1,200 votes`. noun: in the singular."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith(CONSONANT_Y):
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}{'es' if noun.endswith(SIBILANTS) else 's'}"


def format_duration(seconds: float) -> str:
    """Return a time in seconds, minutes or hours."""
    if seconds < 100:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
