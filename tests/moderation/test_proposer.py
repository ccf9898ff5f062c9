"""Proposing likely duplicates in small steps: which ones, in which order, and that a scan can be resumed."""

import shutil
from dataclasses import replace

import pytest

from askalike import rankers
from askalike.calibration.calibration import load_calibration
from askalike.moderation import proposer as proposer_module
from askalike.moderation.pairs import ProbableLinker, SimilarLinker, find_neighbours, pair_key
from askalike.moderation.proposer import Proposer
from askalike.store.archive import Archive
from askalike.store.candidate_pairs import decide_proposal, pending_proposals, scan_progress
from calibration.riverside import DEFAULT_RANKER, ask_again, riverside


@pytest.fixture
def archive(tmp_path):
    """Riverside, without a calibration, with twenty of its questions asked again."""
    with Archive.open(riverside(tmp_path / "riverside")) as archive:
        ask_again(archive)
        yield archive


@pytest.fixture
def calibrated(calibrated_riverside, tmp_path):
    """Riverside, with a calibration, with twenty of its questions asked again."""
    with Archive.open(shutil.copytree(calibrated_riverside, tmp_path / "calibrated")) as archive:
        ask_again(archive)
        yield archive


@pytest.fixture(scope="module")
def whole_scan(tmp_path_factory):
    """Riverside, without a calibration, with twenty of its questions asked again, after a scan; and its steps."""
    path = riverside(tmp_path_factory.mktemp("scanned") / "riverside")
    with Archive.open(path) as archive:
        ask_again(archive)
        return path, finish(create_proposer(archive))


@pytest.fixture
def scanned(whole_scan, tmp_path):
    with Archive.open(shutil.copytree(whole_scan[0], tmp_path / "scanned")) as archive:
        yield archive


def built(archive, name=DEFAULT_RANKER):
    ranker = rankers.create(name)
    ranker.build(archive.view())
    return ranker


def create_proposer(archive, name=DEFAULT_RANKER):
    return Proposer(archive, built(archive, name))


def finish(proposer):
    """Take all steps and return their number."""
    n_steps = 0
    while proposer.step():
        n_steps += 1
    return n_steps


def proposed_pairs(archive):
    return [(p.duplicate_id, p.original_id) for p in pending_proposals(archive, 10_000)]


def count_repeated(proposals):
    """The number of pairs of a question and itself asked again."""
    repeated = [{f"r{n:03}", f"again-r{n:03}"} for n in range(1, 21)]
    return sum({p.duplicate_id, p.original_id} in repeated for p in proposals)


def test_repeated_questions_are_proposed_with_their_probability(calibrated):
    proposer = create_proposer(calibrated)
    assert finish(proposer) >= (len(calibrated.view()) + 244) / proposer_module.BATCH_SIZE
    proposals = pending_proposals(calibrated, 10_000)
    probabilities = [p.probability for p in proposals]
    assert probabilities == sorted(probabilities, reverse=True)
    assert min(probabilities) >= proposer_module.MIN_PROBABILITY
    ranker = built(calibrated)
    pairs, _ = find_neighbours(calibrated, ranker, ProbableLinker(load_calibration(calibrated, ranker)))
    of_neighbours = [pairs[pair_key(p.duplicate_id, p.original_id)] for p in proposals]
    assert all(ours >= theirs - 1e-9 for ours, theirs in zip(probabilities, of_neighbours, strict=True))
    assert count_repeated(proposals) >= 14
    linked = {frozenset((link.source, link.target)) for link in calibrated.view().links()}
    assert not linked & {frozenset(pair) for pair in proposed_pairs(calibrated)}
    assert not proposer.step()


def test_an_estimate_of_0_does_not_silence_it(calibrated, monkeypatch):
    monkeypatch.setattr("askalike.moderation.pairs.estimate_prevalence", lambda probabilities, base_rate: 1e-6)
    proposer = create_proposer(calibrated)
    finish(proposer)
    assert proposer._scan.duplicate_rate > 0.05  # 39 duplicate links among 264 questions
    assert pending_proposals(calibrated)


