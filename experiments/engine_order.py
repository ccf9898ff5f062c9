"""SemEval Task 3 B with the search engine's order of the candidates as an additional feature: run, weights and test.

python experiments/engine_order.py ARCHIVE PART,PART,… [PART,PART,… …]

Each part is a ranker or a trained model of the archive; several lists of parts are the same system with different
seeds. Scores are scaled to 0 … 1 within a query's candidates; the engine's are 1 / √rank. Weights are chosen by MAP on
dev; test is used once, to compare with the engine's own order by Welch's t over seeds and queries.
"""

import itertools
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askalike import rankers
from askalike.evaluation.measures import average_precision
from askalike.evaluation.significance import estimate_difference, interval_over_seeds
from askalike.labels.splits import load_split
from askalike.store.archive import Archive

Array = NDArray[np.float64]
Features = list[tuple[Array, NDArray[np.bool_]]]
CHOICES = (0, 0.5, 1, 2)


def main(directory: str, *systems: str) -> None:
    """Print weights and MAP of each seed, and the difference to the engine over all seeds."""
    seeds = [tuple(parts.split(",")) for parts in systems]
    with Archive.open(Path(directory)) as archive:
        splits = [(features(archive, "dev", parts), features(archive, "test", parts)) for parts in seeds]
    for with_engine in (False, True):
        print("with the engine's order" if with_engine else "without the engine's order")
        measured = [_measure(dev, test, parts, with_engine) for (dev, test), parts in zip(splits, seeds, strict=True)]
        ours, engine = (np.array(rows) for rows in zip(*measured, strict=True))
        difference = estimate_difference(ours, engine[:1])
        low, high = interval_over_seeds(ours)
        spread = ours.mean(1).std(ddof=1)
        print(f"  MAP {ours.mean():.4f} ± {spread:.4f} [{low:.4f}, {high:.4f}]; engine {engine.mean():.4f}")
        interval = f"[{difference.low:+.4f}, {difference.high:+.4f}]"
        print(f"  difference {(ours - engine).mean():+.4f} {interval}, p {difference.p:.4f}")


def _measure(dev: Features, test: Features, parts: tuple[str, ...], with_engine: bool) -> tuple[Array, Array]:
    """Return the average precision of each test query, ours and the engine's."""
    choices = [np.array(c) for c in itertools.product(CHOICES, repeat=len(parts) + 1) if any(c)]
    best = max((c for c in choices if with_engine or not c[0]), key=lambda c: precisions(dev, c).mean())
    ours = precisions(test, best)
    weights = ", ".join(f"{part} {weight:g}" for part, weight in zip(("engine", *parts), best, strict=True))
    print(f"  {weights}: MAP on dev {precisions(dev, best).mean():.4f}, on test {ours.mean():.4f}")
    return ours, precisions(test, np.eye(len(parts) + 1)[0])


def features(archive: Archive, name: str, parts: tuple[str, ...]) -> Features:
    """Return for each query its candidates' features, (parts + 1, candidates), and whether each is relevant."""
    labels, view = load_split(archive, name), archive.view()
    runs = [rankers.open_current(rankers.create(part, {}, archive.path), view) for part in parts]
    ranked = [rankers.rank(ranker, labels.queries, 10, candidates=labels.candidates) for ranker in runs]
    queries: Features = []
    for query, candidates in (labels.candidates or {}).items():
        rows = [1 / np.sqrt(np.arange(1, len(candidates) + 1))]
        for run in ranked:
            scores = dict(zip(*run.columns(query), strict=True))
            rows.append(np.array([scores.get(id, min(scores.values(), default=0.0)) for id in candidates]))
        relevant = np.array([labels.qrels.get(query, {}).get(id, 0) > 0 for id in candidates])
        queries.append((np.array([(row - row.min()) / (np.ptp(row) or 1) for row in rows]), relevant))
    return queries


def precisions(queries: Features, weights: Array) -> Array:
    """Return the average precision of each query by the official rule; 0 without a relevant candidate."""
    hits = np.array([relevant[np.argsort(-(weights @ rows), kind="stable")] for rows, relevant in queries])
    return average_precision(hits, hits.sum(axis=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
