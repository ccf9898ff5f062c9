import numpy as np
import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from askalike.core.hits import Run
from askalike.core.records import Answer, Question, TrainingPair
from askalike.text.features import RaggedArray
from askalike_learning.examples import (
    Examples,
    add_random_negatives,
    collect_texts,
    draw_negatives,
    make_batches,
    mine_negatives,
    select_negatives,
)
from askalike_learning.recipes import NegativesSettings
from jobs import job_of


def pair(query, positive, cluster):
    return TrainingPair(Question(query, query), Question(positive, positive), cluster, "made")


PAIRS = [pair("a1", "a2", "a"), pair("a2", "a3", "a"), pair("b1", "b2", "b")]
OTHERS = [Question(name, name) for name in ("x", "y", "a1")]


def test_texts_are_collected_once_each():
    texts = collect_texts(PAIRS, OTHERS)
    assert [t.id for t in texts.texts] == ["a1", "a2", "a3", "b1", "b2", "x", "y"]
    assert texts.clusters.tolist()[:5] == [0, 0, 0, 1, 1]
    assert len(set(texts.clusters[5:].tolist()) | {0, 1}) == 4


def test_other_text_of_a_question_shares_its_cluster():
    texts = collect_texts(PAIRS, [Question("a1", "a1", "with a body")])
    assert len(texts.texts) == 6
    assert texts.clusters[5] == texts.clusters[0]


def test_drawn_ones_have_other_clusters_and_same_kind():
    answered = TrainingPair(Question("q", "q"), Answer("r", "q", "r"), "q", "made")
    other = TrainingPair(Question("p", "p"), Answer("s", "p", "s"), "p", "made")
    texts = collect_texts([*PAIRS, answered, other], OTHERS)
    negatives = draw_negatives(texts, 20, 1)
    assert (texts.clusters[negatives] != texts.clusters[texts.positive][:, None]).all()
    assert (texts.kinds[negatives] == texts.kinds[texts.positive][:, None]).all()
    assert negatives.tolist() == draw_negatives(texts, 20, 1).tolist()
    assert negatives.tolist() != draw_negatives(texts, 20, 2).tolist()


def test_no_negative_is_of_either_texts_cluster():
    """The related pair of a1 and b1 takes neither to the cluster of the other."""
    related = TrainingPair(Question("a1", "a1"), Question("b1", "b1"), "b", "related", query_cluster="a")
    texts = collect_texts([*PAIRS, related], OTHERS)
    assert texts.clusters.tolist()[:5] == [0, 0, 0, 1, 1]
    names = np.array([text.id for text in texts.texts])
    run = Run({name: (["a1", "a2", "a3", "b1", "b2", "x"], np.arange(6.0, 0, -1)) for name in ("a1", "a2", "b1")})
    mined, _ = mine_negatives(texts, run, NegativesSettings(mined=2, from_rank=0, max_score=9))
    assert [names[row[row >= 0]].tolist() for row in mined] == [["b1", "b2"], ["b1", "b2"], ["a1", "a2"], ["x"]]
    drawn = draw_negatives(texts, 50, 1)
    assert [set(names[row[row >= 0]]) & {"a1", "a2", "a3", "b1", "b2"} for row in drawn] == [
        {"b1", "b2"}, {"b1", "b2"}, {"a1", "a2", "a3"}, set(),
    ]  # fmt: skip
    judged = {name: ["a3", "b2", "y"] for name in ("a1", "a2", "b1")}
    listed = select_negatives(texts, judged, 2)
    assert [names[row[row >= 0]].tolist() for row in listed] == [["b2", "y"], ["b2", "y"], ["a3", "y"], ["y"]]


def test_unpaired_question_is_no_negative_of_its_cluster():
    """a4 is a duplicate of a1 that was not drawn as a pair."""
    texts = collect_texts(PAIRS[:1], [Question("a4", "a4"), Question("x", "x")], {"a1": "a", "a2": "a", "a4": "a"})
    assert [text.id for text in texts.texts] == ["a1", "a2", "a4", "x"]
    assert set(draw_negatives(texts, 50, 1)[0]) - {-1} == {3}


