"""Proposes likely duplicates of an archive for people to decide on, a few questions at a time."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from askalike.calibration.calibration import Calibration, settings_json
from askalike.calibration.calibrator import Calibrator
from askalike.calibration.curves import Floats, estimate_prevalence
from askalike.calibration.samples import rank_with_features
from askalike.calibration.silence import SilenceThreshold
from askalike.clock import now
from askalike.moderation.dedupe import original_keys
from askalike.moderation.pairs import MIN_PROBABILITY, NeighbourLink, combine_links, link_hits, pair_key
from askalike.rankers import Ranker
from askalike.store import Archive, candidate_pairs
from askalike.store.candidate_pairs import CandidatePair, ProposalScan, add_proposals, drop_open_proposals
from askalike.types import Question

BATCH_SIZE = 4
"""The number of questions in a step."""
SAMPLE_SIZE = 1_000
"""The number of questions, spread over the archive, from which the share with a duplicate is estimated."""
MIN_DUPLICATE_RATE = 0.001
"""The least share that is assumed, since an estimate from few questions can be 0. Known links may raise it."""
MAX_PROPOSALS = 10_000
"""The number of open proposals that are kept; the least certain ones are dropped."""
MAX_NEW_QUESTIONS = 1_000
"""The number of new questions above which they are scanned with the backlog, the newest first."""


class Proposer:
    """Scans an archive's questions with a ranker whose index follows it: the new ones first, then the backlog.

    Where the ranker is calibrated, pairs are proposed with the probabilities that `dedupe` gives them, from
    MIN_PROBABILITY on. Where it is not, each question's first hit is proposed with its absolute score, which means the
    same for every pair, if that is above what everyday questions reach.
    """

    def __init__(self, archive: Archive, ranker: Ranker) -> None:
        self._archive = archive
        self._ranker = ranker
        self._view = archive.view()
        self._silence = SilenceThreshold(archive, ranker)
        self._scan: ProposalScan | None = None
        self._calibration: Calibration | None = None
        self._checked_change = -1

    def step(self) -> bool:
        """Scan a few questions. Return False where none is left. The ranker's index must be up to date."""
        scan = self._current_scan()
        if self._calibration and scan.duplicate_rate is None:
            self._extend_sample(self._calibration, scan)
        elif questions := self._next_questions(scan):
            if add_proposals(self._archive, self._find_pairs(questions, scan)):
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
        """Return the scan of this ranker and calibration: the current one, the stored one, or a new one."""
        change = self._view.change
        if self._scan is None or self._checked_change != change:
            self._checked_change = change
            self._calibration = Calibrator.open(self._archive, self._ranker).calibration
            settings = settings_json(self._ranker.values)
            parts = (self._ranker.name, settings, self._calibration and repr(self._calibration))
            fingerprint = hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:16]
            if self._scan is None or self._scan.fingerprint != fingerprint:
                self._scan = candidate_pairs.load_scan(self._archive, fingerprint) or ProposalScan(
                    fingerprint, now("milliseconds"), *_scan_start(self._archive)
                )
        return self._scan

    def _extend_sample(self, calibration: Calibration, scan: ProposalScan) -> None:
        """Add a few questions to the sample, and estimate the share with a duplicate once it is complete."""
        n_done, size = len(scan.sample_probabilities), min(SAMPLE_SIZE, len(self._view))
        top_docid = candidate_pairs.last_docid(self._archive)
        for index in range(n_done, min(n_done + BATCH_SIZE, size)):
            question = candidate_pairs.question_from_docid(self._archive, 1 + index * top_docid // size)
            scan.sample_probabilities.append(self._first_hit_probability(calibration, question))
        if len(scan.sample_probabilities) >= size:
            probabilities = np.array([p for p in scan.sample_probabilities if p is not None], np.float64)
            linked_share = candidate_pairs.count_linked_questions(self._archive) / max(len(self._view), 1)
            lowest = max(MIN_DUPLICATE_RATE, calibration.base_rate * linked_share)
            estimate = estimate_prevalence(probabilities, calibration.base_rate)
            scan.duplicate_rate = min(max(estimate, lowest), calibration.base_rate)

    def _first_hit_probability(self, calibration: Calibration, question: Question | None) -> float | None:
        for _, _, features in self._rank_with_features([question] if question else []):
            for probability in calibration.curve_probabilities(features[:1]).tolist():
                return float(probability)
        return None

    def _next_questions(self, scan: ProposalScan) -> list[Question]:
        """Return the next new questions, or else of the backlog. Where too many are new the scan starts afresh."""
        if self._view.count_changed(scan.change) > MAX_NEW_QUESTIONS:
            scan.change, scan.docid, scan.backlog_docid = _scan_start(self._archive)
        elif changed := candidate_pairs.next_changed_questions(self._archive, scan, BATCH_SIZE):
            return changed
        return candidate_pairs.next_backlog_questions(self._archive, scan, BATCH_SIZE)

    def _rank_with_features(self, questions: Iterable[Question]) -> Iterator[tuple[str, list[str], Floats]]:
        """Rank questions as the calibration's queries were: without bodies where those had none."""
        has_bodies = self._calibration is None or self._calibration.has_bodies
        queries = {q.id: q if has_bodies else replace(q, body="") for q in questions}
        return rank_with_features(self._ranker.open(self._view), queries)

    def _find_pairs(self, questions: Iterable[Question], scan: ProposalScan) -> Iterator[CandidatePair]:
        if self._calibration is None or scan.duplicate_rate is None:
            yield from self._find_similar_pairs({question.id: question for question in questions})
            return
        links = self._find_links(self._calibration, questions)
        hits = self._view.get_questions({link.hit_id for link in links})
        links_back = self._find_links(self._calibration, hits.values())
        directed = {(link.question_id, link.hit_id): link.probability for link in (*links_back, *links)}
        directed_links = ((id, hit_id, probability) for (id, hit_id), probability in directed.items())
        pairs = combine_links(directed_links, self._calibration, scan.duplicate_rate)
        for link in links:
            probability = pairs[pair_key(link.question_id, link.hit_id)]
            if probability >= MIN_PROBABILITY:
                yield self._make_pair(link.question_id, link.hit_id, probability, link.score)

    def _find_similar_pairs(self, questions: Mapping[str, Question]) -> Iterator[CandidatePair]:
        """Yield each question with its first hit, where nothing is calibrated, if they are similar."""
        searcher = self._ranker.open(self._view)
        session = searcher.search(questions, 1)
        for (id, question), scores in zip(questions.items(), session.absolute_scores, strict=True):
            threshold = self._silence.similarity(searcher, question.title)
            if (hits := session.run[id]) and scores[0] >= threshold:
                yield self._make_pair(id, hits[0].id, None, float(scores[0]))

    def _find_links(self, calibration: Calibration, questions: Iterable[Question]) -> list[NeighbourLink]:
        """Return the questions' links of at least MIN_PROBABILITY."""
        ranked = self._rank_with_features(questions)
        links = (link for id, hit_ids, features in ranked for link in link_hits(calibration, id, hit_ids, features))
        return [link for link in links if link.probability >= MIN_PROBABILITY]

    def _make_pair(self, one: str, other: str, probability: float | None, score: float) -> CandidatePair:
        original, duplicate = self._order_by_merit(one, other)
        return CandidatePair(duplicate, original, probability, score, self._ranker.name)

    def _order_by_merit(self, one: str, other: str) -> tuple[str, str]:
        """Return the question that would be the original, then the other. Where one was just deleted: (other, one)."""
        questions, docids = self._view.get_questions([one, other]), self._view.docids([one, other])
        present = [q for q in questions.values() if q.id in docids]
        keys = original_keys(self._view, present)
        ordered = sorted(keys, key=keys.__getitem__)
        return (ordered[0].id, ordered[1].id) if len(ordered) == 2 else (other, one)


def _scan_start(archive: Archive) -> tuple[int, int, int]:
    """Return the last change, the last docid, and the docid after it, from which the backlog goes down."""
    top_docid = candidate_pairs.last_docid(archive)
    return archive.view().change, top_docid, top_docid + 1
