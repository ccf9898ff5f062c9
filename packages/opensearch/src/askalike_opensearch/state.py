"""The state of an index in a cluster, cached for the threads of a process."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock, RLock
from typing import Any, Generic, Self, TypeVar

FORMAT = 4
REFRESH_S = 0.1
"""Time for which a state is used before it is read again."""
SETTLING_S = 1.0
"""Time for which a shard copy may lack changes that another one shows."""
TURN_S = 60.0
"""Maximum wait of a thread for another one that is writing."""
SearcherT = TypeVar("SearcherT")


@dataclass(frozen=True, slots=True)
class IndexState:
    """The state of a generation: the changes of the archive that it contains.

    change: all changes up to this number are in it. target, docid: of an unfinished update, the change that it leads to
    and the last docid sent. phrasings: the maximum number of texts of a question. routings: for each shard, a value
    that is routed to it.
    """

    fingerprint: str
    format: int = FORMAT
    change: int = 0
    target: int = 0
    docid: int = 0
    phrasings: int = 1
    routings: tuple[str, ...] = ()
    facts: Mapping[str, Any] | None = None
    """Additional data that depends on the type of index."""

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Read a state, possibly written by another version."""
        known = {name: value for name, value in stored.items() if name in cls.__dataclass_fields__}
        return cls(**{**known, "routings": tuple(known.get("routings", ()))})

    def as_json(self) -> dict[str, Any]:
        """Return the state as it is stored."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class StoredState:
    """A state, and its generation."""

    generation: str
    state: IndexState


class SharedIndex(Generic[SearcherT]):
    """An index as the threads of a process share it: its state as last read or written, and a searcher.

    The state is read at most every REFRESH_S, once for all threads of the process.
    """

    def __init__(self) -> None:
        self.stored: StoredState | None = None
        self._read_at = self._changed_at = float("-inf")
        self._made: tuple[StoredState | None, float, SearcherT] | None = None
        self._reading, self._writing = Lock(), RLock()

    def refresh(self, read: Callable[[], StoredState | None], *, now: bool = False) -> None:
        """Read the state again, unless it was read recently or another thread is reading it. now: read it anyway."""
        if now:
            self._read(read)
        elif time.monotonic() - self._read_at > REFRESH_S and self._reading.acquire(blocking=False):
            try:
                self._read(read)
            finally:
                self._reading.release()

    def note(self, stored: StoredState | None, *, settled: bool) -> None:
        """Store a state. settled: whether every shard copy shows it, as after a commit of this process."""
        self._read_at = time.monotonic()
        if stored != self.stored:
            self.stored, self._changed_at = stored, self._read_at - SETTLING_S * settled

    def searcher(self, make: Callable[[StoredState | None], SearcherT]) -> SearcherT:
        """Return the searcher of the state; it is replaced once every shard copy shows that state."""
        now = time.monotonic()
        stored = self.stored
        settled_at = self._changed_at + SETTLING_S
        if self._made is None or self._made[0] is not stored or self._made[1] < settled_at <= now:
            self._made = stored, now, make(stored)
        return self._made[2]

    @contextmanager
    def write_lock(self) -> Iterator[None]:
        """Wait while another thread writes. Two may write at once; the second would send the same changes again."""
        is_alone = self._writing.acquire(timeout=TURN_S)
        try:
            yield
        finally:
            if is_alone:
                self._writing.release()

    def _read(self, read: Callable[[], StoredState | None]) -> None:
        started = time.monotonic()
        stored = read()
        if started >= self._read_at:  # else a newer one has been stored since
            self.note(stored, settled=False)