def test_proposer_by_similarity_without_a_calibration(archive):
    """The first are right, none is below a floor, and no figure depends on what else a question finds."""
    assert scan_progress(archive) is None
    proposer = create_proposer(archive)
    proposer.step()
    assert 0 < scan_progress(archive).remaining < len(archive.view())
    finish(proposer)
    assert scan_progress(archive).is_done
    proposals = pending_proposals(archive, 10_000)
    assert {p.probability for p in proposals} == {None}
    scores = [p.score for p in proposals]
    assert scores == sorted(scores, reverse=True)
    assert proposer_module.MIN_SIMILARITY <= min(scores) <= max(scores) <= 1
    assert count_repeated(proposals) >= 14
    assert count_repeated(proposals[:14]) >= 12
    ranker = built(archive)
    pairs, _ = find_neighbours(archive, ranker, SimilarLinker.above_abstention(archive, ranker))
    assert all(p.score == pytest.approx(pairs[pair_key(p.duplicate_id, p.original_id)]) for p in proposals)


def test_newest_are_scanned_first_then_the_backlog(archive):
    proposer = create_proposer(archive)
    proposer.step()
    assert any("again-r020" in pair for pair in proposed_pairs(archive))
    question = archive.view().get_questions(["r013"])["r013"]
    archive.upsert([replace(question, id="new", title=f"{question.title} Please help!", rephrasings=())])
    built(archive)
    proposer.step()
    assert ("new", "r013") in proposed_pairs(archive)


def test_an_interrupted_scan_is_resumed(archive, scanned, whole_scan):
    interrupted = create_proposer(archive)
    for _ in range(10):
        interrupted.step()
    assert finish(create_proposer(archive)) == whole_scan[1] - 10
    assert sorted(proposed_pairs(archive)) == sorted(proposed_pairs(scanned))
    assert finish(create_proposer(archive)) == 0


def test_another_ranker_scans_again_and_decisions_stay(scanned):
    rejected = pending_proposals(scanned)[0]
    decide_proposal(scanned, rejected.id, "reject")
    assert finish(create_proposer(scanned, "bm25")) > 10
    assert {p.ranker for p in pending_proposals(scanned, 10_000)} == {"bm25"}
    assert {rejected.duplicate_id, rejected.original_id} not in [set(pair) for pair in proposed_pairs(scanned)]


@pytest.mark.long
def test_many_new_questions_join_the_backlog(archive, monkeypatch):
    monkeypatch.setattr(proposer_module, "MAX_NEW_QUESTIONS", 5)
    proposer = create_proposer(archive)
    finish(proposer)
    questions = [question for _, question in archive.view().questions()][:10]
    archive.upsert(replace(q, id=f"more-{q.id}", title=f"{q.title} Thank you!", rephrasings=()) for q in questions)
    built(archive)
    assert finish(proposer) > 50
    assert any(id.startswith("more-") for pair in proposed_pairs(archive) for id in pair)


def test_question_deleted_during_a_scan_does_no_harm(archive):
    proposer = create_proposer(archive)
    deleted = {f"again-r{n:03}" for n in range(1, 11)}
    archive.delete(sorted(deleted))
    finish(proposer)
    assert not {id for pair in proposed_pairs(archive) for id in pair} & deleted


def test_only_the_most_certain_proposals_stay_open(archive, monkeypatch):
    monkeypatch.setattr(proposer_module, "MAX_PROPOSALS", 7)
    finish(create_proposer(archive))
    assert len(pending_proposals(archive, 100)) == 7


def test_proposals_stay_where_the_clock_is_set_back(archive):
    proposer = create_proposer(archive)
    proposer.step()
    proposer._scan.started_at = "2999-01-01T00:00:00.000+00:00"
    finish(proposer)
    assert count_repeated(pending_proposals(archive, 10_000)) >= 14
