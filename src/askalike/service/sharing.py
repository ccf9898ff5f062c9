"""Files and searches that the processes of the service share.

Files hold the request rate of each caller, and what each person works on. The least busy worker makes a search,
whichever got the request: a request comes over a connection, which stays with one worker, so that a search may have to
wait in one worker while another one is idle. The number of searches that each makes is in shared memory; workers
communicate over sockets in a folder that only this user may enter. A message is its length in four bytes, then its
bytes."""

import asyncio
import fcntl
import hashlib
import json
import mmap
import random
import secrets
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

N_SLOTS = 1 << 14
SLOT_BYTES = 8
KEY_BYTES = 32
FILE_BYTES = KEY_BYTES + N_SLOTS * SLOT_BYTES
LEASE_S = 180.0
"""Time for which something is held for a person after they last saw it."""


class RateLimiter:
    """Allows each caller `per_s` requests per second and bursts of `burst`. A `per_s` of 0: no limit.

    Each caller has a slot in memory shared by the processes. A slot holds one number: the time at which all requests so
    far would have been sent at the allowed rate (the generic cell rate algorithm, ITU-T I.371). A keyed hash of the
    caller selects the slot; callers with the same one of the 16,384 slots share its limit.
    """

    def __init__(self, path: Path, per_s: float, burst: int) -> None:
        """`path`: a file from `create_shared_file`."""
        self._file = path.open("r+b", buffering=0)
        self._per_s = per_s
        self._burst = burst
        self._memory = mmap.mmap(self._file.fileno(), FILE_BYTES)

    def acquire(self, caller: str) -> float:
        """Count a request of the caller and return 0; if it comes too soon, return the seconds to wait instead."""
        if not self._per_s:
            return 0.0
        digest = hashlib.blake2b(caller.encode(), key=self._memory[:KEY_BYTES], digest_size=8).digest()
        offset = KEY_BYTES + int.from_bytes(digest) % N_SLOTS * SLOT_BYTES
        fcntl.lockf(self._file, fcntl.LOCK_EX, SLOT_BYTES, offset)
        try:
            now = time.monotonic()
            due = max(now, struct.unpack_from("d", self._memory, offset)[0])
            wait_s = due - now - (self._burst - 1) / self._per_s
            if wait_s > 0:
                return float(wait_s)
            struct.pack_into("d", self._memory, offset, due + 1 / self._per_s)
            return 0.0
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, SLOT_BYTES, offset)


def create_shared_file(folder: Path) -> Path:
    """Create the file of slots in a folder, which only this user may read; return its path."""
    path = folder / "rate"
    path.touch(0o600, exist_ok=False)
    path.write_bytes(secrets.token_bytes(KEY_BYTES) + bytes(FILE_BYTES - KEY_BYTES))
    return path


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


LOADS_FILE = "loads"
LENGTH_BYTES = 4

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class WorkerSlot:
    """The number of a worker. folder: the folder of the service's workers, closed to other users."""

    folder: Path
    number: int
    count: int

    def socket_path(self, number: int) -> Path:
        """Return the path of the socket of a worker."""
        return self.folder / f"worker-{number}"


def open_loads(folder: Path) -> memoryview:
    """Return the number of searches that each worker makes, in memory that all processes of the service share."""
    with (folder / LOADS_FILE).open("r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 0)).cast("I")


def create_loads_file(folder: Path, count: int) -> None:
    """Create the file in which each worker counts its searches."""
    (folder / LOADS_FILE).write_bytes(bytes(LENGTH_BYTES * count))


class PeerRouter:
    """Forwards searches of one worker to the others, and answers theirs."""

    def __init__(self, slot: WorkerSlot) -> None:
        self._slot = slot
        self._loads = open_loads(slot.folder)
        self._loads[slot.number] = 0  # a worker that was killed has left its count
        self._free: dict[int, list[Streams]] = {number: [] for number in range(slot.count)}

    @property
    def folder(self) -> Path:
        """The folder of the service's workers, closed to other users."""
        return self._slot.folder

    @property
    def is_searching(self) -> bool:
        """Whether any worker has a search to make."""
        return any(self._loads)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count a search of this worker during the block."""
        number = self._slot.number
        self._loads[number] += 1
        try:
            yield
        finally:
            self._loads[number] -= 1

    def find_less_busy(self) -> int | None:
        """Return a worker with the fewest searches, if it has fewer than this one; else None."""
        loads = self._loads.tolist()
        min_load = min(loads)
        if min_load == loads[self._slot.number]:
            return None
        return random.choice([number for number, load in enumerate(loads) if load == min_load])

    async def forward(self, number: int, message: bytes) -> bytes:
        """Send a message to a worker and return its answer. Raises OSError or EOFError if there is none."""
        free = self._free[number]
        streams = free.pop() if free else await asyncio.open_unix_connection(self._slot.socket_path(number))
        try:
            _write(streams[1], message)
            answer = await _read(streams[0])
        except BaseException:
            streams[1].close()
            raise
        free.append(streams)
        return answer

    @asynccontextmanager
    async def serve(self, answer: Callable[[bytes], Awaitable[bytes]]) -> AsyncIterator[None]:
        """Answer the other workers during the block."""

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                with suppress(OSError, EOFError):  # the other worker has ended
                    while True:
                        _write(writer, await answer(await _read(reader)))
            finally:
                writer.close()

        path = self._slot.socket_path(self._slot.number)
        path.unlink(missing_ok=True)
        server = None
        with suppress(OSError):  # the path is too long for a socket: the others search themselves
            server = await asyncio.start_unix_server(handle, path)
        try:
            yield
        finally:
            if server:
                server.close()
            for _, writer in (streams for free in self._free.values() for streams in free):
                writer.close()


def _write(writer: asyncio.StreamWriter, message: bytes) -> None:
    writer.write(len(message).to_bytes(LENGTH_BYTES) + message)


async def _read(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(LENGTH_BYTES)))
