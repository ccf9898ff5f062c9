"""Calibrates a ranker on an archive, and measures the calibration on clusters that it was not fitted on."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from askalike.calibration.abstention import NO_RULE, AbstentionRule, abstention_rule, is_titled
from askalike.calibration.calibration import (
    LIKELY_FROM,
    ArchiveState,
    Calibration,
    CalibrationQuality,
    Threshold,
    settings_json,
)
from askalike.calibration.curve_selection import OutOfFoldPredictions, predict_out_of_fold, select_curves
from askalike.calibration.features import CALIBRATION_DEPTH, HitFeatureExtractor
from askalike.calibration.reliability import GroupAverages, GroupHits, Reliability, measure_reliability
from askalike.calibration.samples import (
    MAX_PER_CLUSTER,
    MAX_QUERIES,
    CalibrationSample,
    LabelledHits,
    count_found_by_rank,
    draw_sample,
    load_hits,
    too_few_labels_error,
)
from askalike.calibration.thresholds import (
    Guarantee,
    ThresholdChoice,
    ThresholdRow,
    certify,
    choose_threshold,
    measure_threshold,
    measure_thresholds,
    split_clusters,
)
from askalike.calibration.typed import type_own_titles
from askalike.core.arrays import Floats
from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.iteration import Progress
from askalike.core.records import Split
from askalike.core.values import format_count
from askalike.labels.splits import split_groups
from askalike.rankers import Ranker, add_absolute, create, open_current, search
from askalike.store import Archive, Clusters, View, takes_archive

TARGET_SHARE = 0.995
"""Share of known titles that are called the same, above which a calibration is good whatever the share without it."""
MAX_LOSS = 0.02
"""Share of known titles that may be lost, as chance decides on a few."""
UNSURE_PREVALENCE = 0.5
"""The share of queries with a duplicate where few are labelled. Own titles find themselves, so that only queries
without a duplicate show what wrong is."""


class KnownTitles(NamedTuple):
    """Of n titles of the archive with a slip, those whose question is called the same, and without the calibration."""

    n: int
    same: int
    same_uncalibrated: int

    @property
    def is_worse(self) -> bool:
        """Whether the calibration makes them worse."""
        return self.same < min(self.same_uncalibrated - MAX_LOSS * self.n, TARGET_SHARE * self.n)


class CalibrationRefusedError(ArchiveError):
    """With a calibration, fewer known titles would be called the same than without."""


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """A calibration, and measurements of curves on clusters that they were not fitted on.

    later_hits: of the hits after the first, down to CALIBRATION_DEPTH; None if there are none.
    half_answerable: of first hits if half of the queries have no right question in the archive.
    threshold_choice, guarantee: None if no such precision was requested. group_averages: of first hits; None without
    groups. sample, predictions: of the queries that are measured. known_titles: None without an archive.
    """

    calibration: Calibration
    method: str
    sample: CalibrationSample
    predictions: OutOfFoldPredictions
    first_hits: Reliability
    later_hits: Reliability | None
    half_answerable: Reliability
    thresholds: list[ThresholdRow]
    threshold_choice: ThresholdChoice | None
    group_averages: GroupAverages | None = None
    guarantee: Guarantee | None = None
    known_titles: KnownTitles | None = None

    def __repr__(self) -> str:
        queries = format_count(len(self.sample.queries), "query")
        return f"CalibrationReport({self.calibration.ranker!r}, {self.sample.split!r}, {queries})"

    def at(self, threshold: float) -> ThresholdRow:
        """Precision, recall and coverage of first hits at a threshold."""
        probabilities = self.predictions.adjust_to_prevalence(self.calibration.prevalence)
        relevant = self.sample.first_hits.relevant
        return measure_threshold(probabilities, relevant, len(self.sample.queries), threshold)

    def as_dict(self) -> Mapping[str, Any]:
        """Return everything except the single hits, for JSON."""
        return {
            "ranker": self.calibration.ranker,
            "split": self.sample.split,
            "queries": len(self.sample.queries),
            "method": self.method,
            "first_hits": asdict(self.first_hits),
            "later_hits": asdict(self.later_hits) if self.later_hits else None,
            "half_answerable": asdict(self.half_answerable),
            "thresholds": [row.as_dict() for row in self.thresholds],
            "threshold_choice": self.threshold_choice.as_dict() if self.threshold_choice else None,
            **({"group_averages": self.group_averages.as_dict()} if self.group_averages else {}),
            **({"guarantee": self.guarantee.as_dict()} if self.guarantee else {}),
        }


@takes_archive
def calibrate(
    archive: Archive,
    ranker: Ranker | str | None = None,
    split: str | None = None,
    *,
    precision: float | None = None,
    guarantee: float | None = None,
    prevalence: float | None = None,
    titles_only: bool = False,
    max_queries: int = MAX_QUERIES,
    max_per_cluster: int = MAX_PER_CLUSTER,
    seed: int = 0,
    progress: Progress | None = None,
    resume: bool = False,
) -> CalibrationReport:
    """Fit a calibration and measure it by nested cross-validation over folds that keep duplicate clusters whole.

    It is fitted on labelled queries, on own titles with a slip, and on everyday questions, to which nothing is right.
    With few labels it is less sure: see `Calibration.is_sure`.

    Nothing is saved until `.calibration.save(archive.path)`. The index covers the whole archive; the ranker must not
    have learned from the split. If the archive has groups, each query is ranked within its own.
    archive: or its directory. ranker: or its name; by default the active one.
    precision: the precision for which the threshold is chosen; None for no threshold. guarantee: the precision that
    first hits above the threshold have with 95 % confidence; the curves are then fitted on half of the clusters only.
    prevalence: the share of queries in use that have a duplicate, to which probabilities are adjusted; None for 1, or
    for UNSURE_PREVALENCE with few labels.
    resume: reuse hits that an earlier call saved in the archive's `index/`, and save new ones; only for rankers made
    by `rankers.create`, as changes of other rankers' code are not detected.
    Raises like `draw_sample`; ArchiveError for a precision with few labels; CalibrationRefusedError if known titles
    would be worse; SettingsError for a precision outside (0, 1) or a prevalence outside (0, 1].
    """
    require_shares(precision, guarantee, prevalence)
    ranker = create(ranker, None, archive)
    sample = draw_sample(
        archive, ranker, split, titles_only=titles_only, max_queries=max_queries, max_per_cluster=max_per_cluster,
        seed=seed, progress=progress, resume=resume,
    )  # fmt: skip
    state = ArchiveState.from_view(archive.view())
    described = RankerDescription(ranker.name, settings_json(ranker.values), ranker.fingerprint, state, titles_only)
    if not sample.is_sure and (precision or guarantee):
        raise too_few_labels_error(archive, sample)
    if prevalence is None:
        prevalence = 1.0 if sample.is_sure else UNSURE_PREVALENCE
    report = calibrate_sample(
        sample, described, precision=precision, guarantee=guarantee, prevalence=prevalence, seed=seed
    )
    known = measure_known_titles(archive, ranker, report.calibration, seed)
    if known.is_worse and report.calibration.is_sure:
        raise CalibrationRefusedError(
            f"{archive.path}: {ranker.name}: this calibration is refused, as it would make known titles worse: "
            f"with a slip, {known.same} of {known.n} are called the same with it, {known.same_uncalibrated} without; "
            "check the labels (askalike check), or stay without a calibration"
        )
    return replace(report, known_titles=known)


class RankerDescription(NamedTuple):
    """The ranker, the archive and the use that a calibration is valid for; see Calibration."""

    name: str
    settings: str = "{}"
    fingerprint: str = ""
    state: ArchiveState = ArchiveState(change=0, committed_at=None, questions=0)
    titles_only: bool = False


def calibrate_sample(
    sample: CalibrationSample, ranker: RankerDescription, *, precision: float | None, guarantee: float | None,
    prevalence: float, seed: int,
) -> CalibrationReport:  # fmt: skip
    """Fit a calibration to a sample and measure it; see `calibrate`."""
    fitted, tested = split_clusters(sample, seed)
    curves = select_curves(sample, seed, fitted if guarantee else None)
    whole, measured = sample, sample.measured
    predictions = predict_out_of_fold(whole, seed).select(whole, measured)
    sample = whole.select(measured)
    relevant = sample.first_hits.relevant
    probabilities = predictions.adjust_to_prevalence(prevalence)
    folds = predictions.fold_of_query[sample.first_hits.query_index]
    choice = choose_threshold(probabilities, relevant, folds, len(sample.queries), precision) if precision else None
    first_hits = _measure_hits(sample, sample.first_hits, predictions.first_probabilities, seed)
    hits, later_probabilities = sample.later_hits, predictions.later_probabilities
    later = _measure_hits(sample, hits, later_probabilities, seed) if len(later_probabilities) else None
    calibration = Calibration(
        ranker=ranker.name,
        settings=ranker.settings,
        fingerprint=ranker.fingerprint,
        state=ranker.state,
        split=sample.split,
        has_bodies=sample.has_bodies,
        titles_only=ranker.titles_only,
        queries=len(sample.queries),
        is_sure=whole.is_sure,
        base_rate=float(whole.first_hits.relevant.mean()),
        first_hit_curve=curves.first_hit_curve,
        later_hit_curve=curves.later_hit_curve,
        answerable_curve=curves.answerable_curve,
        prevalence=prevalence,
        threshold=_make_threshold(choice, precision),
        quality=_summarise_quality(sample, first_hits),
    )
    certified = certify(whole, calibration, tested & measured, guarantee, seed) if guarantee else None
    if certified:
        calibration = calibration.model_copy(update={"threshold": certified.saved_threshold})
    half = _measure_half_answerable(sample, predictions, seed)
    rows = measure_thresholds(probabilities, relevant, len(sample.queries))
    averages = _average_groups(sample, predictions.first_probabilities, seed)
    return CalibrationReport(
        calibration, curves.method, sample, predictions, first_hits, later, half, rows, choice, averages, certified
    )


def require_shares(precision: float | None, guarantee: float | None, prevalence: float | None = None) -> None:
    """Raise SettingsError if one is out of its range, or there are both a precision and a guarantee."""
    for name, share in (("--precision", precision), ("--guarantee", guarantee)):
        if share is not None and not 0 < share < 1:
            raise SettingsError(f"{name} {share}: expected a share between 0 and 1, such as 0.9")
    if precision is not None and guarantee is not None:
        raise SettingsError("--precision and --guarantee exclude each other; give one of them")
    if prevalence is not None and not 0 < prevalence <= 1:
        raise SettingsError(f"--prevalence {prevalence}: expected a share above 0 and at most 1, such as 0.3")


def _make_threshold(choice: ThresholdChoice | None, precision: float | None) -> Threshold | None:
    """Return the chosen threshold; None if none was requested, or the precision is out of reach."""
    if choice is None or choice.threshold is None:
        return None
    return Threshold(probability=choice.threshold, criterion="precision", share=precision)


def calibrate_each_use(
    archive: Archive, ranker: Ranker, split: str | None = None, *, titles_only: bool = False, **options: Any
) -> Sequence[CalibrationReport]:
    """Calibrate for whole questions, and, if the questions have bodies, also for titles: see `calibrate`.

    titles_only: only for titles. The report on whole questions, if any, comes first.
    """
    first = calibrate(archive, ranker, split, titles_only=titles_only, **options)
    if not first.sample.has_bodies:
        return [first]
    return [first, calibrate(archive, ranker, split, titles_only=True, **options)]


def _summarise_quality(sample: CalibrationSample, first_hits: Reliability) -> CalibrationQuality:
    bins = tuple((b.probability, b.right, b.n) for b in first_hits.bins)
    n = len(sample.queries)
    found = count_found_by_rank(sample)
    error, chance = first_hits.error, first_hits.chance
    return CalibrationQuality(queries=n, found_by_rank=found, bins=bins, error=error, chance=chance)


def _measure_hits(sample: CalibrationSample, hits: LabelledHits, probabilities: Floats, seed: int) -> Reliability:
    clusters = np.array(sample.clusters)[hits.query_index].tolist()
    return measure_reliability(probabilities, hits.relevant, clusters, seed)


def _average_groups(sample: CalibrationSample, probabilities: Floats, seed: int) -> GroupAverages | None:
    """Measure the first hits of each group; None without groups."""
    hits = sample.first_hits
    group_of_hit, cluster_of_hit = (np.array(each)[hits.query_index] for each in (sample.groups, sample.clusters))
    names = [name for name in dict.fromkeys(group_of_hit.tolist()) if name]
    rows = {name: group_of_hit == name for name in names}
    groups: dict[str, GroupHits] = {
        name: (probabilities[own], hits.relevant[own], cluster_of_hit[own].tolist()) for name, own in rows.items()
    }
    return GroupAverages.measure(groups, seed) if groups else None


def _measure_half_answerable(sample: CalibrationSample, predictions: OutOfFoldPredictions, seed: int) -> Reliability:
    """Measure first hits with each query counted twice: unchanged, and as if the archive had no right question."""
    probabilities = np.concatenate([predictions.adjust_to_prevalence(0.5), predictions.first_wrong_probabilities])
    relevant = np.concatenate([sample.first_hits.relevant, sample.first_wrong_hits.relevant])
    query_index = np.concatenate([sample.first_hits.query_index, sample.first_wrong_hits.query_index])
    return measure_reliability(probabilities, relevant, np.array(sample.clusters)[query_index].tolist(), seed)


def measure_known_titles(archive: Archive, ranker: Ranker, calibration: Calibration, seed: int = 0) -> KnownTitles:
    """Search for known titles, with slips other than those that a calibration of the same seed was fitted on."""
    typed = type_own_titles(archive, Clusters.read(archive), calibration.has_bodies, seed + 1)
    rule = abstention_rule(archive, ranker) or NO_RULE
    parts = split_groups(archive, typed)
    counts = [_count_same(archive.view(group=group or None), ranker, calibration, rule, part) for group, part in parts]
    return KnownTitles(len(typed.queries), *np.array(counts or [(0, 0)]).sum(axis=0).tolist())


def _count_same(
    view: View, ranker: Ranker, calibration: Calibration, rule: AbstentionRule, typed: Split
) -> tuple[int, int]:
    searcher = open_current(ranker, view)
    extractor = HitFeatureExtractor(view.language, view)
    retrieved = add_absolute(searcher, search(searcher, typed.queries, CALIBRATION_DEPTH))
    same = same_uncalibrated = 0
    rows = zip(
        typed.queries, retrieved.queries, load_hits(view, retrieved), retrieved.absolute or (),
        rule.limits(retrieved), strict=True,
    )  # fmt: skip
    for id, resolved, hits, absolute, limits in rows:
        right = np.array([hit.id in typed.qrels[id] for hit in hits.documents], np.bool_)
        has_title = not resolved.query.body and any(is_titled(hit, resolved) for hit in hits.documents)
        near = absolute[: len(right)]
        likely = near_enough = near >= limits.same
        if calibration.likely_from is not None:
            likely = (calibration.estimate(hits.compute_features(extractor)) >= LIKELY_FROM) & (near >= limits.related)
        same += has_title or bool((right & likely).any())
        same_uncalibrated += has_title or bool((right & near_enough).any())
    return same, same_uncalibrated
