"""Finds the duplicate clusters of a whole archive, and proposes an original for each, with the reason."""

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from askalike.calibration.calibrate import calibrate
from askalike.calibration.calibration import Calibration, load_calibration, misfit_reason
from askalike.core.errors import InputError, SettingsError
from askalike.core.files import replace_file
from askalike.core.iteration import Progress
from askalike.core.records import Question
from askalike.evaluation.intervals import BinomialProportion
from askalike.labels.splits import learned_test
from askalike.moderation.pairs import (
    PairProbabilities,
    ProbableLinker,
    SimilarLinker,
    cluster_pairs,
    estimate_duplicate_rate,
    find_neighbours,
    mean_link_probability,
    pair_key,
)
from askalike.rankers import Ranker, create, open_current
from askalike.rankers.distinct import DistinctRanker
from askalike.store import Archive, Clusters, View, takes_archive
from askalike.store.records import find_originals

COLUMNS = ("cluster", "question", "title", "role", "probability", "strength", "reason", "similarity")
DEFAULT_PROBABILITY, DEFAULT_SIMILARITY = 0.5, 0.7
"""Minimum probability of a pair that links two questions; without a calibration, the minimum similarity."""


@dataclass(frozen=True, slots=True)
class ClusterProposal:
    """A cluster of questions, the original first.

    reason: why the first is the original. strength: the mean value of the pairs that have one.
    values: each member's probability with the original, or similarity without a calibration; None if neither finds the
    other, and for the original itself.
    """

    members: Sequence[Question]
    reason: str
    strength: float
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class DedupeReport:
    """All clusters at a threshold, and their agreement with the archive's labels.

    uncalibrated_reason: why the threshold is a similarity instead of a probability; None if it is a probability.
    duplicate_rate: the estimated share of questions whose first hit asks the same; None without a calibration.
    pair_precision: of the proposed pairs with both questions in labelled clusters, those in the same one.
    link_recall: of the archive's duplicate links, those within a proposed cluster.
    These two exclude clusters that the ranker has learned from.
    """

    threshold: float
    uncalibrated_reason: str | None
    duplicate_rate: float | None
    proposals: Sequence[ClusterProposal]
    pair_precision: BinomialProportion
    link_recall: BinomialProportion


@takes_archive
def dedupe(
    archive: Archive,
    ranker: Ranker | str | None,
    path: str | Path,
    *,
    min_probability: float | None = None,
    min_similarity: float | None = None,
    progress: Progress | None = None,
) -> DedupeReport:
    """Find the clusters and write them to a CSV file, one row per question.

    archive: or its directory. ranker: or its name; None for the active one.
    The neighbours of all questions are saved with the archive's indexes: an interrupted call can be resumed, and
    another threshold needs no search, while archive and calibration are unchanged. Probabilities are valid for all
    questions, most of which have no duplicate. Without a valid calibration, or with `min_similarity`, pairs are linked
    by their similarity (see SimilarLinker) instead. The processes of `use_workers` share the searches. Raises
    SettingsError for two thresholds, for one outside (0, 1], and for a `min_probability` without a calibration;
    InputError if the file cannot be written.
    """
    _check_minimum(min_probability, min_similarity)
    ranker, calibration = _unwrap_distinct(archive, create(ranker, None, archive))
    reason = (
        calibration.stale_reason(archive.view(), ranker)
        if calibration
        else misfit_reason(archive, ranker) or "not calibrated yet"
    )
    if min_probability is not None and reason:
        raise SettingsError(
            f"{archive.path}: {ranker.name}: {reason}, so there are no probabilities; run: askalike calibrate, or "
            "leave out --min-probability to compare by similarity"
        )
    path = Path(path)
    _require_writable(path)
    if calibration is None or reason or min_similarity is not None:
        reason = reason or "a similarity was asked for"
        threshold = min_similarity or DEFAULT_SIMILARITY
        rate = None
        open_current(ranker, archive.view())
        pairs, _ = find_neighbours(archive, ranker, SimilarLinker.above_abstention(archive, ranker), progress)
    else:
        threshold = min_probability or DEFAULT_PROBABILITY
        pairs, first_links = find_neighbours(archive, ranker, ProbableLinker(calibration), progress)
        rate = estimate_duplicate_rate(archive, calibration, first_links)
    proposals = [propose_cluster(archive, pairs, members) for members in cluster_pairs(pairs, threshold)]
    _write_csv(path, proposals, is_similarity=rate is None)
    agreement = _agreement(archive, ranker, proposals)
    return DedupeReport(threshold, reason, rate, proposals, *agreement)


def _check_minimum(min_probability: float | None, min_similarity: float | None) -> None:
    """Raise SettingsError if both are given, or one is out of its range."""
    if min_probability is not None and min_similarity is not None:
        raise SettingsError("--min-probability and --min-similarity exclude each other; give one of them")
    for name, value in (("--min-probability", min_probability), ("--min-similarity", min_similarity)):
        if value is not None and not 0 < value <= 1:
            raise SettingsError(f"{name} {value}: expected a number above 0 and at most 1")


