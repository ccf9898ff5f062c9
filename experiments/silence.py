"""Fits how much more similar a hit must be where a query looks like everyday questions, and draws it.

python experiments/silence.py TEXTS ARCHIVE:QUERIES[:SISTER] … [--figure FILE] > experiments/reports/silence.json

Arguments as of `shown.py`; SISTER is an archive on other topics. Each query is two numbers: its margin, by which its
first hit scores more than everyday questions do, and its place, by its vector, on the way from everyday questions, 0,
to the archive's own, 1. A logistic regression tells what people ask, if it is found among five, from everyday questions
and titles of sisters; each of these has the same weight in each archive. The limit is the probability at which 96 % of
everyday questions get nothing, plainly and politely. A row each: the packaged line, and lines fitted on all archives,
without one, without those of a language; measured on what was left out.
"""

import argparse
import json
import os
import random
import shlex
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from shown import Asked, collect

from askalike.calibration.abstention import NEEDED_MARGIN, NO_RULE, abstention_rule
from askalike.core.arrays import Array
from askalike.core.hits import TYPED_QUERY_ID
from askalike.core.records import Question
from askalike.rankers import resolve
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.search.readings import read_queries, retrieve_readings
from askalike_research.experiments.figures import FAINT, INK, RIGHT, WRONG, add_legend, open_figure, write_svg
from askalike_research.experiments.provenance import collect_provenance

K, SILENT, L2, DRAWN, SEED = 5, 0.96, 1e-4, 250, 0


class Point(NamedTuple):
    """A query. found: whether a right question is among the first five, None if there is none."""

    archive: str
    language: str
    kind: str
    margin: float
    place: float
    found: bool | None


class Line(NamedTuple):
    """The margin that a query at a place needs: start − slope · place."""

    start: float
    slope: float

    def shows(self, points: Sequence[Point]) -> Array:
        """Return for each query whether it gets something."""
        return np.array([one.margin >= self.start - self.slope * one.place for one in points], np.bool_)


def place_queries(retriever: ArchiveRetriever, asked: Sequence[Asked]) -> list[tuple[float, float, bool | None]]:
    """Return margin, place and whether it is found for each query."""
    searcher, rule = retriever.searcher(), abstention_rule(retriever.archive, retriever.ranker) or NO_RULE
    read = read_queries(searcher, [Question(f"{TYPED_QUERY_ID}{n or ''}", one.text) for n, one in enumerate(asked)])
    owners = [n for n, own in enumerate(read) for _ in own]
    readings = {str(n): one for n, one in enumerate(one for own in read for one in own)}
    found = retrieve_readings(searcher, resolve(searcher, readings), owners, K)
    first = [owners.index(n) for n in range(len(asked))]
    ids = {docid: question.id for docid, question in searcher.view.questions_by_docid(found.distinct_docids).items()}
    level, limits = rule.usual.limits.related, rule.limits(found)
    rows = []
    for one, row in zip(asked, first, strict=True):
        scores = (found.absolute or ())[row].tolist()
        place = 0.5 + (level - limits[row].related) / (1 - level) / NEEDED_MARGIN
        is_found = any(ids[docid] in one.relevant for docid in found.docids[row].tolist()) if one.relevant else None
        rows.append((((scores or [0.0])[0] - level) / (1 - level), place, is_found))
    return rows


def read_points(texts: Path, place: str) -> tuple[list[Point], dict[str, Any]]:
    """Return an archive's queries, but those that are not found, and where they come from."""
    path, queries, *sisters = place.split(":")
    with ArchiveRetriever.open(path) as retriever:
        language = retriever.archive.view().language or ""
        points = [
            Point(Path(path).name, language, kind, *row)
            for kind, asked in collect(retriever, texts, Path(path).name, queries, sisters).items()
            if kind not in ("own", "half")
            for row in place_queries(retriever, asked)
        ]
        return [one for one in points if one.found is not False], collect_provenance(retriever.archive, "")


