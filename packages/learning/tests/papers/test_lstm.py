"""LSTMs: poolings by hand, both heads, and sentences read as sentences."""

import pytest
import torch
from tests.papers.test_cnn import ids_of

from askalike.core.records import Question
from askalike_learning.features.sentences import SentenceFeatures, SentenceSettings
from askalike_learning.papers.lstm import (
    POOLINGS,
    HierarchicalLstmNetwork,
    HierarchicalLstmNetworkSettings,
    LstmNetwork,
    LstmNetworkSettings,
    pool_states,
)

T, F = True, False
STATES = torch.tensor([[[1.0, 5.0], [3.0, -2.0], [9.0, 9.0]], [[7.0, 7.0], [8.0, 8.0], [9.0, 9.0]]])
MASK = torch.tensor([[T, T, F], [F, F, F]])


@pytest.mark.parametrize(
    ("how", "expected"), [("last", [3, -2]), ("max", [3, 5]), ("mean", [2, 1.5]), ("mean_max", [2, 1.5, 3, 5])]
)
def test_poolings_by_hand(how, expected):
    assert pool_states(how, STATES, MASK).tolist() == [expected, [0] * len(expected)]


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("head", ["pair", "cosine"])
def test_both_heads_give_log_odds(pooling, head):
    torch.manual_seed(1)
    network = LstmNetwork(LstmNetworkSettings(dim=4, hidden=3, dense=5, pooling=pooling, head=head), 10).double().eval()
    parts = network(ids_of([2, 3], [3, 4, 5], []))
    assert parts[0].shape == (3, network.vector_dim)
    scores = network.score_matrix(parts, parts)
    assert scores.shape == (3, 3)
    for i in range(3):
        one = network.score_pairs(tuple(p[[i] * 3] for p in parts), parts)
        torch.testing.assert_close(scores[i], one)
    scores.sum().backward()
    assert all(p.grad.isfinite().all() for p in network.parameters())
    assert network.indexable is (head == "cosine")


def test_cosine_head_is_scaled_and_shifted():
    network = LstmNetwork(LstmNetworkSettings(dim=4, hidden=3, pooling="mean"), 10).eval()
    parts = network(ids_of([2, 3], [3, 4, 5]))
    cosine = torch.nn.functional.cosine_similarity(parts[0][0], parts[0][1], dim=0)
    expected = network.log_scale.exp()[0] * cosine + network.bias
    assert network.score_matrix(parts, parts)[0, 1].item() == pytest.approx(expected.item(), abs=1e-6)


def test_gradient_of_the_pair_classifier_is_its_slope():
    torch.manual_seed(1)
    network = LstmNetwork(LstmNetworkSettings(dim=3, hidden=3, dense=4, head="pair"), 8).double().eval()
    batch = ids_of([2, 3], [3, 4, 5])
    left = network(batch)[0].detach().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: network.score_matrix((x,), (x,)), (left,))


def test_sentences_are_padded_apart():
    known = SentenceFeatures.from_texts(SentenceSettings(min_texts=1), [Question("1", "Boil an egg. Then eat it!")])
    rows = known.encode([Question("1", "Boil an egg. Then eat it!"), Question("2", "egg"), Question("3", "")])
    arrays = rows.batch(torch.tensor([0, 1, 2]).numpy())
    assert arrays["mask"].sum(2).tolist() == [[4, 4], [1, 0], [0, 0]]
    assert rows.lengths.tolist() == [8, 1, 0]
    assert (arrays["ids"][1, 0, 0], arrays["ids"][1, 0, 1]) == (known.vocabulary.ids["egg"], 0)


def test_the_order_of_sentences_counts():
    torch.manual_seed(1)
    network = HierarchicalLstmNetwork(HierarchicalLstmNetworkSettings(dim=4, sentence=3, hidden=3), 10).double()
    ids = torch.tensor([[[2, 3], [4, 0]], [[4, 0], [2, 3]], [[2, 3], [4, 0]]])
    vectors = network({"ids": ids, "mask": ids > 0})[0]
    torch.testing.assert_close(vectors[0], vectors[2])
    assert not torch.allclose(vectors[0], vectors[1])
