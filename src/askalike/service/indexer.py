"""The one process that follows the archives' changes and commits them to their indexes."""

import sys
import time
from collections.abc import Sequence

from askalike.archive.store import Archive
from askalike.archive.view import View
from askalike.errors import AskalikeError, IndexBusyError
from askalike.rankers import Ranker
from askalike.service.served import served_ranker
from askalike.service.settings import ServiceSettings

EVERY_S = 0.1
"""How often it looks for changes."""
RETRY_S = 5
"""How long it waits where they cannot be indexed: the disk may be full, what was indexed before still serves."""


class Indexer:
    """Keeps one archive's index up to date."""

    def __init__(self, view: View, ranker: Ranker) -> None:
        self._view = view
        self._ranker = ranker
        self._done = -1

    def follow(self) -> None:
        """Applies what has changed. Another process that is indexing already does as well."""
        change = self._view.change
        if change == self._done:
            return
        try:
            self._ranker.index(self._view)
            self._done = change
        except IndexBusyError as busy:
            if not busy.searchable:
                raise


def indexers(settings: ServiceSettings) -> Sequence[Indexer]:
    """One for each archive of a service, none of which has done anything yet."""
    paths = settings.folders().values()
    return [Indexer(Archive.open(path).view(), served_ranker(settings, path)) for path in paths]


def run(settings: ServiceSettings) -> None:
    """Indexes what is new, says `ready` on standard output, and goes on following until it is ended."""
    each = indexers(settings)
    for indexer in each:
        indexer.follow()
    print("ready", flush=True)
    while True:
        time.sleep(EVERY_S)
        for indexer in each:
            _follow(indexer)


def _follow(indexer: Indexer) -> None:
    try:
        indexer.follow()
    except AskalikeError as error:
        print(f"askalike: {error}", file=sys.stderr, flush=True)
        time.sleep(RETRY_S)
