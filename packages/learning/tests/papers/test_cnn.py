"""The paper's forward pass, against a second way to compute it and against numbers worked out by hand."""

import math

import pytest
import torch
from torch.nn import functional

from askalike.core.config import validate_settings
from askalike.core.errors import SettingsError
from askalike_learning.networks._network import copy_pretrained_vectors
from askalike_learning.papers.bow_cnn import (
    BowCnnNetwork,
    BowCnnNetworkSettings,
    CnnNetwork,
    CnnNetworkSettings,
    WeightedBag,
    WindowMax,
)


def ids_of(*rows):
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
    return {"ids": ids, "stems": ids, "mask": ids > 0, "document": torch.zeros(len(rows), dtype=torch.bool)}


@pytest.mark.parametrize("window", [1, 3, 5])
def test_windows_are_those_of_a_convolution(window):
    torch.manual_seed(2)
    layer = WindowMax(20, 4, window, 7).double()
    layer.bias.data.uniform_()
    batch = ids_of([3, 9, 3, 4, 11], [5, 19])
    kernel = layer.weight.view(4, window, 7).permute(2, 0, 1)
    embedded = layer.words(batch["ids"]).transpose(1, 2)
    windows = functional.conv1d(embedded, kernel, layer.bias, padding=window // 2)
    expected = windows.masked_fill(~batch["mask"][:, None], -torch.inf).amax(2).tanh()
    torch.testing.assert_close(layer(batch["ids"], batch["mask"]), expected)


def test_a_window_by_hand():
    """Vectors of one number, W1 = (1, 10, 100), b = 0.5: each window is worth left + 10 · word + 100 · right + 0.5."""
    layer = WindowMax(5, 1, 3, 1)
    layer.words.weight.data = torch.tensor([[0.0], [9.0], [0.001], [0.002], [-0.003]])
    layer.weight.data = torch.tensor([[1.0, 10.0, 100.0]])
    layer.bias.data.fill_(0.5)
    vector = layer(**{k: v for k, v in ids_of([2, 3, 4], [4]).items() if k in ("ids", "mask")})
    windows = [0.01 + 0.2, 0.001 + 0.02 - 0.3, 0.002 - 0.03]
    assert vector.tolist() == [[pytest.approx(math.tanh(0.5 + max(windows)))], [pytest.approx(math.tanh(0.5 - 0.03))]]


def test_a_bag_of_words_by_hand():
    """t = 2 for word 2, 3 for word 3: 'a a b' is (4, 3); an unknown word (1) counts nothing."""
    layer = WeightedBag(5, trained=True)
    layer.t.data = torch.tensor([7.0, 7.0, 2.0, 3.0, 5.0])
    batch = ids_of([2, 2, 3, 1], [3], [])
    assert layer.sparse_bags(batch["ids"], batch["mask"]).to_dense().tolist() == [
        [0, 0, 4, 3, 0],
        [0, 0, 0, 3, 0],
        [0, 0, 0, 0, 0],
    ]
    vectors = layer(batch["ids"], batch["mask"])
    assert functional.cosine_similarity(vectors[0], vectors[1], dim=0).item() == pytest.approx(3 / 5)


def test_the_score_is_beta_times_the_cosines():
    network = BowCnnNetwork(BowCnnNetworkSettings(dim=4, units=3), 10)
    network.beta.data = torch.tensor([0.3, 2.0])
    parts = network(ids_of([2, 3], [3, 4]))
    cosines = [functional.cosine_similarity(part[0], part[1], dim=0) for part in parts]
    scores = network.score_pairs(tuple(p[:1] for p in parts), tuple(p[1:] for p in parts))
    assert scores.item() == pytest.approx(0.3 * cosines[0].item() + 2 * cosines[1].item())


def test_the_initial_weights_of_table_5():
    idf = torch.arange(10.0)
    for weights, trained in (("idf", True), ("idf", False), ("ones", True), ("ones", False)):
        network = BowCnnNetwork(BowCnnNetworkSettings(dim=4, units=3, weights=weights, train_weights=trained), 10)
        network.initialise(None, idf)
        assert network.bag.t.tolist() == (idf if weights == "idf" else torch.ones(10)).tolist()
        assert network.bag.t.requires_grad is trained


def test_pretrained_vectors_fill_the_rows_they_have():
    network = CnnNetwork(CnnNetworkSettings(dim=2, units=3), 4)
    before = network.convolution.words.weight.detach().clone()
    pretrained = torch.tensor([[9.0, 9.0], [torch.nan, torch.nan], [1.0, 2.0], [torch.nan, torch.nan]])
    network.initialise(pretrained, torch.zeros(4))
    after = network.convolution.words.weight
    assert after[2].tolist() == [1, 2]
    assert after[[0, 1, 3]].tolist() == before[[0, 1, 3]].tolist()
    with pytest.raises(SettingsError, match=r"set network\.dim=3"):
        copy_pretrained_vectors(network.convolution.words, torch.zeros(4, 3))


def test_a_window_has_a_middle():
    with pytest.raises(SettingsError, match="window: expected an odd number"):
        validate_settings(CnnNetworkSettings, {"window": 4}, "cnn")