def fit(points: Sequence[Point]) -> Line:
    """Return the line at which SILENT of everyday questions get nothing, the mean of all archives and kinds."""
    features = np.array([[one.margin, one.place, 1.0] for one in points])
    signs = np.array([1.0 if one.found else -1.0 for one in points])
    groups = defaultdict(list)
    for n, one in enumerate(points):
        groups[one.archive, one.kind.split(",")[0] if one.found is None else "found"].append(n)
    weights = np.zeros(len(points))
    for rows in groups.values():
        weights[rows] = 1 / len(rows) / len(groups)

    def loss(values: Array) -> tuple[float, Array]:
        margins = signs * (features @ values)
        pull = -signs * weights / (1 + np.exp(margins))
        decay = L2 * values * [1, 1, 0]
        return weights @ np.logaddexp(0, -margins) + decay @ values / 2, pull @ features + decay

    on_margin, on_place, _ = minimize(loss, np.zeros(3), jac=True, method="L-BFGS-B").x
    slope = on_place / on_margin
    everyday: dict[tuple[str, str], list[float]] = defaultdict(list)
    for one in points:
        if one.kind.startswith("everyday"):
            everyday[one.archive, one.kind].append(one.margin + slope * one.place)
    low, high = -2.0, 2.0
    for _ in range(40):
        middle = (low + high) / 2
        silent = np.mean([np.mean(np.array(values) < middle) for values in everyday.values()])
        low, high = (middle, high) if silent < SILENT else (low, middle)
    return Line(high, float(slope))


def measure(line: Line, points: Sequence[Point]) -> dict[str, float]:
    """Return the share of each kind that gets something, or nothing if nothing is right, in per cent."""
    shown = line.shows(points)
    kinds = defaultdict(list)
    for one, is_shown in zip(points, shown, strict=True):
        kinds[f"{one.kind}, shown" if one.found else f"{one.kind}, silent"].append(is_shown == bool(one.found))
    return {kind: round(100 * float(np.mean(values)), 1) for kind, values in kinds.items()}


def draw(line: Line, points: Sequence[Point], path: Path) -> None:
    """Draw some queries of each kind by margin and place, and the line."""
    kinds = {
        ("titles of sister sites", FAINT): [one for one in points if one.kind.startswith("titles")],
        ("everyday questions", WRONG): [one for one in points if one.kind.startswith("everyday")],
        ("what people ask, if it is found", RIGHT): [one for one in points if one.found],
    }
    ends = np.array([-0.5, 1.6])
    with open_figure(560, 330) as (figure, (axes,)):
        for (name, colour), own in kinds.items():
            drawn = random.Random(SEED).sample(own, min(len(own), DRAWN))
            axes.plot([one.place for one in drawn], [one.margin for one in drawn], ".", color=colour, label=name, ms=3)
        axes.plot(ends, line.start - line.slope * ends, color=INK, label="related from here on", lw=1.2)
        axes.set(xlim=ends, ylim=(-0.5, 1.05), ylabel="margin")
        axes.set_xlabel("place: everyday questions 0, the archive's own 1")
        add_legend(figure, axes, "upper left")
        write_svg(figure, path)


def main() -> None:
    """Fit, measure, and write the rows as a JSON list, one in each line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path)
    parser.add_argument("places", nargs="+", metavar="ARCHIVE:QUERIES[:SISTER]")
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    named = [options.texts.name, *map(os.path.basename, options.places)]
    points: list[Point] = []
    for place in options.places:
        own, provenance = read_points(options.texts, place)
        points += own
        print(place, len(own), file=sys.stderr, flush=True)
    groups = {"": points} | {
        name: [one for one in points if name in (one.archive, one.language)]
        for name in dict.fromkeys([one.archive for one in points] + [one.language for one in points])
    }
    packaged = Line(NEEDED_MARGIN / 2, NEEDED_MARGIN)
    lines = [("", packaged, points)] + [
        (name, fit([one for one in points if name not in (one.archive, one.language)]), held)
        for name, held in groups.items()
        if not name or len(held) < len(points)
    ]
    origin = provenance | {"command": shlex.join(["python", "experiments/silence.py", *named])}
    rows = [
        {"left out": name or None, "packaged": line is packaged, "start": round(line.start, 3),
         "slope": round(line.slope, 3), "n": len(held)} | measure(line, held) | {"provenance": origin}
        for name, line, held in lines
    ]  # fmt: skip
    print("[", ",\n".join(map(json.dumps, rows)), "]", sep="\n")
    if options.figure:
        draw(packaged, points, options.figure)


if __name__ == "__main__":
    main()
