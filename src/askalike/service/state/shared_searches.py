"""Searches that wait for one engine are made together: a batch takes less time than one search after the other."""

from collections import deque
from dataclasses import dataclass, field

from askalike.engines import SearchRequest, SearchResult
from askalike.engines.local import LocalEngine

MAX_BATCH = 4
"""Maximum number of searches made together: more save little, and each waits for the last of them."""


@dataclass(eq=False)
class WaitingSearch:
    """A search that waits for the engine. Its result may come with that of another one."""

    request: SearchRequest
    queue: "SharedSearches"
    wanted: bool = True
    """Whether its result is still waited for."""
    result: SearchResult | None = field(default=None, init=False)

    def finish(self, engine: LocalEngine) -> SearchResult:
        """Return the result; waiting searches are made with it. Called in the engine's thread."""
        if self.result is None:
            self.queue.search_with(self, engine)
        return engine.search_batch([self.request])[0] if self.result is None else self.result


class SharedSearches:
    """The searches that wait for one engine, in their order."""

    def __init__(self) -> None:
        self._waiting: deque[WaitingSearch] = deque()

    def add(self, request: SearchRequest) -> WaitingSearch:
        """Return a search that waits from now on."""
        search = WaitingSearch(request, self)
        self._waiting.append(search)
        return search

    def search_with(self, first: WaitingSearch, engine: LocalEngine) -> None:
        """Make a search with those that wait behind it. Without any, or after an error, it is left without a result."""
        batch = [first]
        while self._waiting and len(batch) < MAX_BATCH:
            search = self._waiting.popleft()
            if search is not first and search.wanted and search.result is None:
                batch.append(search)
        if len(batch) == 1:
            return
        try:
            results = engine.search_batch([search.request for search in batch])
        except Exception:  # each is then made alone, so that an error reaches its own request
            return
        for search, result in zip(batch, results, strict=True):
            search.result = result
