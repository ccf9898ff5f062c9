"""Proposing likely duplicates in small steps: which ones, in which order, and that a scan can be resumed."""

import shutil
from dataclasses import replace

import pytest

from askalike import rankers
from askalike.moderation import proposer as proposer_module
from askalike.moderation.pairs import PairCurve, find_pairs, fit_pair_curve, learn_decisions, pair_key
from askalike.moderation.proposer import Proposer
from askalike.store.archive import Archive
from askalike.store.candidate_pairs import count_unscanned, decide_proposal, pending_proposals
from calibration.riverside import DEFAULT_RANKER, ask_again, riverside


@pytest.fixture
def archive(tmp_path):
    """Riverside, with twenty of its questions asked again."""
    with Archive.open(riverside(tmp_path / "riverside")) as archive:
        ask_again(archive)
        yield archive


@pytest.fixture(scope="module")
def whole_scan(tmp_path_factory):
    """Riverside, with twenty of its questions asked again, after a scan; and its steps."""
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


def test_proposer_has_the_probabilities_of_dedupe(archive):
    """The first are right, and no probability depends on which question was scanned."""
    assert count_unscanned(archive) is None
    proposer = create_proposer(archive)
    proposer.step()
    assert 0 < count_unscanned(archive) < len(archive.view())
    finish(proposer)
    assert count_unscanned(archive) == 0
    proposals = pending_proposals(archive, 10_000)
    probabilities = [p.probability for p in proposals]
    assert probabilities == sorted(probabilities, reverse=True)
    assert min(probabilities) >= proposer_module.MIN_PROBABILITY
    assert count_repeated(proposals) >= 14
    assert count_repeated(proposals[:14]) >= 12
    ranker = built(archive)
    pairs, curve = find_pairs(archive, ranker), fit_pair_curve(archive, ranker.name)
    for p in proposals:
        assert p.score == pytest.approx(pairs[pair_key(p.duplicate_id, p.original_id)])
        assert p.probability == pytest.approx(curve.probability(p.score))
    linked = {frozenset((link.source, link.target)) for link in archive.view().links()}
    assert not linked & {frozenset(pair) for pair in proposed_pairs(archive)}
    assert not proposer.step()


def test_decisions_change_the_next_probabilities(scanned):
    before = pending_proposals(scanned, 10)
    decide_proposal(scanned, before[0].id, "reject", "kim")
    learn_decisions(scanned, before[0].ranker)
    after = pending_proposals(scanned, 9)
    assert [p.id for p in after] == [p.id for p in before[1:]]
    assert all(new.probability < old.probability for old, new in zip(before[1:], after, strict=True))
    curve, similarity = fit_pair_curve(scanned, before[0].ranker), 0.8
    assert curve.decisions == 1
    assert curve.probability(similarity) < PairCurve(len(scanned.view())).probability(similarity)


def test_changed_questions_are_scanned_next(archive):
    proposer = create_proposer(archive)
    finish(proposer)
    question = archive.view().get_questions(["r013"])["r013"]
    archive.upsert([replace(question, id="new", title=f"{question.title} Please help!", rephrasings=())])
    built(archive)
    assert finish(proposer) == 1
    assert ("new", "r013") in proposed_pairs(archive)


def test_an_interrupted_scan_is_resumed(archive, scanned, whole_scan):
    interrupted = create_proposer(archive)
    interrupted.step()
    assert finish(create_proposer(archive)) == whole_scan[1] - 1
    assert sorted(proposed_pairs(archive)) == sorted(proposed_pairs(scanned))
    assert finish(create_proposer(archive)) == 0


def test_another_ranker_scans_again_and_decisions_stay(scanned):
    rejected = pending_proposals(scanned)[0]
    decide_proposal(scanned, rejected.id, "reject")
    assert finish(create_proposer(scanned, "bm25")) > 1
    assert {p.ranker for p in pending_proposals(scanned, 10_000)} == {"bm25"}
    assert {rejected.duplicate_id, rejected.original_id} not in [set(pair) for pair in proposed_pairs(scanned)]


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
