"""SCQA: trigrams as a set, and settings that leave something to convolve."""

import numpy as np
import pytest
import torch

from askalike.core.config import validate_settings
from askalike.core.errors import SettingsError
from askalike.core.records import Question
from askalike_learning.features.trigrams import TrigramFeatures, TrigramSettings
from askalike_learning.papers.scqa import ScqaNetwork, ScqaNetworkSettings


def test_trigrams_are_a_set_of_stems_trigrams():
    reader = TrigramFeatures(TrigramSettings(trigrams=100_000))
    rows = reader.encode([Question("1", "The eggs, the EGG!"), Question("2", "egg"), Question("3", "the")])
    assert rows.lengths.tolist() == [3, 3, 0]  # #eg, egg, gg#
    np.testing.assert_array_equal(*(rows.batch(np.array([n]))["ids"] for n in (0, 1)))


def test_trigrams_have_their_own_rows_unless_hashed(tmp_path):
    egg, egret = Question("1", "eggs"), Question("2", "egrets")
    known = TrigramFeatures.from_texts(TrigramSettings(trigrams=0), [egg, Question("3", "gg")])
    assert sorted(known.tokens[2:]) == ["#eg", "#gg", "egg", "gg#"]
    known.save(tmp_path)
    for features in (known, TrigramFeatures.load(TrigramSettings(trigrams=0), tmp_path)):
        rows = features.encode([egg, egret])
        assert rows.lengths.tolist() == [3, 1]  # of egret, #eg alone is known


@pytest.mark.parametrize(("filters", "stride", "pool"), [((4,), 1, 2), ((2, 3), 2, 2), ((2, 2, 2), 1, 3)])
def test_every_shape_that_is_accepted_runs(filters, stride, pool):
    settings = ScqaNetworkSettings(dim=64, filters=filters, kernel=5, stride=stride, pool=pool, units=7)
    ids = torch.tensor([[2, 5, 0], [3, 4, 9]])
    assert ScqaNetwork(settings, 12)({"ids": ids, "mask": ids > 0})[0].shape == (2, 7)


def test_too_many_convolutions_are_refused():
    with pytest.raises(SettingsError, match="dim=16 is too small for these convolutions"):
        validate_settings(ScqaNetworkSettings, {"dim": 16, "filters": (2, 2, 2)}, "network")
