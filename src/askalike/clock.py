"""What time it is, as it is kept everywhere: ISO 8601 in UTC."""

from datetime import UTC, datetime, timedelta
from typing import Literal

Precision = Literal["seconds", "milliseconds"]


def now(precision: Precision = "seconds", *, days_ago: float = 0.0) -> str:
    """Now, or so many days ago: `2026-11-21T09:30:00+00:00`."""
    return (datetime.now(UTC) - timedelta(days=days_ago)).isoformat(timespec=precision)
