"""The state of an index in a cluster, and what the threads of a process know of it."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock, RLock
from typing import Any, Generic, Self, TypeVar

FORMAT = 3
REFRESH_S = 0.1
"""For how long a state that was read is used before it is read again."""
SETTLING_S = 1.0
"""For how long a copy may lack what another one shows."""
TURN_S = 60.0
"""For how long a thread waits for another one that writes."""
SearcherT = TypeVar("SearcherT")


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The state of a generation: the changes of the archive that it has.

    change: all changes up to this number are in it. target, docid: of an update that has begun: up to which change it
    goes, and up to which docid it has come. phrasings: of how many texts a question has most. routings: a value for
    each shard that leads to it.
    """

    fingerprint: str
    format: int = FORMAT
    change: int = 0
    target: int = 0
    docid: int = 0
    phrasings: int = 1
    routings: tuple[str, ...] = ()
    facts: Mapping[str, Any] | None = None
    """Further data that a kind of index stores."""

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Read a state, another version's too."""
        known = {name: value for name, value in stored.items() if name in cls.__dataclass_fields__}
        return cls(**{**known, "routings": tuple(known.get("routings", ()))})

    def as_json(self) -> dict[str, Any]:
        """Return the state as it is stored."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class StoredState:
    """A state, and the generation that has it."""

    generation: str
    state: ClusterState


class SharedIndex(Generic[SearcherT]):
    """The knowledge of an index that a process's threads share: its state as last read or written, and a searcher.

    The state is read at most every REFRESH_S, so that a change costs all threads of a process one look.
    """

    def __init__(self) -> None:
        self.stored: StoredState | None = None
        self._read_at = self._changed_at = float("-inf")
        self._made: tuple[StoredState | None, float, SearcherT] | None = None
        self._reading, self._writing = Lock(), RLock()

    def refresh(self, read: Callable[[], StoredState | None], *, now: bool = False) -> None:
        """Read the state again, unless it was read lately, or another thread reads it. now: in any case."""
        if now:
            self._read(read)
        elif time.monotonic() - self._read_at > REFRESH_S and self._reading.acquire(blocking=False):
            try:
                self._read(read)
            finally:
                self._reading.release()

    def note(self, stored: StoredState | None, *, settled: bool) -> None:
        """Remember a state. settled: whether every copy shows it, as after a commit of this process."""
        self._read_at = time.monotonic()
        if stored != self.stored:
            self.stored, self._changed_at = stored, self._read_at - SETTLING_S * settled

    def searcher(self, make: Callable[[StoredState | None], SearcherT]) -> SearcherT:
        """Return the searcher of the state; it is made again once every copy shows that state."""
        now, stored, settled_at = time.monotonic(), self.stored, self._changed_at + SETTLING_S
        if self._made is None or self._made[0] is not stored or self._made[1] < settled_at <= now:
            self._made = stored, now, make(stored)
        return self._made[2]

    @contextmanager
    def turn(self) -> Iterator[None]:
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
        if started >= self._read_at:  # else a newer one was noted meanwhile
            self.note(stored, settled=False)
