"""Files that the processes of the service share, in a folder that only this user may enter.

They hold the request rate of each caller, whether each process lives, and what each person works on.
"""

import fcntl
import hashlib
import json
import mmap
import secrets
import struct
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from askalike.service.settings import ServiceSettings

N_SLOTS = 1 << 14
NUMBER_BYTES = 8
KEY_BYTES = 32
FILE_BYTES = KEY_BYTES + N_SLOTS * NUMBER_BYTES
RATES_FILE, STORED_FILE, PROCESSES_FILE = "rates", "stored", "processes"
LEASE_S = 180.0
"""Time for which something is held for a person after they last saw it."""


class RateLimiter:
    """Allows each caller `per_s` requests per second and bursts of `burst`. A `per_s` of 0: no limit.

    Each caller has a slot in memory shared by the processes. A slot holds one number: the time at which all requests so
    far would have been sent at the allowed rate (the generic cell rate algorithm, ITU-T I.371). A keyed hash of the
    caller selects the slot; callers with the same one of the 16,384 slots share its limit.
    """

    def __init__(self, path: Path, per_s: float, burst: int) -> None:
        """`path`: a file from `create_rates`."""
        self._file = path.open("r+b", buffering=0)
        self._per_s = per_s
        self._burst = burst
        self._memory = mmap.mmap(self._file.fileno(), FILE_BYTES)

    def acquire(self, caller: str) -> float:
        """Count a request of the caller and return 0; if it comes too soon, return the seconds to wait instead."""
        if not self._per_s:
            return 0.0
        digest = hashlib.blake2b(caller.encode(), key=self._memory[:KEY_BYTES], digest_size=8).digest()
        offset = KEY_BYTES + int.from_bytes(digest) % N_SLOTS * NUMBER_BYTES
        fcntl.lockf(self._file, fcntl.LOCK_EX, NUMBER_BYTES, offset)
        try:
            now = time.monotonic()
            due = max(now, struct.unpack_from("d", self._memory, offset)[0])
            wait_s = due - now - (self._burst - 1) / self._per_s
            if wait_s > 0:
                return float(wait_s)
            struct.pack_into("d", self._memory, offset, due + 1 / self._per_s)
            return 0.0
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, NUMBER_BYTES, offset)


def create_rates(path: Path) -> Path:
    """Create the file of slots, which only this user may read; return its path."""
    path.touch(0o600, exist_ok=False)
    path.write_bytes(secrets.token_bytes(KEY_BYTES) + bytes(FILE_BYTES - KEY_BYTES))
    return path


def process_name(row: int) -> str:
    """Return what a person calls the process with that row of the table."""
    return f"worker {row}" if row else "indexer"


class ProcessTable:
    """When each process of the service last gave a sign of life, and its searches, in memory that all of them share.

    Row 0 is the indexer's, which makes no searches; the others are the workers'.
    """

    def __init__(self, path: Path) -> None:
        """`path`: a file from `create`."""
        with path.open("r+b") as file:
            numbers = memoryview(mmap.mmap(file.fileno(), 0)).cast("d")
        self._beats, self._searches = numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]

    @staticmethod
    def create(path: Path, workers: int) -> None:
        """Create the file for an indexer and a number of workers."""
        path.write_bytes(bytes(2 * NUMBER_BYTES * (1 + workers)))

    def start(self, row: int) -> None:
        """Note that a process starts: it lives, and makes no search, whatever one that was killed has left."""
        self._searches[row] = 0
        self.beat(row)

    def beat(self, row: int) -> None:
        """Note that a process lives."""
        self._beats[row] = time.monotonic()

    def silent_s(self, row: int, since: float = 0.0) -> float:
        """Return the seconds without a sign of life of a process, counted from `since` on the monotonic clock."""
        return time.monotonic() - max(since, self._beats[row])

    def find_silent(self, seconds: float) -> str | None:
        """Return the name of a process that has given no sign of life for so long; None if there is none."""
        silent = (row for row in range(len(self._beats)) if self.silent_s(row) > seconds)
        return next(map(process_name, silent), None)

    @property
    def is_searching(self) -> bool:
        """Whether any worker has a search to make."""
        return any(self._searches)

    @contextmanager
    def counted(self, row: int) -> Iterator[None]:
        """Count a search of a worker during the block."""
        self._searches[row] += 1
        try:
            yield
        finally:
            self._searches[row] -= 1


class Leases:
    """The work that each person has taken, so that nobody else gets it, in a file that processes change in turn."""

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


class SharedFiles:
    """The shared files, as the process with that row of the table sees them."""

    def __init__(self, folder: Path, row: int, settings: ServiceSettings) -> None:
        """`folder`: from `create`."""
        self.rate_limiter = RateLimiter(folder / RATES_FILE, settings.requests_per_s, settings.burst)
        self.storing_limiter = RateLimiter(folder / STORED_FILE, settings.stored_per_s, settings.stored_burst)
        self.leases = Leases(folder / "leases")
        self.processes = ProcessTable(folder / PROCESSES_FILE)
        self.row = row

    @staticmethod
    def create(folder: Path, settings: ServiceSettings) -> None:
        """Create the files of a service in a folder."""
        create_rates(folder / RATES_FILE)
        create_rates(folder / STORED_FILE)
        ProcessTable.create(folder / PROCESSES_FILE, settings.workers)
