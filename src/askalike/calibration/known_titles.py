"""Whether a calibration still calls a known title the same: what nobody would forgive if it did not."""

from typing import NamedTuple

import numpy as np

from askalike.calibration.abstention import AbstentionThreshold
from askalike.calibration.calibration import LIKELY_FROM, Calibration
from askalike.calibration.features import HitFeatureExtractor
from askalike.calibration.samples import load_hits, retrieve_hits
from askalike.calibration.typed import type_own_titles
from askalike.core.relevance import Split
from askalike.labels.splits import split_groups
from askalike.rankers import Ranker, add_absolute, open_current
from askalike.store import Archive, Clusters

TARGET_SHARE = 0.995
"""Share of known titles that are called the same, above which a calibration is good whatever the share without it."""
MAX_LOSS = 0.01
"""Share of known titles that may be lost, as chance decides on a few."""


class KnownTitles(NamedTuple):
    """Of n titles of the archive with a slip, those whose question is called the same, and without the calibration."""

    n: int
    same: int
    same_uncalibrated: int

    @property
    def is_worse(self) -> bool:
        """Whether the calibration makes them worse."""
        return self.same < min(self.same_uncalibrated - MAX_LOSS * self.n, TARGET_SHARE * self.n)


def measure_known_titles(archive: Archive, ranker: Ranker, calibration: Calibration, seed: int = 0) -> KnownTitles:
    """Search for known titles, with slips other than those that a calibration of the same seed was fitted on."""
    typed = type_own_titles(archive, Clusters.read(archive), calibration.has_bodies, seed + 1)
    counts = [_count_same(archive, ranker, calibration, group, part) for group, part in split_groups(archive, typed)]
    return KnownTitles(len(typed.queries), *np.array(counts or [(0, 0)]).sum(axis=0).tolist())


def _count_same(
    archive: Archive, ranker: Ranker, calibration: Calibration, group: str, typed: Split
) -> tuple[int, int]:
    view = archive.view(group=group or None)
    searcher = open_current(ranker, view)
    rule = AbstentionThreshold(archive, ranker).prepare(archive.view())
    extractor = HitFeatureExtractor(view.language, view)
    retrieved = add_absolute(searcher, retrieve_hits(searcher, typed.queries))
    same = same_uncalibrated = 0
    found = zip(typed.queries, retrieved.queries, load_hits(view, retrieved), retrieved.absolute or (), strict=True)
    for id, resolved, hits, absolute in found:
        right = np.array([hit.id in typed.qrels[id] for hit in hits.documents], np.bool_)
        same += bool((calibration.estimate(hits.compute_features(extractor))[right] >= LIKELY_FROM).any())
        same_uncalibrated += bool((absolute[: len(right)][right] >= rule.limits(resolved).same).any())
    return same, same_uncalibrated
