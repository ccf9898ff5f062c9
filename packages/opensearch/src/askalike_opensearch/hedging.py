"""Hedged requests: if a node does not answer soon, another one is asked as well, and the first answer counts.

See Dean and Barroso, "The Tail at Scale" (2013). A node may wait for another one that has lost its network until the
cluster has noticed; a hedged request need not wait.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from itertools import count
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

HEDGE_FACTOR, TIMEOUT_FACTOR, DECAY = 2.0, 4.0, 0.9
MIN_TIMEOUT_S = 0.5
"""Minimum time that a node has for an answer, if there are others."""
AnswerT = TypeVar("AnswerT")
_asked: ContextVar[list[Any] | None] = ContextVar("asked", default=None)


def first_answer(request: Callable[[], AnswerT], nodes: int, wait_s: float, failure: type[Exception]) -> AnswerT:
    """Return the first answer to a request that is sent to at most `nodes` nodes.

    The next node is asked if one has failed, or if none has answered after `wait_s` seconds. An error that is not a
    `failure` counts as an answer. Raises the last failure if every node has failed.
    """
    if nodes == 1:
        return request()
    outcomes: SimpleQueue[tuple[AnswerT, None] | tuple[None, Exception]] = SimpleQueue()
    asked: list[Any] = []

    def ask() -> None:
        _asked.set(asked)
        try:
            outcomes.put((request(), None))
        except Exception as error:
            outcomes.put((None, error))

    started = failed = 0
    while True:
        if started < nodes:
            Thread(target=ask, daemon=True).start()
            started += 1
        try:
            answer, error = outcomes.get(timeout=wait_s if started < nodes else None)
        except Empty:
            continue
        if error is None:
            return answer  # type: ignore[return-value]
        failed += 1
        if failed == nodes or not isinstance(error, failure):
            raise error


class RoundRobinSelector:
    """Round-robin selection of nodes, for opensearch-py; a request uses a node twice only if there is no other."""

    def __init__(self, options: Any) -> None:
        self._numbers = count()

    def select(self, connections: Sequence[Any]) -> Any:
        """Return one of the nodes not known to be dead."""
        first = next(self._numbers)
        asked = _asked.get()
        turns = [connections[(first + n) % len(connections)] for n in range(len(connections))]
        chosen = next((node for node in turns if node not in (asked or ())), turns[0])
        if asked is not None:
            asked.append(chosen)
        return chosen


class HedgeDelay:
    """The time to wait for requests of a kind, according to their recent durations."""

    def __init__(self, min_s: float) -> None:
        """min_s: the minimum time to wait for a node before asking another one as well."""
        self._min_s, self._usual_s = min_s, 0.0

    def note(self, took_s: float) -> None:
        """Record the duration of a request: longer ones count at once, and are forgotten slowly."""
        self._usual_s = max(took_s, DECAY * self._usual_s + (1 - DECAY) * took_s)

    @property
    def wait_s(self) -> float:
        """The number of seconds without an answer after which another node is asked as well."""
        return max(self._min_s, HEDGE_FACTOR * self._usual_s)

    def give_up_s(self, rounds: int, most_s: float) -> float:
        """Return the timeout for a node's answer in seconds; it doubles with each round through all nodes."""
        return min(max(MIN_TIMEOUT_S, TIMEOUT_FACTOR * self._usual_s) * 2.0 ** min(rounds, 10), most_s)
