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

FORMAT = 5
"""Format of a stored scan. A scan in another format starts again."""
BATCH_SIZE = 16
"""The number of questions per step: few, as changes are not indexed meanwhile."""
MIN_PROBABILITY = 0.05
"""Minimum probability of a stored pair: decisions may make it probable enough to be shown."""
MAX_PROPOSALS = 10_000
"""Maximum number of open proposals; the least certain ones are dropped."""


class Proposer:
    """Scans an archive's questions in the order of their changes, with a ranker whose index is up to date.

    Pairs of at least MIN_PROBABILITY are stored, with the same probabilities as in `dedupe`.
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
        """Yield the pairs of some questions that are probable enough, if both questions still exist."""
        curve = fit_pair_curve(self._archive, self._ranker.name)
        found = PairFinder(self._ranker, self._view).find(questions)
        probable = {pair: p for pair, value in found.items() if (p := curve.probability(value)) >= MIN_PROBABILITY}
        asked = self._view.get_questions({id for pair in probable for id in pair}).values()
        keys = {question.id: key for question, key in original_keys(self._view, asked).items()}
        for pair, probability in probable.items():
            if keys.keys() >= set(pair):
                original, duplicate = sorted(pair, key=keys.__getitem__)
                yield CandidatePair(duplicate, original, probability, found[pair], self._ranker.name)
