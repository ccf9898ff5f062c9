"""How often one caller may ask, counted over all processes of the service together.

Each caller has a place in memory that the processes share, which holds one number: the moment by which all it has asked
so far would have been asked at the allowed pace (the generic cell rate algorithm). A place is picked by a keyed hash;
callers who meet in one share their allowance, which among 16,384 places is rare.
"""

import fcntl
import hashlib
import mmap
import os
import secrets
import struct
import time

N_SLOTS = 1 << 14
SLOT_BYTES = 8
KEY_BYTES = 32
FILE_BYTES = KEY_BYTES + N_SLOTS * SLOT_BYTES


class RateLimiter:
    """At most `per_s` requests a second of one caller, `burst` of them at once. `per_s` of 0 is no limit."""

    def __init__(self, fd: int, per_s: float, burst: int) -> None:
        """`number`: the file descriptor that `shared` gave."""
        self._fd = fd
        self._per_s = per_s
        self._burst = burst
        self._memory = mmap.mmap(fd, FILE_BYTES)

    def acquire(self, caller: str) -> float:
        """0 where the caller may go on, which counts; else how long it has to wait."""
        if not self._per_s:
            return 0.0
        at = self._slot_offset(caller)
        fcntl.lockf(self._fd, fcntl.LOCK_EX, SLOT_BYTES, at)
        try:
            now = time.monotonic()
            due = max(now, struct.unpack_from("d", self._memory, at)[0])
            wait = due - now - (self._burst - 1) / self._per_s
            if wait > 0:
                return float(wait)
            struct.pack_into("d", self._memory, at, due + 1 / self._per_s)
            return 0.0
        finally:
            fcntl.lockf(self._fd, fcntl.LOCK_UN, SLOT_BYTES, at)

    def _slot_offset(self, caller: str) -> int:
        digest = hashlib.blake2b(caller.encode(), key=self._memory[:KEY_BYTES], digest_size=8).digest()
        return KEY_BYTES + int.from_bytes(digest) % N_SLOTS * SLOT_BYTES


def create_shared_file(folder: str) -> int:
    """The descriptor of a fresh file in that folder, for processes to inherit."""
    number = os.open(os.path.join(folder, "rate"), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(number, secrets.token_bytes(KEY_BYTES))
    os.ftruncate(number, FILE_BYTES)
    return number
