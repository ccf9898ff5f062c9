"""Looking for likely duplicates in small steps: what is found, in which order, and that it goes on where it was."""

from dataclasses import replace

import pytest

from askalike import rankers
from askalike.calibration.calibrate import calibrate
from askalike.moderation import duplicate_finder as proposing
from askalike.moderation.duplicate_finder import Proposer
from askalike.moderation.neighbours import find_neighbours
from askalike.store.archive import Archive
from askalike.store.candidate_pairs import decide_proposal, pending_proposals
from calibration.riverside import riverside

WORDS = "lm_jelinek_mercer"


@pytest.fixture
def desk(tmp_path):
    """Riverside with twenty of its questions asked once more, in nearly the same words."""
    path = riverside(tmp_path / "riverside")
    with Archive.open(path) as archive:
        asked = [q for _, q in archive.view().questions()][:20]
        archive.upsert(
            replace(q, id=f"again-{q.id}", title=f"{q.title} Thanks!", rephrasings=(), votes=0) for q in asked
        )
        yield archive


def proposer(archive):
    return Proposer(archive, rankers.open_current(rankers.create(WORDS), archive.view()))


def finish(one):
    steps = 0
    while one.step():
        steps += 1
    return steps


def pairs(archive):
    return [(p.question, p.other) for p in pending_proposals(archive, 10_000)]


def test_what_was_asked_again_is_proposed_with_its_probability(desk):
    calibrate(desk, rankers.create(WORDS)).calibration.save(desk.path)
    one = proposer(desk)
    assert finish(one) >= (len(desk.view()) + 244) / proposing.BATCH_SIZE
    found = pending_proposals(desk, 10_000)
    told = [p.probability for p in found]
    assert told == sorted(told, reverse=True)
    assert min(told) >= proposing.MIN_PROBABILITY
    pairs_of_all, share = find_neighbours(desk, one._ranker, one._calibration, desk.path / "pairs.part")
    again = [pairs_of_all[min(p.question, p.other), max(p.question, p.other)] for p in found]
    assert one._scan.duplicate_rate >= share - 1e-9
    assert all(ours >= theirs - 1e-9 for ours, theirs in zip(told, again, strict=True))
    assert sum({p.question, p.other} in [{f"r{n:03}", f"again-r{n:03}"} for n in range(1, 21)] for p in found) >= 14
    known = {frozenset((link.source, link.target)) for link in desk.view().links()}
    assert not known & {frozenset(pair) for pair in pairs(desk)}
    assert not one.step()


def test_an_estimate_of_none_does_not_silence_it(desk, monkeypatch):
    calibrate(desk, rankers.create(WORDS), max_queries=200).calibration.save(desk.path)
    monkeypatch.setattr(proposing, "estimate_prevalence", lambda probabilities, base_rate: 1e-6)
    one = proposer(desk)
    finish(one)
    assert one._scan.duplicate_rate > 0.05  # 39 duplicate links among 264 questions
    assert pending_proposals(desk)


def test_without_a_calibration_each_questions_first_hit_is_by_score(desk):
    finish(proposer(desk))
    found = pending_proposals(desk, 10_000)
    assert {p.probability for p in found} == {None}
    scores = [p.score for p in found]
    assert scores == sorted(scores, reverse=True)
    assert sum({p.question, p.other} in [{f"r{n:03}", f"again-r{n:03}"} for n in range(1, 21)] for p in found) >= 14


def test_the_newest_are_looked_at_first_and_new_ones_before_the_backlog(desk):
    one = proposer(desk)
    one.step()
    assert any("again-r020" in pair for pair in pairs(desk))
    lost = desk.view().get_questions(["r013"])["r013"]
    desk.upsert([replace(lost, id="new", title=f"{lost.title} Please help!", rephrasings=())])
    rankers.open_current(rankers.create(WORDS), desk.view())
    one._ranker.build(desk.view())
    one.step()
    assert ("new", "r013") in pairs(desk)


def test_it_goes_on_where_it_was(desk):
    whole = finish(proposer(desk))
    found = pairs(desk)
    desk._connection.execute("DELETE FROM proposing")
    desk._connection.execute("DELETE FROM proposals")
    first = proposer(desk)
    for _ in range(10):
        first.step()
    assert finish(proposer(desk)) == whole - 10
    assert sorted(pairs(desk)) == sorted(found)
    assert finish(proposer(desk)) == 0


def test_another_ranker_looks_again_and_decisions_stay(desk):
    finish(proposer(desk))
    first = pending_proposals(desk)[0]
    decide_proposal(desk, first.id, "reject")
    other = Proposer(desk, rankers.open_current(rankers.create("bm25"), desk.view()))
    assert finish(other) > 10
    assert {p.model for p in pending_proposals(desk, 10_000)} == {"bm25"}
    assert {first.question, first.other} not in [set(pair) for pair in pairs(desk)]


def test_many_new_questions_join_the_backlog(desk, monkeypatch):
    monkeypatch.setattr(proposing, "MAX_NEW_QUESTIONS", 5)
    one = proposer(desk)
    finish(one)
    texts = [q for _, q in desk.view().questions()][:10]
    desk.upsert(replace(q, id=f"more-{q.id}", title=f"{q.title} Thank you!", rephrasings=()) for q in texts)
    one._ranker.build(desk.view())
    assert finish(one) > 50
    assert any(id.startswith("more-") for pair in pairs(desk) for id in pair)


def test_a_question_deleted_while_it_is_looked_for_does_no_harm(desk):
    one = proposer(desk)
    desk.delete([f"again-r{n:03}" for n in range(1, 11)])
    finish(one)
    assert not {id for pair in pairs(desk) for id in pair} & {f"again-r{n:03}" for n in range(1, 11)}


def test_only_the_most_certain_wait(desk, monkeypatch):
    monkeypatch.setattr(proposing, "MAX_PROPOSALS", 7)
    finish(proposer(desk))
    assert len(pending_proposals(desk, 100)) == 7
