"""The probability of a pair, and what decisions change."""

import pytest

from askalike.core.records import Question
from askalike.moderation.pairs import MIN_DECISIONS, PairCurve, fit_pair_curve
from askalike.store.candidate_pairs import CandidatePair, add_proposals, decide_proposal, list_proposals


def test_probability_rises_with_similarity_and_falls_with_size():
    small, large = PairCurve(500), PairCurve(50_000)
    values = [small.probability(step / 10) for step in range(11)]
    assert values == sorted(values)
    assert values[0] < 0.01 < 0.9 < values[-1]
    assert large.probability(0.8) < small.probability(0.8)


def test_each_decision_shifts_the_curve():
    curve, similarity = PairCurve(500), 0.75
    before = curve.probability(similarity)
    lower = [curve.learn([(similarity, False)] * n).probability(similarity) for n in range(1, 5)]
    assert before > lower[0] > lower[1] > lower[2] > lower[3]
    assert curve.learn([(similarity, True)]).probability(similarity) > before
    assert curve.learn([]) == curve


def test_many_decisions_decide():
    curve = PairCurve(500).learn([(0.8, n % 4 == 0) for n in range(400)])
    assert curve.probability(0.8) == pytest.approx(0.25, abs=0.02)
    assert curve.is_sure
    assert not PairCurve(500, decisions=MIN_DECISIONS - 1).is_sure


def test_decisions_are_read_from_the_queue(archive):
    archive.upsert(Question(id, f"question {id}") for id in "abcdef")
    add_proposals(archive, [CandidatePair(*pair, 0.5, 0.7, "bm25") for pair in ("ab", "cd", "ef")])
    for proposal, decision in zip(list_proposals(archive, "open"), ("accept", "reject", "skip"), strict=True):
        decide_proposal(archive, proposal.id, decision)
    assert fit_pair_curve(archive, "bm25").decisions == 2
    assert fit_pair_curve(archive, "tfidf").decisions == 0
