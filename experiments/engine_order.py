"""SemEval Task 3 B with the search engine's order of the candidates as one more feature: run, weights and test.

python experiments/engine_order.py ARCHIVE PART [PART …]

Each part is a ranker or a trained model of the archive. Scores are scaled to 0 … 1 within a query's candidates; the
engine's are 1 / √place. Weights are chosen by MAP on dev, the test is looked at once: against the engine's own order,
by a paired randomisation test.
"""

import itertools
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askalike import rankers
from askalike.archive.splits import split
from askalike.archive.store import Archive
from askalike.evaluation.resampling import sign_flip_p

Array = NDArray[np.float64]
Features = list[tuple[Array, NDArray[np.bool_]]]
CHOICES = (0, 0.5, 1, 2)


def main(directory: str, *parts: str) -> None:
    """Prints the weights, and MAP of dev and test with and without the engine."""
    with Archive.open(Path(directory)) as archive:
        dev, test = (features(archive, name, parts) for name in ("dev", "test"))
    alone = np.array([1.0] + [0.0] * len(parts))
    for name, with_engine in (("without the engine's order", False), ("with it", True)):
        choices = [np.array(c) for c in itertools.product(CHOICES, repeat=len(parts) + 1) if any(c)]
        allowed = [c for c in choices if with_engine or not c[0]]
        best = max(allowed, key=lambda weights: precisions(dev, weights).mean())
        ours, engine = precisions(test, best), precisions(test, alone)
        print(f"{name}: weights of the engine, {', '.join(parts)}: {best.tolist()}")
        print(f"  MAP on dev {precisions(dev, best).mean():.4f}, on test {ours.mean():.4f}; engine {engine.mean():.4f}")
        p = sign_flip_p((ours - engine)[:, None], 10_000, 0)[0]
        print(f"  difference {(ours - engine).mean():+.4f}, p {p:.4f}, n = {len(ours)}")


def features(archive: Archive, name: str, parts: tuple[str, ...]) -> Features:
    """Of each query: its candidates' features, (parts + 1, candidates), and which are relevant."""
    labels, view = split(archive, name), archive.view()
    runs = [rankers.build(part, {}, archive.path).index(view) for part in parts]
    ranked = [ranker.rank(labels.queries, 10, candidates=labels.candidates) for ranker in runs]
    found: Features = []
    for query, candidates in (labels.candidates or {}).items():
        rows = [1 / np.sqrt(np.arange(1, len(candidates) + 1))]
        for run in ranked:
            scores = dict(zip(*run.columns(query), strict=True))
            rows.append(np.array([scores.get(one, min(scores.values(), default=0.0)) for one in candidates]))
        relevant = np.array([labels.qrels.get(query, {}).get(one, 0) > 0 for one in candidates])
        found.append((np.array([(row - row.min()) / (np.ptp(row) or 1) for row in rows]), relevant))
    return found


def precisions(queries: Features, weights: Array) -> Array:
    """Average precision of each query by the official rule, 0 without a relevant candidate."""
    return np.array([_precision(relevant[np.argsort(-(weights @ rows), kind="stable")]) for rows, relevant in queries])


def _precision(hits: NDArray[np.bool_]) -> float:
    if not hits.any():
        return 0.0
    return float((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean())


if __name__ == "__main__":
    main(*sys.argv[1:])
