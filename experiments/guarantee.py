"""Whether guarantees hold: thresholds from some of an archive's labelled clusters, measured on the others.

python experiments/guarantee.py RANKER PRECISION QUERIES DRAWS ARCHIVE:SPLIT …

In each of DRAWS draws, about QUERIES queries of whole clusters give a threshold, and one query of each other cluster
tells the share of wrong hits above it. It should be above 1 − PRECISION in at most one of twenty draws.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from askalike import rankers
from askalike.calibration.calibrate import RankerDescription, calibrate_sample
from askalike.calibration.guarantee import split_clusters
from askalike.calibration.samples import CalibrationSample, LabelledHits, draw_sample
from askalike.store import Archive


def main(name: str, precision: str, queries: str, draws: str, *places: str) -> None:
    """Print a line for each archive."""
    for place in places:
        path, split = place.split(":")
        with Archive.open(Path(path)) as archive:
            sample = draw_sample(archive, rankers.create(name, archive=archive), split, titles_only=True)
        clusters = np.array(sample.clusters)
        wrong, coverage, claimed = [], [], 0
        for seed in range(int(draws)):
            names = np.random.default_rng(seed).permutation(np.unique(clusters))
            used = names[: round(len(names) * int(queries) / len(clusters))]
            mask = np.isin(clusters, used)
            targets = {"precision": None, "guarantee": float(precision), "prevalence": 1.0}
            report = calibrate_sample(subset(sample, mask), RankerDescription(name), **targets, seed=seed)
            if not report.guarantee or report.guarantee.threshold is None:
                continue
            claimed += 1
            _, one_each = split_clusters(subset(sample, ~mask), seed)
            hits = subset(subset(sample, ~mask), one_each).first_hits
            shown = (
                np.array([report.calibration.estimate(row[None])[0] for row in hits.features])
                >= report.guarantee.threshold
            )
            wrong.append(float(np.mean(~hits.relevant[shown])) if shown.any() else 0.0)
            coverage.append(float(np.mean(shown)))
        above = sum(share > 1 - float(precision) for share in wrong)
        print(
            f"{place}: {claimed} of {draws} draws of about {queries} queries have a threshold; elsewhere {above} show "
            f"more wrong than {1 - float(precision):.2f}; wrong on average {np.mean(wrong or [0]):.3f}, "
            f"shown {np.mean(coverage or [0]):.3f}",
            flush=True,
        )


def subset(sample: CalibrationSample, mask: np.ndarray) -> CalibrationSample:
    """Return the sample of the queries in a mask."""
    kept, number = np.flatnonzero(mask), np.cumsum(mask) - 1

    def select(hits: LabelledHits) -> LabelledHits:
        chosen = hits.select(mask)
        return LabelledHits(chosen.features, chosen.relevant, number[chosen.query_index])

    names = {field: [getattr(sample, field)[at] for at in kept] for field in ("queries", "clusters", "groups")}
    hits = {field: select(getattr(sample, field)) for field in ("first_hits", "later_hits", "first_wrong_hits")}
    return replace(sample, **names, **hits)


if __name__ == "__main__":
    main(*sys.argv[1:])
