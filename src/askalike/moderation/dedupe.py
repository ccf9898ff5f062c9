"""The duplicate clusters of a whole archive, each with a proposed original and the reason for it."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from askalike.calibration.calibrate import calibrate
from askalike.calibration.calibration import Calibration, load_calibration
from askalike.errors import InputError, SettingsError
from askalike.evaluation.proportion import BinomialProportion
from askalike.moderation.grouping import cluster_pairs, mean_link_probability
from askalike.moderation.neighbours import PairProbabilities, find_neighbours
from askalike.rankers import Ranker
from askalike.rankers.distinct import DistinctRanker
from askalike.store.archive import Archive
from askalike.store.clusters import Clusters
from askalike.types import Progress, Question

COLUMNS = ("cluster", "question", "title", "role", "probability", "strength", "reason")


@dataclass(frozen=True, slots=True)
class ClusterProposal:
    """A cluster: its original first. `reason` says why it is that; `strength` is the mean of the known pairs."""

    members: Sequence[Question]
    reason: str
    strength: float
    probabilities: Sequence[float | None]
    """Of each member with the original; None where neither found the other, and for the original itself."""


@dataclass(frozen=True, slots=True)
class DedupeReport:
    """All clusters at a line, and how they agree with what the archive knows already."""

    threshold: float
    duplicate_rate: float
    """Of the archive's questions those whose first hit asks the same, as estimated."""
    proposals: Sequence[ClusterProposal]
    pair_precision: BinomialProportion
    """Of the proposed pairs with both ends in known clusters, those that are in the same one."""
    link_recall: BinomialProportion
    """Of the archive's duplicate links, those within a proposed cluster."""


def dedupe(
    archive: Archive,
    ranker: Ranker,
    path: Path,
    *,
    min_probability: float = 0.5,
    progress: Progress | None = None,
) -> DedupeReport:
    """Finds the clusters and writes them to a CSV file, one row a question; `path`.part lets it go on if interrupted.

    Probabilities are carried over to the whole archive, where most questions have no duplicate: see `neighbours`.
    Raises SettingsError for a probability outside (0, 1] and where there is no calibration that holds; InputError where
    the file cannot be written.
    """
    ranker, calibration = _unwrap_distinct(archive, ranker)
    why = calibration.stale_reason(archive.view(), ranker) if calibration else "none was made"
    if calibration is None or why:
        raise SettingsError(f"{archive.path}: {ranker.name} is not calibrated ({why}); run: askalike calibrate")
    if not 0 < min_probability <= 1:
        raise SettingsError(f"--min-probability {min_probability}: expected a probability above 0 and at most 1")
    part = path.with_name(f"{path.name}.part")
    pairs, share = find_neighbours(archive, ranker, calibration, part, progress)
    proposals = [propose_cluster(archive, pairs, members) for members in cluster_pairs(pairs, min_probability)]
    _write_csv(path, proposals)
    part.unlink()
    return DedupeReport(min_probability, share, proposals, *_measure_agreement(archive, proposals))


def _unwrap_distinct(archive: Archive, ranker: Ranker) -> tuple[Ranker, Calibration | None]:
    """The ranker whose hits `distinct` thins out, with a calibration of its own: clusters are found by all hits."""
    calibration = load_calibration(archive, ranker)
    if not isinstance(ranker, DistinctRanker) or calibration is None:
        return ranker, calibration
    whole: Any = ranker.part
    if (own := load_calibration(archive, whole)) is None or own.stale_reason(archive.view(), whole):
        own = calibrate(archive, whole, calibration.split, titles_only=not calibration.has_bodies).calibration
        own.save(archive.path)
    return whole, own


def propose_cluster(archive: Archive, pairs: PairProbabilities, members: frozenset[str]) -> ClusterProposal:
    """The members in the order in which they would be the original: votes, an accepted answer, age, their order."""
    view = archive.view()
    numbers = view.docids(members)
    texts = sorted(view.get_questions(members).values(), key=lambda q: (*original_sort_key(q), numbers[q.id]))
    first = texts[0].id
    told = [pairs.get((min(first, q.id), max(first, q.id))) for q in texts]
    return ClusterProposal(texts, _explain_original(texts[0], texts[1]), mean_link_probability(pairs, members), told)


def original_sort_key(question: Question) -> tuple[int, bool, str]:
    """What makes a question the original: votes, an accepted answer, age. The least is the best."""
    return -(question.votes or 0), question.accepted_answer_id is None, question.created_at or "9999"


def _explain_original(best: Question, next_best: Question) -> str:
    """What the original has before the next."""
    reasons = (f"most votes ({best.votes or 0})", "has an accepted answer", f"the oldest ({best.created_at})")
    for reason, ours, theirs in zip(reasons, original_sort_key(best), original_sort_key(next_best), strict=True):
        if ours != theirs:
            return reason
    return "the first in the archive"


def _write_csv(path: Path, proposals: Sequence[ClusterProposal]) -> None:
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(COLUMNS)
            for proposal in proposals:
                rows.writerows(_csv_rows(proposal))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; expected a place that can be written to") from None


def _csv_rows(proposal: ClusterProposal) -> Iterator[Sequence[str]]:
    original = proposal.members[0]
    for question, probability in zip(proposal.members, proposal.probabilities, strict=True):
        role, reason = ("original", proposal.reason) if question is original else ("duplicate", "")
        told = "" if probability is None else f"{probability:.4f}"
        yield original.id, question.id, question.title, role, told, f"{proposal.strength:.4f}", reason


def _measure_agreement(
    archive: Archive, proposals: Sequence[ClusterProposal]
) -> tuple[BinomialProportion, BinomialProportion]:
    clusters = Clusters.read(archive)
    pairs = {
        pair for p in proposals for pair in combinations(sorted(q.id for q in p.members), 2)
    }  # fmt: skip
    both = [(a, b) for a, b in pairs if a in clusters.name_by_text and b in clusters.name_by_text]
    same = sum(clusters.cluster_of(a) == clusters.cluster_of(b) for a, b in both)
    links = [(min(link.source, link.target), max(link.source, link.target)) for link in archive.view().links()]
    return BinomialProportion(same, len(both)), BinomialProportion(sum(link in pairs for link in links), len(links))