def _unwrap_distinct(archive: Archive, ranker: Ranker) -> tuple[Ranker, Calibration | None]:
    """Return the ranker and its calibration; for a DistinctRanker those of its part, since clusters need all hits."""
    calibration = load_calibration(archive, ranker)
    if not isinstance(ranker, DistinctRanker) or calibration is None:
        return ranker, calibration
    part: Any = ranker.part
    part_calibration = load_calibration(archive, part)
    if part_calibration is None or part_calibration.stale_reason(archive.view(), part):
        report = calibrate(archive, part, calibration.split, titles_only=calibration.titles_only)
        part_calibration = report.calibration
        part_calibration.save(archive.path)
    return part, part_calibration


def propose_cluster(archive: Archive, pairs: PairProbabilities, members: frozenset[str]) -> ClusterProposal:
    """Return members, the original first, by: no duplicate, not closed, votes, accepted answer, age, archive order."""
    view = archive.view()
    keys = original_keys(view, view.get_questions(members).values())
    ordered = sorted(keys, key=keys.__getitem__)
    values = [pairs.get(pair_key(ordered[0].id, question.id)) for question in ordered]
    reason = _explain_original(ordered[0], keys[ordered[0]], keys[ordered[1]])
    return ClusterProposal(ordered, reason, mean_link_probability(pairs, members), values)


class OriginalKey(NamedTuple):
    """Sort key of a cluster's questions, which puts the original first. docid: the order in the archive."""

    is_duplicate: bool
    is_closed: bool
    minus_votes: int
    is_unanswered: bool
    created_at: str
    docid: int


def original_keys(view: View, questions: Iterable[Question]) -> dict[Question, OriginalKey]:
    """Return question → the key by which the original sorts first, for questions of a cluster."""
    listed = list(questions)
    ids = [question.id for question in listed]
    duplicates = find_originals(view, ids).in_archive
    docids = view.docids(ids)
    return {
        question: OriginalKey(
            question.id in duplicates,
            not {"closed", "locked", "outdated"}.isdisjoint(question.states),
            -(question.votes or 0),
            "answered" not in question.states,
            question.created_at or "9999",
            docids[question.id],
        )
        for question in listed
    }


def _explain_original(original: Question, key: OriginalKey, other: OriginalKey) -> str:
    reasons = (
        "not a duplicate itself",
        "not closed",
        f"most votes ({original.votes or 0})",
        "has an accepted answer",
        f"the oldest ({original.created_at})",
        "the first in the archive",
    )
    return next(reason for reason, ours, theirs in zip(reasons, key, other, strict=True) if ours != theirs)


def _require_writable(path: Path) -> None:
    """Raise InputError if the file cannot be written, to fail before the search."""
    written = path if path.exists() and not path.is_file() else path.parent
    if not path.parent.is_dir() or not os.access(written, os.W_OK) or path.is_dir():
        raise InputError(f"{path}: cannot be written there; choose another file")


def _write_csv(path: Path, proposals: Sequence[ClusterProposal], is_similarity: bool) -> None:
    try:
        with replace_file(path) as partial, open(partial, "w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(COLUMNS)
            for proposal in proposals:
                rows.writerows(_csv_rows(proposal, is_similarity))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; cannot be written there; choose another file") from None


def _csv_rows(proposal: ClusterProposal, is_similarity: bool) -> Iterator[Sequence[str]]:
    original = proposal.members[0]
    strength = f"{proposal.strength:.4f}"
    for question, value in zip(proposal.members, proposal.values, strict=True):
        role, reason = ("original", proposal.reason) if question is original else ("duplicate", "")
        cell = "" if value is None else f"{value:.4f}"
        probability, similarity = ("", cell) if is_similarity else (cell, "")
        yield original.id, question.id, question.title, role, probability, strength, reason, similarity


def _agreement(
    archive: Archive, ranker: Ranker, proposals: Sequence[ClusterProposal]
) -> tuple[BinomialProportion, BinomialProportion]:
    """Return `pair_precision` and `link_recall` of a DedupeReport, on clusters that the ranker has not learned from."""
    clusters = Clusters.read(archive)
    is_learned = learned_test(ranker.learned_labels, archive)
    pairs = {pair for proposal in proposals for pair in combinations(sorted(q.id for q in proposal.members), 2)}
    unlearned = {id for id in clusters.name_by_text if not is_learned(id)}
    labelled = [pair for pair in pairs if unlearned.issuperset(pair)]
    n_same = sum(clusters.cluster_of(a) == clusters.cluster_of(b) for a, b in labelled)
    links = [pair_key(link.source, link.target) for link in archive.view().links() if link.source in unlearned]
    n_within = sum(link in pairs for link in links)
    return BinomialProportion(n_same, len(labelled)), BinomialProportion(n_within, len(links))