def test_one_cluster_alone_draws_nothing():
    assert (draw_negatives(collect_texts([PAIRS[0]]), 3, 1) == -1).all()


def test_mined_ones_pass_every_guard_and_are_audited():
    names = ["b1", "a3", "zzz", "a2", "x", "b2", "y"]
    run = Run({"a1": (names, np.array([10, 9, 8, 7, 6.9, 5, 4]))})
    texts = collect_texts(PAIRS, OTHERS)
    negatives, report = mine_negatives(texts, run, NegativesSettings(mined=2, from_rank=1, max_score=0.95))
    assert [texts.texts[n].id for n in negatives[0]] == ["b2", "y"]  # x has more than 0.95 of a2's score
    assert (negatives[1:] == -1).all()
    assert str(report) == (
        "mined negatives: 2 for 3 pairs (2 of them without); left out: 1 by rank, 2 of the same cluster, "
        "1 too similar to the positive, 1 not among the training texts"
    )
    assert np.issubdtype(negatives.dtype, np.int64)


def test_ranks_that_make_no_sense():
    with pytest.raises(ValidationError, match="expected from_rank below to_rank"):
        NegativesSettings(mined=1, from_rank=5, to_rank=5)


@pytest.mark.parametrize("redraw", [True, False])
def test_random_negatives_differ_between_epochs_only_with_redraw(pairs, tmp_path, redraw):
    job = job_of(pairs, tmp_path, negatives=NegativesSettings(random=3, redraw=redraw))
    epochs = [add_random_negatives(job.examples, job.negatives, 1, n).negatives for n in (1, 2, 1)]
    assert all(drawn.shape == (len(pairs), 3) for drawn in epochs)
    assert (epochs[0] == epochs[2]).all()
    assert (epochs[0] == epochs[1]).all() != redraw


def examples_of(lengths, clusters):
    n = len(clusters)
    rows = RaggedArray.from_rows([range(length) for length in lengths])
    numbers = np.arange(n)
    return Examples(rows, np.zeros(n, np.int64), numbers, numbers, np.array(clusters), np.zeros((n, 0), np.int64), [])


ROWS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5)), min_size=1, max_size=60)


@given(ROWS, st.integers(1, 9), st.booleans())
def test_every_pair_once_and_clusters_apart(rows, size, apart):
    lengths, clusters = zip(*rows, strict=True)
    batches = make_batches(examples_of(lengths, clusters), size, 1, 1, separate=apart)
    pairs = np.concatenate(batches)
    assert len(set(pairs.tolist())) == len(pairs)
    assert all(0 < len(batch) <= size for batch in batches)
    if apart:
        assert all(len({clusters[p] for p in batch}) == len(batch) for batch in batches)
    else:
        assert sorted(pairs.tolist()) == list(range(len(rows)))


def test_apart_leaves_out_only_what_does_not_fit():
    batches = make_batches(examples_of([1] * 12, [0] * 6 + list(range(1, 7))), 3, 1, 1, separate=True)
    assert sum(map(len, batches)) >= 10  # four batches take one pair each of the cluster that has six


def test_the_seed_and_the_epoch_decide():
    examples = examples_of(list(range(100)), list(range(100)))

    def order(seed, epoch):
        return np.concatenate(make_batches(examples, 7, seed, epoch)).tolist()

    assert order(1, 1) == order(1, 1)
    assert order(1, 1) != order(1, 2)
    assert order(1, 1) != order(2, 1)


def test_a_batch_has_texts_of_like_lengths():
    batches = make_batches(examples_of(list(range(50)) * 2, list(range(100))), 10, 1, 1)
    assert max(np.ptp(batch % 50) for batch in batches) <= 5
