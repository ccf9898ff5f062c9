"""What given documents share with a query does not depend on which others are asked for, or in which order."""

import random

import numpy as np
import pytest
from brute import SIX, fresh

from askalike.index.lexical.prepared import QueryTerms
from askalike.index.rows import Excluded, find_distinct

WORDS = [f"w{i}" for i in range(40)]


@pytest.fixture(scope="module")
def searcher():
    dice = random.Random(3)
    return fresh({
        n: [(p, dice.choices(WORDS, k=dice.randrange(1, 9))) for p in range(dice.choice([1, 1, 3]))] for n in range(300)
    })  # fmt: skip


@pytest.mark.parametrize(
    "query", [QueryTerms(WORDS[:4]), QueryTerms(WORDS[5:7], "w1"), QueryTerms(["w2"], None, Excluded(7, 0))]
)
@pytest.mark.parametrize("similarity", SIX)
def test_in_any_order_and_alone(searcher, query, similarity):
    prepared = searcher.prepare([query, query], similarity)
    docids = np.arange(300)
    shuffled = np.random.default_rng(1).permutation(docids)
    for measure in (lambda *pools: searcher.match(*pools).scores, lambda *pools: searcher.match(*pools).absolute):
        ascending, mixed = measure(prepared, [docids, shuffled])
        np.testing.assert_array_equal(ascending[shuffled], mixed)
        alone = [measure(prepared, [docids[n : n + 1], docids[:0]])[0][0] for n in range(20)]
        np.testing.assert_array_equal(ascending[:20], alone)
    scores = searcher.match(prepared, [docids, docids[:0]]).scores[0]
    ascending, mixed = searcher.contributions(prepared, [docids, shuffled])
    assert [ascending[n] for n in shuffled] == mixed
    np.testing.assert_allclose([sum(s for _, s in one.scores) for one in ascending], scores, rtol=1e-12)
    found = searcher.search(prepared, 300)[0]
    np.testing.assert_array_equal(scores[found.docids], found.scores)


@pytest.mark.parametrize("kept", [0, 1 << 20])
@pytest.mark.parametrize("query", [QueryTerms(WORDS[:4]), QueryTerms(WORDS[5:7], "w1")])
def test_some_of_what_was_scored(searcher, query, kept, monkeypatch):
    monkeypatch.setattr("askalike.index.lexical.searcher.MAX_KEPT_SCORES", kept)
    pools = [np.arange(50, 250), np.arange(300)[::-1].copy()]
    wanted = [np.array([249, 60, 51]), np.array([7])]
    afresh = searcher.contributions(searcher.prepare([query, query], SIX[0]), wanted)
    prepared = searcher.prepare([query, query], SIX[0])
    known = searcher.match(prepared, pools)
    assert searcher.contributions(prepared, wanted, known) == afresh
    outside = [np.array([60, 3]), np.array([], np.int64)]
    assert searcher.contributions(prepared, outside, known)[0][0] == afresh[0][1]


@pytest.mark.parametrize("values", [[], [3], [2, 1, 2, 2, 5, 1]])
def test_distinct_values(values):
    array = np.array(values, np.int64)
    np.testing.assert_array_equal(find_distinct(array), np.unique(array))
