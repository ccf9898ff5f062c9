"""Hierarchical softmax: the tree by hand, and probabilities beside a walk from the root."""

import pytest
import torch

from askalike.papers.huffman import HuffmanDecoder, HuffmanSoftmax, build_tree

COUNTS = torch.tensor([5.0, 1, 1, 9, 0, 3, 2])


@pytest.fixture
def softmax():
    torch.manual_seed(2)
    made = HuffmanSoftmax(4, len(COUNTS)).double()
    made.set_word_counts(COUNTS)
    return made


def test_the_two_rarest_are_joined_first():
    """0 and 1 make node 0 of 4; the pair and 2 make node 1 of 9; these and 3 the root."""
    assert build_tree([1, 3, 5, 10]) == [0, 1, 3, 5, 2, 4, -1]


def walk(softmax, state, word):
    """The probability of a word, one decision after another, from the word up."""
    probability, parent, at = 1.0, build_tree(COUNTS.tolist()), word
    while parent[at] >= 0:
        node, side = divmod(parent[at], 2)
        score = softmax.nodes(state)[node].item()
        probability *= torch.sigmoid(torch.tensor(-score if side else score, dtype=torch.double)).item()
        at = node + len(COUNTS)
    return probability


def test_a_word_has_the_product_of_the_decisions_on_its_way(softmax):
    states = torch.randn(len(COUNTS), 4, dtype=torch.double)
    found = softmax.log_likelihood(states, torch.arange(len(COUNTS))).exp()
    for word, (state, probability) in enumerate(zip(states, found.tolist(), strict=True)):
        assert probability == pytest.approx(walk(softmax, state, word))
        assert softmax.log_probabilities(state[None]).exp()[0, word].item() == pytest.approx(probability)


def test_the_probabilities_of_all_words_add_up_to_one(softmax):
    states = torch.randn(3, 4, dtype=torch.double) * 5
    torch.testing.assert_close(softmax.log_probabilities(states).exp().sum(1), torch.ones(3, dtype=torch.double))


def test_frequent_words_have_short_paths(softmax):
    starts = softmax.paths.starts
    lengths = (starts[1:] - starts[:-1]).double()
    assert lengths.argmin() == COUNTS.argmax()
    assert (lengths * COUNTS).sum() / COUNTS.sum() < torch.tensor(len(COUNTS)).log2()


def test_the_gradient_is_the_slope(softmax):
    states = torch.randn(3, 4, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: softmax.log_likelihood(x, torch.tensor([3, 4, 0])), (states,))


def test_a_saved_tree_is_read_with_the_weights(softmax):
    other = HuffmanSoftmax(4, len(COUNTS)).double()
    assert other.paths.starts.tolist() != softmax.paths.starts.tolist()
    other.load_state_dict(softmax.state_dict())
    state = torch.randn(1, 4, dtype=torch.double)
    torch.testing.assert_close(other.log_probabilities(state), softmax.log_probabilities(state))


def test_a_beam_has_the_likeliest_words_but_banned_ones(softmax):
    decoder = HuffmanDecoder(len(COUNTS), 3, 2, 4, ()).double()
    decoder.set_word_counts(COUNTS)
    states, totals = torch.randn(2, 4, dtype=torch.double), torch.tensor([-1.0, -0.5], dtype=torch.double)
    sums = decoder.softmax.log_probabilities(states) + totals[:, None]
    sums[0, [3, 5]] = -torch.inf
    values, places = sums.flatten().topk(4)
    found = decoder.extend_beam(states, totals, [[3, 5], []], 4)
    torch.testing.assert_close(found.sums, values)
    assert (found.hypotheses * len(COUNTS) + found.words).tolist() == places.tolist()
