"""askalike's encoders keep to the contract of encoders."""

import pytest

from askalike import encoders
from askalike.core import registry
from askalike.encoders import PACKAGED_ENCODERS, find_package
from askalike.tuning.models import distil
from contracts.encoder_contract import *  # noqa: F403 (tests and their fixtures)
from contracts.encoder_contract import fit_on
from small_models import WORDS, write_encoder

EXTRAS = {"pretrained": "onnxruntime", "asymmetric": "onnxruntime"}
EXTRAS |= {name: find_package(name).weights.module for name in PACKAGED_ENCODERS}


@pytest.fixture(scope="module", params=registry.builtin_names("encoder"))
def name(request):
    pytest.importorskip(EXTRAS.get(request.param, "numpy"), reason="needs an extra")
    return request.param


@pytest.fixture(scope="module")
def settings(name, tmp_path_factory):
    if name != "pretrained":
        return {}
    return {"encoder": str(write_encoder(tmp_path_factory.mktemp("models") / "small", list(dict.fromkeys(WORDS))))}


@pytest.fixture(scope="module")
def fitted(name, settings, archive, tmp_path_factory):
    """The encoder, and the folder of its model, if it has one."""
    if name != "asymmetric":
        return fit_on(archive, name, settings)
    teacher = write_encoder(tmp_path_factory.mktemp("models") / "teacher", list(dict.fromkeys(WORDS)))
    distil(archive, str(teacher), "fast", {"subwords": 0, "words": 64, "bigrams": 64})
    return encoders.open_encoder(archive.path / "models" / "fast"), archive.path / "models" / "fast"
