"""The rate limit of requests, in a file that the processes of the service share; `authorization` applies it."""

import fcntl
import hashlib
import mmap
import secrets
import struct
import time
from pathlib import Path

N_SLOTS = 1 << 14
NUMBER_BYTES = 8
KEY_BYTES = 32
FILE_BYTES = KEY_BYTES + N_SLOTS * NUMBER_BYTES


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
