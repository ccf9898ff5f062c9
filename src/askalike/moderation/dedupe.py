"""Finds the duplicate clusters of a whole archive, and proposes an original for each, with the reason."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path
from typing import NamedTuple

from askalike.core.errors import InputError, SettingsError
from askalike.core.files import write_csv
from askalike.core.iteration import Progress
from askalike.core.records import Question
from askalike.evaluation.intervals import BinomialProportion
from askalike.labels.splits import learned_test
from askalike.moderation.pairs import (
    PairCurve,
    PairValues,
    cluster_pairs,
    find_pairs,
    fit_pair_curve,
    mean_link_probability,
    pair_key,
)
from askalike.rankers import Ranker, create
from askalike.store import Archive, Clusters, View, takes_archive
from askalike.store.records import find_originals

COLUMNS = ("cluster", "question", "title", "role", "probability", "strength", "reason")
DEFAULT_PROBABILITY = 0.65
"""Minimum probability of a pair that links two questions: seven of ten are right, by `experiments/pairs.py`."""


@dataclass(frozen=True, slots=True)
class ClusterProposal:
    """A cluster of questions, the original first.

    reason: why the first is the original. strength: the mean probability of the pairs that have one.
    probabilities: each member's with the original; None if they do not find each other, and for the original itself.
    """

    members: Sequence[Question]
    reason: str
    strength: float
    probabilities: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class DedupeReport:
    """All clusters at a threshold, and their agreement with the archive's labels.

    curve: from similarities to probabilities, with the number of decisions that it knows.
    pair_precision: of the proposed pairs with both questions in labelled clusters, those in the same one.
    link_recall: of the archive's duplicate links, those within a proposed cluster.
    These two exclude clusters that the ranker has learned from.
    """

    threshold: float
    curve: PairCurve
    proposals: Sequence[ClusterProposal]
    pair_precision: BinomialProportion
    link_recall: BinomialProportion


@takes_archive
def dedupe(
    archive: Archive,
    ranker: Ranker | str | None,
    path: str | Path,
    *,
    min_probability: float = DEFAULT_PROBABILITY,
    progress: Progress | None = None,
) -> DedupeReport:
    """Find the clusters and write them to a CSV file, one row per question.

    archive: or its directory. ranker: or its name; None for the active one.
    The links of all questions are saved with the archive's indexes: an interrupted call can be resumed, and another
    threshold needs no search, while the archive is unchanged. No calibration is needed; see PairCurve. The processes of
    `use_workers` share the searches. Raises SettingsError for a probability outside (0, 1]; InputError if the file
    cannot be written.
    """
    if not 0 < min_probability <= 1:
        raise SettingsError(f"--min-probability {min_probability}: expected a number above 0 and at most 1")
    path = Path(path)
    _require_writable(path)
    ranker = create(ranker, None, archive)
    curve = fit_pair_curve(archive, ranker.name)
    pairs = {pair: curve.probability(similarity) for pair, similarity in find_pairs(archive, ranker, progress).items()}
    proposals = [propose_cluster(archive, pairs, members) for members in cluster_pairs(pairs, min_probability)]
    write_csv(path, COLUMNS, chain.from_iterable(map(_csv_rows, proposals)))
    return DedupeReport(min_probability, curve, proposals, *_agreement(archive, ranker, proposals))


def propose_cluster(archive: Archive, pairs: PairValues, members: frozenset[str]) -> ClusterProposal:
    """Return members, the original first, by: no duplicate, not closed, votes, accepted answer, age, archive order."""
    view = archive.view()
    keys = original_keys(view, view.get_questions(members).values())
    ordered = sorted(keys, key=keys.__getitem__)
    probabilities = [pairs.get(pair_key(ordered[0].id, question.id)) for question in ordered]
    reason = _explain_original(ordered[0], keys[ordered[0]], keys[ordered[1]])
    return ClusterProposal(ordered, reason, mean_link_probability(pairs, members), probabilities)


class OriginalKey(NamedTuple):
    """Sort key of a cluster's questions, which puts the original first. docid: the order in the archive."""

    is_duplicate: bool
    is_closed: bool
    minus_votes: int
    is_unanswered: bool
    created_at: str
    docid: int


def original_keys(view: View, questions: Iterable[Question]) -> dict[Question, OriginalKey]:
    """Return question → the key by which the original sorts first, for those of some questions that still exist."""
    listed = {question.id: question for question in questions}
    duplicates = find_originals(view, [*listed]).in_archive
    docids = view.docids([*listed])
    return {
        question: OriginalKey(
            id in duplicates,
            not {"closed", "locked", "outdated"}.isdisjoint(question.states),
            -(question.votes or 0),
            "answered" not in question.states,
            question.created_at or "9999",
            docids[id],
        )
        for id, question in listed.items()
        if id in docids
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


def _csv_rows(proposal: ClusterProposal) -> Iterator[Sequence[str]]:
    original = proposal.members[0]
    strength = f"{proposal.strength:.4f}"
    for question, probability in zip(proposal.members, proposal.probabilities, strict=True):
        role, reason = ("original", proposal.reason) if question is original else ("duplicate", "")
        cell = "" if probability is None else f"{probability:.4f}"
        yield original.id, question.id, question.title, role, cell, strength, reason


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
