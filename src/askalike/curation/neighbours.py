"""Each question's nearest others with their probabilities, kept in a file as they are found, so that it can go on."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from askalike.archive.splits import labelled
from askalike.archive.store import Archive
from askalike.archive.view import View, chunks
from askalike.curation.hits import found
from askalike.engines._calibration import Calibration
from askalike.errors import InputError
from askalike.evaluation.prevalence import prevalence, shifted
from askalike.rankers import Ranker, caught_up
from askalike.rankers._ranker import Progress
from askalike.types import Question

BATCH = 256
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
    view = archive.view(hidden=labelled(archive))
    head = {"change": view.change, "calibration": calibration.model_dump(mode="json")}
    lines = _kept(path, head)
    caught_up(ranker, view)
    try:
        path.write_text("".join(json.dumps(line) + "\n" for line in (head, *lines)), encoding="utf-8")
        with open(path, "a", encoding="utf-8") as file:
            for batch, last in _batches(view, lines[-1][0] if lines else 0):
                lines.append([last, *_links(ranker, view, calibration, batch)])
                file.write(json.dumps(lines[-1]) + "\n")
                file.flush()
                if progress:
                    progress(min(len(lines) * BATCH, len(view)), len(view))
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


def _batches(view: View, after: int) -> Iterator[tuple[list[Question], int]]:
    """The questions with greater numbers, so many at a time, each batch with its last number."""
    for batch in chunks(((n, q) for n, q in view.questions() if n > after), BATCH):
        yield [question for _, question in batch], batch[-1][0]


def _links(
    ranker: Ranker, view: View, calibration: Calibration, batch: Iterable[Question]
) -> tuple[list[Link], list[float]]:
    """Who finds whom, and each first hit's probability. Questions are asked as those that the calibration is of."""
    asked = {q.id: q if calibration.bodies else replace(q, body="") for q in batch}
    links: list[Link] = []
    first: list[float] = []
    for id, hits, features in found(ranker, view, asked):
        told = calibration.probabilities(features).tolist()
        first += told[:1]
        links += [(id, hit, p) for hit, p in zip(hits, told, strict=True) if p >= LEAST]
    return links, first


def _together(links: Iterable[Link]) -> Pairs:
    ways: dict[tuple[str, str], list[float]] = {}
    for one, other, probability in links:
        ways.setdefault((min(one, other), max(one, other)), []).append(probability)
    return {pair: sum(told) / len(told) for pair, told in ways.items()}
