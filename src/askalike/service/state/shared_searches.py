"""Searches that wait for the same engine run as a batch, which takes less time than one after the other."""

from collections import deque
from dataclasses import dataclass, field

from askalike.search.engine import LocalEngine, SearchRequest, SearchResult

MAX_BATCH = 4
"""Maximum number of searches in a batch: more save little, and each waits for the whole batch."""


@dataclass(eq=False)
class WaitingSearch:
    """A search that waits for the engine. It may run in the batch of another one."""

    request: SearchRequest
    queue: "SharedSearches"
    wanted: bool = True
    """Whether its result is still waited for."""
    result: SearchResult | None = field(default=None, init=False)

    def finish(self, engine: LocalEngine) -> SearchResult:
        """Return the result; other waiting searches run with it. Called in the engine's thread."""
        if self.result is None:
            self.queue.search_with(self, engine)
        return engine.search_batch([self.request])[0] if self.result is None else self.result


class SharedSearches:
    """The searches that wait for one engine, in order of arrival."""

    def __init__(self) -> None:
        self._waiting: deque[WaitingSearch] = deque()

    def add(self, request: SearchRequest) -> WaitingSearch:
        """Add a search to the queue and return it."""
        search = WaitingSearch(request, self)
        self._waiting.append(search)
        return search

    def search_with(self, first: WaitingSearch, engine: LocalEngine) -> None:
        """Run a search with those that wait behind it. Without any, or after an error, it has no result."""
        batch = [first]
        while self._waiting and len(batch) < MAX_BATCH:
            search = self._waiting.popleft()
            if search is not first and search.wanted and search.result is None:
                batch.append(search)
        if len(batch) == 1:
            return
        try:
            results = engine.search_batch([search.request for search in batch])
        except Exception:  # each then runs alone, so that an error reaches its own request
            return
        for search, result in zip(batch, results, strict=True):
            search.result = result
