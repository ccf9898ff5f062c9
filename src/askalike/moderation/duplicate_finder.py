"""Looks for likely duplicates in an archive, a few questions at a time, and puts them up for people to decide."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from askalike.calibration.calibration import Calibration, load_calibration, settings_json
from askalike.calibration.curves import Floats, estimate_prevalence, shift_prior
from askalike.calibration.samples import rank_with_features
from askalike.clock import now
from askalike.moderation.dedupe import original_sort_key
from askalike.moderation.neighbours import MIN_PROBABILITY
from askalike.rankers import Ranker
from askalike.store.archive import Archive
from askalike.store.candidate_pairs import CandidatePair, add_proposals, drop_open_proposals
from askalike.store.proposal_scan import (
    ProposalScan,
    count_linked_questions,
    last_docid,
    load_scan,
    next_backlog_questions,
    next_changed_questions,
    question_from_docid,
    save_scan,
)
from askalike.types import Question

BATCH_SIZE = 4
"""Questions a step."""
SAMPLE_SIZE = 1_000
"""From the first hits of so many questions, spread over the archive, it is told how many have a duplicate."""
MIN_DUPLICATE_RATE = 0.001
"""At least this share is taken to have one, and no less than known links say: an estimate from few can come to none."""
MAX_PROPOSALS = 10_000
"""As many wait at a time; the least certain go."""
MAX_NEW_QUESTIONS = 1_000
"""More new questions than this are looked through with the backlog, the newest first."""


class Proposer:
    """Goes through an archive's questions with a ranker whose index follows it: the new ones first, then the others.

    Where the ranker is calibrated, pairs are proposed with the probabilities that `dedupe` has: the mean where each
    finds the other, carried over to the archive, where most questions have no duplicate; from LEAST on. Where it is
    not, each question's first hit is proposed, by its score.
    """

    def __init__(self, archive: Archive, ranker: Ranker) -> None:
        self._archive = archive
        self._ranker = ranker
        self._view = archive.view()
        self._scan: ProposalScan | None = None
        self._calibration: Calibration | None = None
        self._checked_change = -1

    def step(self) -> bool:
        """Looks at a few questions; False where nothing is left to be looked at. The ranker's index is up to date."""
        sweep = self._current_scan()
        if self._calibration and sweep.duplicate_rate is None:
            self._estimate_duplicate_rate(self._calibration, sweep)
        elif questions := self._next_new_questions(sweep) or next_backlog_questions(self._archive, sweep, BATCH_SIZE):
            if add_proposals(self._archive, self._find_pairs(questions, sweep)):
                drop_open_proposals(self._archive, max_open=MAX_PROPOSALS)
        elif sweep.backlog_docid:
            sweep.backlog_docid = 0
            drop_open_proposals(
                self._archive, found_before=sweep.started_at
            )  # what another ranker found, and this one did not
        else:
            return False
        save_scan(self._archive, sweep)
        return True

    def _current_scan(self) -> ProposalScan:
        """The sweep, begun afresh where what ranks or what its scores mean is another than before."""
        change = self._view.change
        if self._scan is None or self._checked_change != change:
            self._checked_change, calibration = change, load_calibration(self._archive, self._ranker)
            self._calibration = calibration if calibration and not calibration.state.stale_reason(self._view) else None
            parts = (
                self._ranker.name,
                settings_json(self._ranker.values),
                self._calibration and repr(self._calibration),
            )
            fingerprint = hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:16]
            if self._scan is None or self._scan.fingerprint != fingerprint:
                self._scan = load_scan(self._archive, fingerprint) or ProposalScan(
                    fingerprint, now("milliseconds"), *_scan_start(self._archive)
                )
        return self._scan

    def _estimate_duplicate_rate(self, calibration: Calibration, scan: ProposalScan) -> None:
        """Takes a few more questions into the sample, and where it is whole tells the share from it."""
        done, size = len(scan.sample_probabilities), min(SAMPLE_SIZE, len(self._view))
        top = _scan_start(self._archive)[2] - 1
        for n in range(done, min(done + BATCH_SIZE, size)):
            question = question_from_docid(self._archive, 1 + n * top // size)
            told = [
                p
                for _, _, features in self._rank_with_features([question] if question else [])
                for p in calibration.curve_probabilities(features[:1])
            ]
            scan.sample_probabilities.append(float(told[0]) if told else None)
        if len(scan.sample_probabilities) >= size:
            known = np.array([p for p in scan.sample_probabilities if p is not None], np.float64)
            least = max(
                MIN_DUPLICATE_RATE,
                calibration.base_rate * count_linked_questions(self._archive) / max(len(self._view), 1),
            )
            scan.duplicate_rate = min(
                max(estimate_prevalence(known, calibration.base_rate), least), calibration.base_rate
            )

    def _next_new_questions(self, scan: ProposalScan) -> list[Question]:
        """Questions that were put or changed since; where there are many, all begins afresh, the newest first."""
        if self._view.count_changed(scan.change) > MAX_NEW_QUESTIONS:
            scan.change, scan.docid, scan.backlog_docid = _scan_start(self._archive)
            return []
        return next_changed_questions(self._archive, scan, BATCH_SIZE)

    def _rank_with_features(self, questions: Iterable[Question]) -> Iterator[tuple[str, list[str], Floats]]:
        """Asked as the questions that the calibration is of."""
        bodies = self._calibration is None or self._calibration.has_bodies
        searcher = self._ranker.open(self._view)
        return rank_with_features(searcher, {q.id: q if bodies else replace(q, body="") for q in questions})

    def _find_pairs(self, questions: Iterable[Question], scan: ProposalScan) -> Iterator[CandidatePair]:
        if self._calibration is None or scan.duplicate_rate is None:
            for id, hits, features in self._rank_with_features(questions):
                if hits:
                    yield self._make_pair(id, hits[0], None, float(features[0, 0]))
            return
        there = list(self._find_links(self._calibration, questions))
        others = self._view.get_questions({hit for _, hit, _, _ in there}).values()
        back = {(hit, id): probability for id, hit, probability, _ in self._find_links(self._calibration, others)}
        for id, hit, probability, score in there:
            both = np.array([(probability + back.get((id, hit), probability)) / 2])
            told = float(shift_prior(both, self._calibration.base_rate, scan.duplicate_rate)[0])
            if told >= MIN_PROBABILITY:
                yield self._make_pair(id, hit, told, score)

    def _find_links(
        self, calibration: Calibration, questions: Iterable[Question]
    ) -> Iterator[tuple[str, str, float, float]]:
        """Who finds whom, how probably in an archive such as the calibration's queries are of, and the score."""
        for id, hits, features in self._rank_with_features(questions):
            told = calibration.curve_probabilities(features).tolist()
            for hit, probability, score in zip(hits, told, features[:, 0].tolist(), strict=True):
                if probability >= MIN_PROBABILITY:
                    yield id, hit, probability, score

    def _make_pair(self, one: str, other: str, probability: float | None, score: float) -> CandidatePair:
        better, worse = self._order_by_merit(one, other)
        return CandidatePair(worse, better, probability, score, self._ranker.name)

    def _order_by_merit(self, one: str, other: str) -> tuple[str, str]:
        """The question that would be the original, then the other; as they come where one has just gone."""
        texts, numbers = self._view.get_questions([one, other]), self._view.docids([one, other])
        there = sorted(
            (q for q in texts.values() if q.id in numbers), key=lambda q: (*original_sort_key(q), numbers[q.id])
        )
        return (there[0].id, there[1].id) if len(there) == 2 else (other, one)


def _scan_start(archive: Archive) -> tuple[int, int, int]:
    """The last change, the last number, and the number after it."""
    top = last_docid(archive)
    return archive.view().change, top, top + 1
