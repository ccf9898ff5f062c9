"""Proposes likely duplicates of an archive for people to decide on, some questions at a time."""

import hashlib
from collections.abc import Iterator, Sequence

from askalike.calibration.calibration import settings_json
from askalike.core.records import Question
from askalike.moderation.dedupe import original_keys
from askalike.moderation.pairs import PairFinder, fit_pair_curve
from askalike.rankers import Ranker
from askalike.store import Archive
from askalike.store.candidate_pairs import (
    CandidatePair,
    add_proposals,
    limit_open_proposals,
    next_changed_questions,
    open_scan,
    save_scan,
)

FORMAT = 4
"""Format of a stored scan. A scan in another format starts again."""
BATCH_SIZE = 16
"""The number of questions per step: few, as changes are not indexed meanwhile."""
MIN_PROBABILITY = 0.1
"""Minimum probability of a proposed pair: people decide, the most probable first."""
MAX_PROPOSALS = 10_000
"""Maximum number of open proposals; the least certain ones are dropped."""


class Proposer:
    """Scans an archive's questions in the order of their changes, with a ranker whose index is up to date.

    Pairs of at least MIN_PROBABILITY are proposed, with the same probabilities as in `dedupe`.
    """

    def __init__(self, archive: Archive, ranker: Ranker) -> None:
        self._archive = archive
        self._ranker = ranker
        self._view = archive.view()
        parts = (FORMAT, ranker.name, settings_json(ranker.values))
        fingerprint = hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:16]
        self._scan = open_scan(archive, fingerprint)

    def step(self) -> bool:
        """Scan some questions. Return False if none is left. The ranker's index must be up to date."""
        questions = next_changed_questions(self._archive, self._scan, BATCH_SIZE)
        if not questions:
            return False
        if add_proposals(self._archive, self._find_pairs(questions)):
            limit_open_proposals(self._archive, MAX_PROPOSALS)
        save_scan(self._archive, self._scan)
        return True

    def _find_pairs(self, questions: Sequence[Question]) -> Iterator[CandidatePair]:
        """Yield the pairs of some questions that are probable enough."""
        curve = fit_pair_curve(self._archive, self._ranker.name)
        for pair, similarity in PairFinder(self._ranker, self._view).find(questions).items():
            if (probability := curve.probability(similarity)) >= MIN_PROBABILITY:
                original, duplicate = self._order_by_merit(*pair)
                yield CandidatePair(duplicate, original, probability, similarity, self._ranker.name)

    def _order_by_merit(self, one: str, other: str) -> tuple[str, str]:
        """Return the question that would be the original, then the other; (other, one) if one was just deleted."""
        questions = self._view.get_questions([one, other])
        docids = self._view.docids([one, other])
        present = [q for q in questions.values() if q.id in docids]
        keys = original_keys(self._view, present)
        ordered = sorted(keys, key=keys.__getitem__)
        return (ordered[0].id, ordered[1].id) if len(ordered) == 2 else (other, one)
