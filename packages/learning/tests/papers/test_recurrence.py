"""The LSTM that reads no padding, beside torch's own."""

import pytest
import torch

from askalike_learning.papers.lstm import POOLINGS, LstmLayer, pool_states
from askalike_learning.papers.recurrence import pack, read_packed

LENGTHS = torch.tensor([1, 9, 0, 2, 2, 5])
MASK = torch.arange(9) < LENGTHS[:, None]


@pytest.fixture
def layer():
    torch.manual_seed(5)
    return LstmLayer(3, 4)


def test_tokens_are_packed_by_step_longest_first():
    packing = pack(torch.tensor([[True, False, False], [True, True, True], [False] * 3, [True, True, False]]))
    assert packing.places.tolist() == [3, 9, 0, 4, 10, 5]
    assert packing.sizes == [3, 2, 1]
    assert packing.last[[0, 1, 3]].tolist() == [2, 5, 4]


@pytest.mark.parametrize("pooling", POOLINGS)
def test_states_and_gradients_are_those_of_torch(layer, pooling):
    words = torch.randn(6, 9, 3, requires_grad=True)
    inputs = (words, *layer.parameters())
    ours, theirs = layer.read(pooling, words, MASK), pool_states(pooling, layer(words), MASK)
    torch.testing.assert_close(ours, theirs)
    weights = torch.randn_like(ours)
    gradients = [torch.autograd.grad((values * weights).sum(), inputs) for values in (ours, theirs)]
    for own, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(own, expected)


@pytest.mark.parametrize("pooling", ["last", "mean_max"])
def test_repeated_words_are_read_as_if_apart(layer, pooling):
    vectors, rows = torch.randn(5, 3, requires_grad=True), torch.randint(5, (6, 9))
    once, apart = layer.read(pooling, vectors, MASK, rows), layer.read(pooling, vectors[rows], MASK)
    torch.testing.assert_close(once, apart)
    gradients = [torch.autograd.grad(values.square().sum(), vectors)[0] for values in (once, apart)]
    torch.testing.assert_close(*gradients)


def test_texts_without_tokens_have_zeros(layer):
    none = torch.zeros(2, 3, dtype=torch.bool)
    assert layer.read("mean_max", torch.randn(2, 3, 3), none).tolist() == [[0.0] * 8] * 2


def test_a_frozen_layer_passes_errors_on(layer):
    layer.requires_grad_(False)
    inputs = torch.randn(3, 16, requires_grad=True)
    read_packed(inputs, torch.arange(3), layer.lstm.weight_hh_l0, [2, 1]).sum().backward()
    assert inputs.grad.abs().sum() > 0
