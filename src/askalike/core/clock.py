"""Points in time as askalike stores them: ISO 8601 in UTC."""

import re
from datetime import UTC, datetime, timedelta
from typing import Literal

Precision = Literal["seconds", "milliseconds"]
UNITS_PER_SECOND = {9: 1, 10: 1, 12: 1000, 13: 1000}
"""Number of digits of a time since 1970 → its units per second (1: seconds, 1000: milliseconds)."""
DATE_HINT = "expected a date such as 2014-01-21T20:26:05 or 2014-01-21"
PARTIAL_DATE = re.compile(r"\d{4}(-\d\d){0,2}")


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
