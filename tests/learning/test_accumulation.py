"""Steps of several batches: they learn as one batch of all their pairs, and the same each time."""

import pytest
import torch
from tests.learning.conftest import job_of

from askalike.core.errors import SettingsError
from askalike.learning.recipes import Recipe
from askalike.learning.trainer import train

WITH_DROPOUT = {"network": "lstm", "sizes": {"dim": 8, "hidden": 6, "dropout": 0.3}}


def test_the_batches_of_a_step_learn_as_one_batch_of_their_pairs(pairs, tmp_path):
    options = {"optimizer": "sgd", "learning_rate": 0.1, "epochs": 2}
    whole = job_of(pairs, tmp_path / "whole", batch_size=len(pairs), **options)
    parts = job_of(pairs, tmp_path / "parts", batch_size=len(pairs) // 4, accumulate=4, **options)
    one, four = train(whole), train(parts)
    assert four[0].loss == pytest.approx(one[0].loss, rel=1e-5)
    for name, tensor in whole.network.state_dict().items():
        torch.testing.assert_close(parts.network.state_dict()[name], tensor)


@pytest.mark.parametrize("options", [WITH_DROPOUT | {"optimizer": "adam"}, {"optimizer": "lazy_adam"}])
def test_they_learn_the_same_each_time(pairs, tmp_path, options):
    jobs = [job_of(pairs, tmp_path / str(n), accumulate=3, **options) for n in range(2)]
    for job in jobs:
        train(job)
    assert_same_weights(*jobs)


def test_several_devices_have_batches_of_their_own():
    with pytest.raises(SettingsError, match="accumulate is for one process"):
        Recipe.read("bow_cnn", {"training.accumulate": 2, "training.devices": 2})


def assert_same_weights(one, other):
    weights = one.network.state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in other.network.state_dict().items())
