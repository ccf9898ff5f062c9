"""Proposes likely duplicates of an archive for people to decide on, a few questions at a time."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from askalike.calibration.calibration import Calibration, Calibrator, settings_json
from askalike.calibration.features import HitFeatureExtractor
from askalike.calibration.samples import retrieve_hits
from askalike.core.hits import Run
from askalike.core.records import Question
from askalike.core.values import now
from askalike.moderation.dedupe import original_keys
from askalike.moderation.pairs import (
    MIN_PROBABILITY,
    Link,
    Linker,
    PairProbabilities,
    ProbableLinker,
    SimilarLinker,
    estimate_duplicate_rate,
    pair_key,
)
from askalike.rankers import Ranker, to_run
from askalike.store import Archive, candidate_pairs
from askalike.store.candidate_pairs import CandidatePair, ProposalScan, add_proposals, drop_open_proposals

FORMAT = 2
"""Format of a stored scan. A scan in another format starts again."""
BATCH_SIZE = 4
"""The number of questions per step."""
SAMPLE_SIZE = 1_000
"""The number of questions, spread over the archive, from which the share with a duplicate is estimated."""
MIN_SIMILARITY = 0.5
"""Minimum similarity of a proposed pair without a calibration."""
MAX_PROPOSALS = 10_000
"""Maximum number of open proposals; the least certain ones are dropped."""
MAX_NEW_QUESTIONS = 1_000
"""Maximum number of new questions to scan first; if there are more, the whole archive is scanned, newest first."""


class Proposer:
    """Scans an archive's questions with a ranker whose index is up to date: new questions first, then the backlog.

    If the ranker is calibrated, pairs of at least MIN_PROBABILITY are proposed, with the same probabilities as in
    `dedupe`. Otherwise pairs of at least MIN_SIMILARITY are proposed, with their similarity, which is on the same scale
    for every pair and is not a probability.
    """

    def __init__(self, archive: Archive, ranker: Ranker) -> None:
        self._archive = archive
        self._ranker = ranker
        self._view = archive.view()
        self._extractor = HitFeatureExtractor(self._view.language, self._view)
        self._scan: ProposalScan | None = None
        self._calibration: Calibration | None = None
        self._checked_change = -1

    def step(self) -> bool:
        """Scan a few questions. Return False if none is left. The ranker's index must be up to date."""
        scan = self._current_scan()
        if self._calibration and scan.duplicate_rate is None:
            self._extend_sample(self._calibration, scan)
        elif questions := self._next_questions(scan):
            if add_proposals(self._archive, self._find_pairs(questions, scan), scan.started_at):
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
            parts = (FORMAT, self._ranker.name, settings, self._calibration and repr(self._calibration))
            fingerprint = hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:16]
            if self._scan is None or self._scan.fingerprint != fingerprint:
                self._scan = candidate_pairs.load_scan(self._archive, fingerprint) or ProposalScan(
                    fingerprint, now("milliseconds"), *_scan_start(self._archive)
                )
        return self._scan

    def _extend_sample(self, calibration: Calibration, scan: ProposalScan) -> None:
        """Add a few questions to the sample, and estimate the share with a duplicate once it is complete."""
        n_done = len(scan.sample_links)
        size = min(SAMPLE_SIZE, len(self._view))
        top_docid = candidate_pairs.last_docid(self._archive)
        for index in range(n_done, min(n_done + BATCH_SIZE, size)):
            question = candidate_pairs.question_from_docid(self._archive, 1 + index * top_docid // size)
            scan.sample_links.append(self._find_first_link(calibration, question))
        if len(scan.sample_links) >= size:
            links = [link for link in scan.sample_links if link is not None]
            scan.duplicate_rate = estimate_duplicate_rate(self._archive, calibration, links)

    def _find_first_link(self, calibration: Calibration, question: Question | None) -> Link | None:
        _, _, first = self._find_links(ProbableLinker(calibration), [question] if question else [])
        return first[0] if first else None

    def _next_questions(self, scan: ProposalScan) -> list[Question]:
        """Return the next new questions, else the next of the backlog. If too many are new, the scan starts again."""
        if self._view.count_changed(scan.change) > MAX_NEW_QUESTIONS:
            scan.change, scan.docid, scan.backlog_docid = _scan_start(self._archive)
        elif changed := candidate_pairs.next_changed_questions(self._archive, scan, BATCH_SIZE):
            return changed
        return candidate_pairs.next_backlog_questions(self._archive, scan, BATCH_SIZE)

    def _find_pairs(self, questions: Iterable[Question], scan: ProposalScan) -> Iterator[CandidatePair]:
        """Yield each question's pairs that are probable or similar enough, from the links in both directions."""
        if self._calibration:
            probable = ProbableLinker(self._calibration)
            both, links = self._find_links_both_ways(probable, questions)
            rate = scan.duplicate_rate or self._calibration.base_rate
            yield from self._select_pairs(links, probable.combine_at(rate, both), MIN_PROBABILITY)
        else:
            similar = SimilarLinker.above_abstention(self._archive, self._ranker)
            both, links = self._find_links_both_ways(similar, questions)
            yield from self._select_pairs(links, similar.combine(self._archive, both), MIN_SIMILARITY)

    def _select_pairs(
        self, scores: Mapping[tuple[str, str], float], pairs: PairProbabilities, min_value: float
    ) -> Iterator[CandidatePair]:
        """Yield the pairs of at least this value. scores: (question id, hit id) → the ranker's score."""
        for (question_id, hit_id), score in scores.items():
            if (value := pairs[pair_key(question_id, hit_id)]) >= min_value:
                yield self._make_pair(question_id, hit_id, *((value, score) if self._calibration else (None, value)))

    def _find_links_both_ways(
        self, linker: Linker, questions: Iterable[Question]
    ) -> tuple[Sequence[Link], Mapping[tuple[str, str], float]]:
        """Return the links of questions and of their hits, and the ranker's score of each link of a question."""
        run, links, _ = self._find_links(linker, questions)
        scores = {(id, hit.id): hit.score for id, hits in run.items() for hit in hits}
        hits = self._view.get_questions({hit_id for _, hit_id, _ in links})
        _, links_back, _ = self._find_links(linker, hits.values())
        return (*links, *links_back), {(id, hit_id): scores[id, hit_id] for id, hit_id, _ in links}

    def _find_links(self, linker: Linker, questions: Iterable[Question]) -> tuple[Run, list[Link], list[Link]]:
        """Search for questions as the linker needs; return the run, links and first links."""
        queries = {q.id: q if linker.with_bodies else replace(q, body="") for q in questions}
        if not queries:
            return Run({}), [], []
        searcher = self._ranker.open(self._view)
        retrieved = retrieve_hits(searcher, queries)
        return to_run(self._view, retrieved), *linker.find(searcher, retrieved, self._extractor)

    def _make_pair(self, one: str, other: str, probability: float | None, score: float) -> CandidatePair:
        original, duplicate = self._order_by_merit(one, other)
        return CandidatePair(duplicate, original, probability, score, self._ranker.name)

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
