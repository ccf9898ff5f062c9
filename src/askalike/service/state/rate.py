"""Limits how often one caller may send requests, counted over all processes of the service together.

Each caller has a slot in memory that the processes share. A slot holds one number: the moment at which all requests so
far would have been sent at the allowed pace (the generic cell rate algorithm, ITU-T I.371). A keyed hash of the caller
picks the slot; callers who share one of the 16,384 slots share its allowance.
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
    """Allows each caller `per_s` requests a second and bursts of `burst`. A `per_s` of 0: no limit."""

    def __init__(self, fd: int, per_s: float, burst: int) -> None:
        """`fd`: a file descriptor from `create_shared_file`."""
        self._fd = fd
        self._per_s = per_s
        self._burst = burst
        self._memory = mmap.mmap(fd, FILE_BYTES)

    def acquire(self, caller: str) -> float:
        """Count a request of the caller and return 0; where it comes too soon, return the seconds to wait instead."""
        if not self._per_s:
            return 0.0
        digest = hashlib.blake2b(caller.encode(), key=self._memory[:KEY_BYTES], digest_size=8).digest()
        offset = KEY_BYTES + int.from_bytes(digest) % N_SLOTS * SLOT_BYTES
        fcntl.lockf(self._fd, fcntl.LOCK_EX, SLOT_BYTES, offset)
        try:
            now = time.monotonic()
            due = max(now, struct.unpack_from("d", self._memory, offset)[0])
            wait_s = due - now - (self._burst - 1) / self._per_s
            if wait_s > 0:
                return float(wait_s)
            struct.pack_into("d", self._memory, offset, due + 1 / self._per_s)
            return 0.0
        finally:
            fcntl.lockf(self._fd, fcntl.LOCK_UN, SLOT_BYTES, offset)


def create_shared_file(folder: str) -> int:
    """Create the file of slots in a folder and return its file descriptor, for processes to inherit."""
    fd = os.open(os.path.join(folder, "rate"), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(fd, secrets.token_bytes(KEY_BYTES))
    os.ftruncate(fd, FILE_BYTES)
    return fd
