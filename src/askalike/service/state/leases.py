"""The work of each person, over all processes of the service, so that no two of them get the same."""

import fcntl
import json
import time
from collections.abc import Iterable
from pathlib import Path

LEASE_S = 180.0
"""Time for which something is held for a person after they last saw it."""


class Leases:
    """Leases in one small file, which processes change in turn."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def hold_first(self, names: Iterable[str], holder: str) -> str | None:
        """Return the first of the names that nobody else holds, which `holder` then holds; None if there is none.

        holder: "" holds nothing.
        """
        now = time.monotonic()
        with self._path.open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed
            file.seek(0)
            stored: dict[str, tuple[str, float]] = json.loads(file.read() or "{}")
            held = {name: (who, until) for name, (who, until) in stored.items() if until > now and who != holder}
            found = next((name for name in names if name not in held), None)
            if found and holder:
                held[found] = (holder, now + LEASE_S)
            file.truncate(0)
            file.write(json.dumps(held))
        return found
