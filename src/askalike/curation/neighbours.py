"""Each question's nearest others with their probabilities, kept in a file as they are found, so that it can go on."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from askalike.archive.store import Archive
from askalike.archive.view import View, chunks
from askalike.curation.hits import Hits, read, searched
from askalike.engines._calibration import Calibration
from askalike.engines._features import Features
from askalike.errors import InputError
from askalike.evaluation.prevalence import prevalence, shifted
from askalike.rankers import Ranker, caught_up
from askalike.rankers._ranker import Progress
from askalike.types import Question

A = TypeVar("A")
B = TypeVar("B")
BATCH = 1_024
Link = tuple[str, str, float]
LEAST = 0.05
"""Pairs of a lower probability are not kept."""
Pairs = dict[tuple[str, str], float]
"""(an id, a greater id) → the probability that both ask the same."""


def neighbours(
    archive: Archive,
    ranker: Ranker,
    calibration: Calibration,
    path: Path,
    progress: Progress | None = None,
) -> tuple[Pairs, float]:
    """The pairs of questions where one finds the other, and the share of questions whose first hit asks the same.

    A calibration is made on questions that have a duplicate; most have none. So that share is estimated from all first
    hits, and the probabilities are carried over to it. Where each finds the other, the mean counts.

    `path` is a file of JSON lines, one a batch of questions: a call that was interrupted goes on after its last whole
    line, as long as archive and calibration are the same. Memory grows with the pairs, not with the texts.
    Raises InputError where the file cannot be written.
    """
    view = archive.view()
    head = {"change": view.change, "calibration": calibration.model_dump(mode="json")}
    lines = _kept(path, head)
    caught_up(ranker, view)
    features, n = Features(view.language), len(view)
    try:
        path.write_text("".join(json.dumps(line) + "\n" for line in (head, *lines)), encoding="utf-8")
        with open(path, "a", encoding="utf-8") as file:
            batches = _batches(view, lines[-1][0] if lines else 0, calibration.bodies)
            for batch, found in _one_ahead(lambda batch: searched(ranker, batch.asked), batches):
                lines.append([batch.last, *_links(calibration, features, batch, read(view, found))])
                file.write(json.dumps(lines[-1]) + "\n")
                file.flush()
                if progress:
                    progress(min(len(lines) * BATCH, n), n)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; expected a place that can be written to") from None
    best = np.array([p for _, _, first in lines for p in first], np.float64)
    share = prevalence(best, calibration.base_rate)
    pairs = _together(link for _, links, _ in lines for link in links)
    told = shifted(np.array(list(pairs.values()), np.float64), calibration.base_rate, share)
    return dict(zip(pairs, told.tolist(), strict=True)), share


def _kept(path: Path, head: Any) -> list[Any]:
    """The whole lines that a call with the same head has left behind."""
    if not path.is_file():
        return []
    lines = [_parsed(line) for line in path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]]
    return lines[1:] if lines and lines[0] == head and None not in lines else []


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


class _Batch(NamedTuple):
    """Questions, and the number of the last of them."""

    asked: Mapping[str, Question]
    last: int


def _batches(view: View, after: int, bodies: bool) -> Iterator[_Batch]:
    """The questions with greater numbers, so many at a time, asked as those that the calibration is of."""
    for batch in chunks(((n, q) for n, q in view.questions() if n > after), BATCH):
        yield _Batch({q.id: q if bodies else replace(q, body="") for _, q in batch}, batch[-1][0])


def _one_ahead(do: Callable[[A], B], items: Iterable[A]) -> Iterator[tuple[A, B]]:
    """Each item with what is done with it; the next one is begun meanwhile, in a thread."""
    with ThreadPoolExecutor(1) as pool:
        begun: tuple[A, Future[B]] | None = None
        for item in items:
            following = item, pool.submit(do, item)
            if begun:
                yield begun[0], begun[1].result()
            begun = following
        if begun:
            yield begun[0], begun[1].result()


def _links(
    calibration: Calibration, features: Features, batch: _Batch, hits: Iterable[Hits]
) -> tuple[list[Link], list[float]]:
    """Who finds whom, and each first hit's probability."""
    links: list[Link] = []
    first: list[float] = []
    for one in hits:
        told = calibration.probabilities(one.told(features, batch.asked)).tolist()
        first += told[:1]
        links += [(one.id, hit.id, p) for hit, p in zip(one.hits, told, strict=True) if p >= LEAST]
    return links, first


def _together(links: Iterable[Link]) -> Pairs:
    ways: dict[tuple[str, str], list[float]] = {}
    for one, other, probability in links:
        ways.setdefault((min(one, other), max(one, other)), []).append(probability)
    return {pair: sum(told) / len(told) for pair, told in ways.items()}
