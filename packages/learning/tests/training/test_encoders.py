"""The encoders that are trained keep to the contract of encoders."""

import pytest

from contracts.encoder_contract import *  # noqa: F403 (tests and their fixtures)

SETTINGS = {
    "doc2vec": {"min_texts": 1, "dim": 8, "epochs": 2, "sample": 0},
    "topics": {"min_texts": 1, "topics": 4, "epochs": 1},
    "neural": {
        "recipe": "bow_cnn", "dim": 8, "units": 8, "init": "skipgram", "init_epochs": 1, "min_texts": 1,
        "training.epochs": 1, "batch_size": 16, "random": 2, "dev_share": 0.2,
        "accelerator": "cpu", "signals": "duplicates", "min_pairs": 1,
    },
}  # fmt: skip


@pytest.fixture(scope="module", params=SETTINGS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def settings(name):
    return SETTINGS[name]
