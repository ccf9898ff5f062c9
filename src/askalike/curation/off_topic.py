"""Abstention: how many off-topic queries get nothing, against how many right first hits stay, at each probability."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from askalike.archive.queries import read_queries
from askalike.archive.sample import sampled_questions
from askalike.archive.store import Archive
from askalike.curation.calibrate import Calibrated, share
from askalike.curation.hits import found
from askalike.curation.thresholds import GRID, Share
from askalike.engines._calibration import Line
from askalike.evaluation.curves import Floats
from askalike.rankers import Ranker, caught_up
from askalike.types import Question

QUERIES = 1_000
WANTED = 0.9


@dataclass(frozen=True, slots=True)
class Point:
    """At a line: the off-topic queries that abstain, and the right first hits that are kept."""

    probability: float
    abstain: Share
    kept: Share


@dataclass(frozen=True, slots=True)
class Abstention:
    """The whole curve, and the lowest line at which WANTED of the off-topic queries abstain."""

    queries: int
    points: Sequence[Point]
    wanted: Point

    @property
    def line(self) -> Line:
        """That line, to be put into a calibration."""
        return Line(probability=min(self.wanted.probability, 1.0), of="abstention", share=WANTED)

    def as_dict(self) -> Mapping[str, Any]:
        """For JSON."""
        return {"queries": self.queries, "curve": [_point(p) for p in self.points], "wanted": _point(self.wanted)}


def abstention(archive: Archive, ranker: Ranker, calibrated: Calibrated, queries: Sequence[Question]) -> Abstention:
    """Asks queries that have nothing to do with the archive. Bodies are asked only where labelled queries have some.

    The right first hits have the probabilities that curves give which saw nothing of their clusters.
    """
    bodies = calibrated.sample.bodies
    asked = [replace(query, id=f" off {n} ", body=query.body if bodies else "") for n, query in enumerate(queries)]
    rows = found(caught_up(ranker, archive.view()), archive.view(), {query.id: query for query in asked})
    best = [calibrated.calibration.told(features[:1]) for _, _, features in rows]
    highest = np.array([p[0] if len(p) else -1.0 for p in best])
    right = calibrated.predicted.told(calibrated.calibration.prevalence)[calibrated.sample.first.right]
    # the lowest line that so many stay below is just above the probability of the last of them
    last = np.sort(highest)[int(np.ceil(WANTED * len(highest))) - 1]
    line = max(float(np.nextafter(last, 2.0)), 0.0)
    return Abstention(len(asked), [_at(p, highest, right) for p in GRID], _at(line, highest, right))


def off_topic(path: Path, size: int = QUERIES, seed: int = 0) -> list[Question]:
    """Queries of a file of JSON lines, or the questions of an archive; so many of them, drawn without replacement.

    Raises InputError for a file that cannot be read, ArchiveError for an archive that cannot.
    """
    if not path.is_dir():
        queries = list(read_queries(path).values())
        drawn = np.random.default_rng(seed).permutation(len(queries))[:size]
        return [queries[i] for i in np.sort(drawn)]
    with Archive.open(path) as archive:
        return list(sampled_questions(archive.view(), size, seed))


def _at(line: float, highest: Floats, right: Floats) -> Point:
    abstain = Share(int((highest < line).sum()), len(highest))
    return Point(line, abstain, Share(int((right >= line).sum()), len(right)))


def _point(point: Point) -> Mapping[str, Any]:
    return {"probability": point.probability, "abstain": share(point.abstain), "kept": share(point.kept)}
