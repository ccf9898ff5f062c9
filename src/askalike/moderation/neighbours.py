"""Finds the nearest neighbours of all questions of an archive, and saves the links to them batch by batch."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from askalike.calibration.features import HitFeatureExtractor
from askalike.calibration.samples import retrieve_hits
from askalike.core.iteration import chunks
from askalike.core.parallel import has_workers, map_pieces
from askalike.core.types import Progress, Question
from askalike.moderation.pairs import Link, Linker, PairProbabilities
from askalike.rankers import Ranker, Searcher, create, open_current, resume_work
from askalike.store import Archive, View

A = TypeVar("A")
B = TypeVar("B")
BATCH_SIZE = 1_024
_Batch = Mapping[str, Question]


def find_neighbours(
    archive: Archive, ranker: Ranker, linker: Linker, progress: Progress | None = None
) -> tuple[PairProbabilities, Sequence[Link]]:
    """Return the pairs of questions where one finds the other, and the link of each question to its first hit.

    The links are saved in the archive's `index/`, batch by batch: a call resumes after the last batch of the previous
    one, see `resume_work`. Memory grows with the number of pairs, not with the texts. The processes of `use_workers`
    share the searches.
    """
    view = archive.view()
    n = len(view)

    def search(done: int) -> Iterator[list[Any]]:
        searcher = open_current(ranker, view)
        batches = islice(_read_batches(view, linker.with_bodies), done, None)
        for number, line in enumerate(_search_batches(archive, searcher, ranker, linker, batches), done + 1):
            yield line
            if progress:
                progress(min(number * BATCH_SIZE, n), n)

    lines = list(resume_work("neighbours", ranker, view, linker.key, math.ceil(n / BATCH_SIZE), search))
    first_links = [link for _, first in lines for link in first]
    return linker.combine(archive, (link for links, _ in lines for link in links), first_links), first_links


def _read_batches(view: View, with_bodies: bool) -> Iterator[_Batch]:
    for batch in chunks(view.questions(), BATCH_SIZE):
        yield {q.id: q if with_bodies else replace(q, body="") for _, q in batch}


def _prefetch(function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
    """Yield the function's result for each item, while a thread computes the next one."""
    with ThreadPoolExecutor(1) as pool:
        current: Future[B] | None = None
        for item in items:
            following = pool.submit(function, item)
            if current:
                yield current.result()
            current = following
        if current:
            yield current.result()


def _search_batches(
    archive: Archive, searcher: Searcher, ranker: Ranker, linker: Linker, batches: Iterable[_Batch]
) -> Iterator[list[Any]]:
    if not has_workers():
        return _search_here(archive.view(), searcher, linker, batches)
    values = ranker.name, dict(ranker.values)
    return map_pieces(partial(_search_batch, archive.path.resolve(), archive.engine, values, linker), batches)


def _search_here(view: View, searcher: Searcher, linker: Linker, batches: Iterable[_Batch]) -> Iterator[list[Any]]:
    extractor = HitFeatureExtractor(view.language, view)
    for retrieved in _prefetch(partial(retrieve_hits, searcher), batches):
        yield list(linker.find(searcher, retrieved, extractor))


def _search_batch(
    path: Path, engine: str | None, ranker: tuple[str, dict[str, Any]], linker: Linker, batch: _Batch
) -> list[Any]:
    """Return the line of one batch, in a worker that opens the committed archive and index."""
    with Archive.open(path, engine) as archive:
        view = archive.view()
        searcher = create(*ranker, archive).open(view)
        return next(_search_here(view, searcher, linker, [batch]))
