"""Requests that wait for the same engine are searched as a batch, which takes less time than one after the other."""

from collections import deque
from dataclasses import dataclass, field

from askalike.search.engine import LocalEngine, SearchRequest, SearchResult

MAX_BATCH = 4
"""Maximum number of requests in a batch: more save little, and each waits for the whole batch."""


@dataclass(eq=False)
class PendingRequest:
    """A request that waits for the engine. It may be searched in the batch of another one."""

    request: SearchRequest
    batcher: "RequestBatcher"
    is_awaited: bool = True
    """Whether its result is still waited for."""
    result: SearchResult | None = field(default=None, init=False)

    def search(self, engine: LocalEngine) -> SearchResult:
        """Return the result; other waiting requests are searched with it. Called in the engine's thread."""
        if self.result is None:
            self.batcher.search_batch(self, engine)
        return engine.search_batch([self.request])[0] if self.result is None else self.result


class RequestBatcher:
    """The requests that wait for one engine, in order of arrival."""

    def __init__(self) -> None:
        self._pending: deque[PendingRequest] = deque()

    def add(self, request: SearchRequest) -> PendingRequest:
        """Add a request to the queue and return it."""
        pending = PendingRequest(request, self)
        self._pending.append(pending)
        return pending

    def search_batch(self, first: PendingRequest, engine: LocalEngine) -> None:
        """Search for a request with those that wait behind it. Without any, or after an error, it has no result."""
        batch = [first]
        while self._pending and len(batch) < MAX_BATCH:
            pending = self._pending.popleft()
            if pending is not first and pending.is_awaited and pending.result is None:
                batch.append(pending)
        if len(batch) == 1:
            return
        try:
            results = engine.search_batch([pending.request for pending in batch])
        except Exception:  # each is then searched alone, so that an error reaches its own request
            return
        for pending, result in zip(batch, results, strict=True):
            pending.result = result
