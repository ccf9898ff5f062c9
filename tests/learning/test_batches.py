import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from askalike.learning.examples import Examples, make_batches
from askalike.text.features import RaggedArray


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
