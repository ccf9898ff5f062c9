"""Proposes likely duplicates of an archive for people to decide on, a few questions at a time."""

import hashlib
from collections.abc import Iterator, Sequence

from askalike.calibration.calibration import settings_json
from askalike.core.records import Question
from askalike.core.values import now
from askalike.moderation.dedupe import original_keys
from askalike.moderation.pairs import PairFinder, combine_links, fit_pair_curve
from askalike.rankers import Ranker
from askalike.store import Archive, candidate_pairs
from askalike.store.candidate_pairs import CandidatePair, ProposalScan, add_proposals, drop_open_proposals

FORMAT = 3
"""Format of a stored scan. A scan in another format starts again."""
BATCH_SIZE = 4
"""The number of questions per step."""
MIN_PROBABILITY = 0.1
"""Minimum probability of a proposed pair: people decide, the most probable first."""
MAX_PROPOSALS = 10_000
"""Maximum number of open proposals; the least certain ones are dropped."""
MAX_NEW_QUESTIONS = 1_000
"""Maximum number of new questions to scan first; if there are more, the whole archive is scanned, newest first."""


class Proposer:
    """Scans an archive's questions with a ranker whose index is up to date: new questions first, then the backlog.

    Pairs of at least MIN_PROBABILITY are proposed, with the same probabilities as in `dedupe`.
    """

    def __init__(self, archive: Archive, ranker: Ranker) -> None:
        self._archive = archive
        self._ranker = ranker
        self._view = archive.view()
        self._scan: ProposalScan | None = None
        self._checked_change = -1

    def step(self) -> bool:
        """Scan a few questions. Return False if none is left. The ranker's index must be up to date."""
        scan = self._current_scan()
        if questions := self._next_questions(scan):
            if add_proposals(self._archive, self._find_pairs(questions), scan.started_at):
                drop_open_proposals(self._archive, max_open=MAX_PROPOSALS)
        elif scan.backlog_docid:
            scan.backlog_docid = 0
            # Proposals of earlier scans that this one did not find again:
            drop_open_proposals(self._archive, found_before=scan.started_at)
        else:
            return False
        candidate_pairs.save_scan(self._archive, scan)
        return True

    def _current_scan(self) -> ProposalScan:
        """Return the scan of this ranker: the current one, the stored one, or a new one."""
        change = self._view.change
        if self._scan is None or self._checked_change != change:
            self._checked_change = change
            parts = (FORMAT, self._ranker.name, settings_json(self._ranker.values))
            fingerprint = hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:16]
            if self._scan is None or self._scan.fingerprint != fingerprint:
                self._scan = candidate_pairs.load_scan(self._archive, fingerprint) or ProposalScan(
                    fingerprint, now("milliseconds"), *_scan_start(self._archive)
                )
        return self._scan

    def _next_questions(self, scan: ProposalScan) -> list[Question]:
        """Return the next new questions, else the next of the backlog. If too many are new, the scan starts again."""
        if self._view.count_changed(scan.change) > MAX_NEW_QUESTIONS:
            scan.change, scan.docid, scan.backlog_docid = _scan_start(self._archive)
        elif changed := candidate_pairs.next_changed_questions(self._archive, scan, BATCH_SIZE):
            return changed
        return candidate_pairs.next_backlog_questions(self._archive, scan, BATCH_SIZE)

    def _find_pairs(self, questions: Sequence[Question]) -> Iterator[CandidatePair]:
        """Yield each question's pairs that are probable enough, from the links in both directions."""
        curve = fit_pair_curve(self._archive, self._ranker)
        finder = PairFinder(self._ranker.open(self._view))
        links = finder.find(questions)
        asked = {question.id for question in questions}
        hits = self._view.get_questions({hit_id for _, hit_id, _ in links} - asked)
        pairs = combine_links([*links, *finder.find(list(hits.values()))])
        for pair, similarity in pairs.items():
            probability = curve.probability(similarity)
            if probability >= MIN_PROBABILITY and not asked.isdisjoint(pair):
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


def _scan_start(archive: Archive) -> tuple[int, int, int]:
    """Return the last change, the last docid, and the docid after it, below which the backlog begins."""
    top_docid = candidate_pairs.last_docid(archive)
    return archive.view().change, top_docid, top_docid + 1
