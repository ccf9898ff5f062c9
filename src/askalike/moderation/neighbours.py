"""Each question's nearest others with their probabilities, kept in a file as they are found, so that it can go on."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from askalike.calibration.calibration import Calibration
from askalike.calibration.curves import estimate_prevalence, shift_prior
from askalike.calibration.features import HitFeatureExtractor
from askalike.calibration.samples import QueryHits, load_hits, retrieve_hits
from askalike.errors import InputError
from askalike.iteration import chunks
from askalike.rankers import Ranker, open_current
from askalike.store.archive import Archive
from askalike.store.view import View
from askalike.types import Progress, Question

A = TypeVar("A")
B = TypeVar("B")
BATCH_SIZE = 1_024
NeighbourLink = tuple[str, str, float]
MIN_PROBABILITY = 0.05
"""Pairs of a lower probability are not kept."""
PairProbabilities = dict[tuple[str, str], float]
"""(an id, a greater id) → the probability that both ask the same."""


def find_neighbours(
    archive: Archive,
    ranker: Ranker,
    calibration: Calibration,
    path: Path,
    progress: Progress | None = None,
) -> tuple[PairProbabilities, float]:
    """The pairs of questions where one finds the other, and the share of questions whose first hit asks the same.

    A calibration is made on questions that have a duplicate; most have none. So that share is estimated from all first
    hits, and the probabilities are carried over to it. Where each finds the other, the mean counts.

    `path` is a file of JSON lines, one a batch of questions: a call that was interrupted goes on after its last whole
    line, as long as archive and calibration are the same. Memory grows with the pairs, not with the texts.
    Raises InputError where the file cannot be written.
    """
    view = archive.view()
    head = {"change": view.change, "calibration": calibration.model_dump(mode="json")}
    lines = _read_finished_lines(path, head)
    searcher = open_current(ranker, view)
    features, n = HitFeatureExtractor(view.language), len(view)
    try:
        path.write_text("".join(json.dumps(line) + "\n" for line in (head, *lines)), encoding="utf-8")
        with open(path, "a", encoding="utf-8") as file:
            batches = _read_batches(view, lines[-1][0] if lines else 0, calibration.has_bodies)
            for batch, found in _prefetch(lambda batch: retrieve_hits(searcher, batch.queries), batches):
                lines.append([batch.last_docid, *_find_links(calibration, features, batch, load_hits(found))])
                file.write(json.dumps(lines[-1]) + "\n")
                file.flush()
                if progress:
                    progress(min(len(lines) * BATCH_SIZE, n), n)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; expected a place that can be written to") from None
    best = np.array([p for _, _, first in lines for p in first], np.float64)
    share = estimate_prevalence(best, calibration.base_rate)
    pairs = _merge_links(link for _, links, _ in lines for link in links)
    told = shift_prior(np.array(list(pairs.values()), np.float64), calibration.base_rate, share)
    return dict(zip(pairs, told.tolist(), strict=True)), share


def _read_finished_lines(path: Path, header: Any) -> list[Any]:
    """The whole lines that a call with the same head has left behind."""
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
    """Questions, and the number of the last of them."""

    queries: Mapping[str, Question]
    last_docid: int


def _read_batches(view: View, after_docid: int, with_bodies: bool) -> Iterator[_Batch]:
    """The questions with greater numbers, so many at a time, asked as those that the calibration is of."""
    for batch in chunks(((n, q) for n, q in view.questions() if n > after_docid), BATCH_SIZE):
        yield _Batch({q.id: q if with_bodies else replace(q, body="") for _, q in batch}, batch[-1][0])


def _prefetch(function: Callable[[A], B], items: Iterable[A]) -> Iterator[tuple[A, B]]:
    """Each item with what is done with it; the next one is begun meanwhile, in a thread."""
    with ThreadPoolExecutor(1) as pool:
        begun: tuple[A, Future[B]] | None = None
        for item in items:
            following = item, pool.submit(function, item)
            if begun:
                yield begun[0], begun[1].result()
            begun = following
        if begun:
            yield begun[0], begun[1].result()


def _find_links(
    calibration: Calibration, feature_extractor: HitFeatureExtractor, batch: _Batch, hits: Iterable[QueryHits]
) -> tuple[list[NeighbourLink], list[float]]:
    """Who finds whom, and each first hit's probability."""
    links: list[NeighbourLink] = []
    first: list[float] = []
    for one in hits:
        told = calibration.curve_probabilities(one.compute_features(feature_extractor, batch.queries)).tolist()
        first += told[:1]
        links += [(one.query_id, hit.id, p) for hit, p in zip(one.documents, told, strict=True) if p >= MIN_PROBABILITY]
    return links, first


def _merge_links(links: Iterable[NeighbourLink]) -> PairProbabilities:
    ways: dict[tuple[str, str], list[float]] = {}
    for one, other, probability in links:
        ways.setdefault((min(one, other), max(one, other)), []).append(probability)
    return {pair: sum(told) / len(told) for pair, told in ways.items()}
