"""Searches that the workers of the service share: the least busy worker makes a search, whichever got the request.

A request comes over a connection, which stays with one worker, so that a search may have to wait in one worker while
another one is idle. The number of searches that each makes is in shared memory; workers communicate over sockets in a
folder that only this user may enter. A message is its length in four bytes, then its bytes.
"""

import asyncio
import mmap
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

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
