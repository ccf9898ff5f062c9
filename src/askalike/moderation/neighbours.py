"""The nearest neighbours of all questions of an archive, saved while they are computed and kept for the next call."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from askalike.calibration.features import HitFeatureExtractor
from askalike.calibration.samples import retrieve_hits
from askalike.errors import ArchiveError
from askalike.files import write_atomically
from askalike.iteration import chunks
from askalike.moderation.linking import Linker
from askalike.moderation.pairs import Link, PairProbabilities
from askalike.pieces import has_cluster, map_pieces, work_on
from askalike.rankers import Ranker, Searcher, create, open_current
from askalike.store import Archive, View
from askalike.types import Progress, Question

A = TypeVar("A")
B = TypeVar("B")
FORMAT = 2
"""Of the file. One of another format is made again."""
BATCH_SIZE = 1_024


def find_neighbours(
    archive: Archive,
    ranker: Ranker,
    linker: Linker,
    progress: Progress | None = None,
    cluster: str | None = None,
) -> tuple[PairProbabilities, Sequence[Link]]:
    """Return the pairs of questions where one finds the other, and the link of each question to its first hit.

    The links are saved below the archive's `index/`, one JSON line for each batch of questions: a call resumes after
    the last whole line of the one before, as long as archive, ranker and linker are the same. Memory grows with the
    pairs, not with the texts. cluster: the Ray cluster that searches, with the same results; None: this process does.
    Raises ArchiveError where the file cannot be written.
    """
    view = archive.view()
    path = archive.path / "index" / f"neighbours-{ranker.name}.jsonl"
    header = {"format": FORMAT, "change": view.change, "linker": linker.key}
    lines = _read_finished_lines(path, header)
    searcher = open_current(ranker, view)
    path.parent.mkdir(exist_ok=True)
    n = len(view)
    try:
        write_atomically(path, "".join(json.dumps(line) + "\n" for line in (header, *lines)))
        with open(path, "a", encoding="utf-8") as file:
            batches = _read_batches(view, lines[-1][0] if lines else 0, linker.with_bodies)
            with work_on(cluster):
                for line in _search_batches(archive, searcher, ranker, linker, batches):
                    lines.append(line)
                    file.write(json.dumps(lines[-1]) + "\n")
                    file.flush()
                    if progress:
                        progress(min(len(lines) * BATCH_SIZE, n), n)
    except OSError as error:
        raise ArchiveError(f"{path}: {error.strerror}; cannot be written there; choose another file") from None
    first_links = [link for _, _, first in lines for link in first]
    return linker.combine(archive, (link for _, links, _ in lines for link in links), first_links), first_links


def _read_finished_lines(path: Path, header: Any) -> list[Any]:
    """Return the whole lines after the header of an interrupted call; none where the header is another."""
    if not path.is_file():
        return []
    lines = [_parse_line(line) for line in path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]]
    return lines[1:] if lines and lines[0] == header and None not in lines else []


def _parse_line(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


class _Batch(NamedTuple):
    """Questions by id, and the docid of the last of them."""

    queries: Mapping[str, Question]
    last_docid: int


def _read_batches(view: View, after_docid: int, with_bodies: bool) -> Iterator[_Batch]:
    """Yield the questions with greater docids in batches, with bodies where the calibration's queries have some."""
    for batch in chunks(((n, q) for n, q in view.questions() if n > after_docid), BATCH_SIZE):
        yield _Batch({q.id: q if with_bodies else replace(q, body="") for _, q in batch}, batch[-1][0])


def _prefetch(function: Callable[[A], B], items: Iterable[A]) -> Iterator[tuple[A, B]]:
    """Yield each item with the function's result; the next result is computed in a thread meanwhile."""
    with ThreadPoolExecutor(1) as pool:
        current: tuple[A, Future[B]] | None = None
        for item in items:
            following = item, pool.submit(function, item)
            if current:
                yield current[0], current[1].result()
            current = following
        if current:
            yield current[0], current[1].result()


def _search_batches(
    archive: Archive, searcher: Searcher, ranker: Ranker, linker: Linker, batches: Iterable[_Batch]
) -> Iterator[list[Any]]:
    """Yield the line of each batch."""
    if not has_cluster():
        return _search_here(searcher, linker, batches)
    values = ranker.name, dict(ranker.values)
    return map_pieces(partial(_search_batch, archive.path.resolve(), archive.engine, values, linker), batches)


def _search_here(searcher: Searcher, linker: Linker, batches: Iterable[_Batch]) -> Iterator[list[Any]]:
    """Yield the line of each batch."""
    extractor = HitFeatureExtractor(searcher.view.language)
    for batch, session in _prefetch(lambda batch: retrieve_hits(searcher, batch.queries), batches):
        yield [batch.last_docid, *linker.find(session, extractor)]


def _search_batch(
    path: Path, engine: str | None, ranker: tuple[str, dict[str, Any]], linker: Linker, batch: _Batch
) -> list[Any]:
    """Return the line of one batch, in a worker that opens the archive and its index as they were committed."""
    with Archive.open(path, engine) as archive:
        searcher = create(*ranker, archive).open(archive.view())
        return next(_search_here(searcher, linker, [batch]))
