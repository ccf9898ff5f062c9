"""The time that tuning may take."""

import re
import time

from askalike.errors import SettingsError

SECONDS_PER_UNIT = {"s": 1.0, "m": 60.0, "h": 3600.0}
DURATION_PATTERN = re.compile(r"(\d+(?:\.\d+)?)\s*([smh]?)")


def parse_duration(text: str) -> float:
    """`90s`, `10m`, `1.5h`; a number alone is minutes. Raises SettingsError."""
    match = DURATION_PATTERN.fullmatch(text.strip().lower())
    if not match or not float(match[1]):
        raise SettingsError(f"--budget {text!r}: expected a time such as 90s, 10m or 1.5h")
    return float(match[1]) * SECONDS_PER_UNIT[match[2] or "m"]


def format_duration(seconds: float) -> str:
    """A time as people read it."""
    if seconds < 100:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


class Budget:
    """A limit in seconds, from now on."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._ends = time.monotonic() + limit_s

    @property
    def remaining_s(self) -> float:
        """What is left; below 0 where more was taken."""
        return self._ends - time.monotonic()
