"""Layers in machine code: what the graph in 8 bits computes, to rounding."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from needs import need

need("onnxruntime", "onnx")

from askalike.core.errors import SettingsError  # noqa: E402
from askalike.encoders.transformer import compiled_layers  # noqa: E402
from askalike.encoders.transformer.architectures import (  # noqa: E402
    Affine,
    ModernBert,
    Transformer,
)
from askalike.encoders.transformer.compiled_layers import (  # noqa: E402
    BuiltLayers,
    CompiledLayers,
    CompiledModernBert,
    fits,
    open_runner,
)
from askalike.encoders.transformer.graph import GraphLayers  # noqa: E402
from askalike.encoders.transformer.layer_steps import (  # noqa: E402  # noqa: E402
    ByteRows,
    ByteWeights,
    exponential,
    gelu,
    gelu_by_tanh,
    make_rows,
    multiply,
    pack_weights,
    round_rows,
)
from askalike.encoders.transformer.weights import BLOCK_SIZE, quantise  # noqa: E402
from askalike.native import simd  # noqa: E402
from askalike.native.compiled import CACHE_VARIABLE, Matrix, compiled  # noqa: E402
from askalike.native.simd import has_feature  # noqa: E402

HIDDEN, INNER, LAYERS, WORDS = 64, 192, 2, 50
CONFIG = {"num_attention_heads": 4, "num_hidden_layers": LAYERS}


def make_transformer(kind: str, activation: str, hidden: int = HIDDEN) -> Transformer:
    random = np.random.default_rng(5)
    sizes = {
        "embeddings.word_embeddings": (WORDS, hidden), "embeddings.position_embeddings": (600, hidden),
        "embeddings.LayerNorm": (hidden,), "encoder.relative_attention_bias": (32, 4),
    }  # fmt: skip
    attention = "attention.attn." if kind == "mpnet" else "attention.self."
    names = [attention + name for name in (("q", "k", "v") if kind == "mpnet" else ("query", "key", "value"))]
    output = "attention.attn.o" if kind == "mpnet" else "attention.output.dense"
    norm = "attention.LayerNorm" if kind == "mpnet" else "attention.output.LayerNorm"
    of_layer = dict.fromkeys([*names, output], (hidden, hidden)) | {
        "intermediate.dense": (INNER, hidden), "output.dense": (hidden, INNER), norm: (hidden,),
        "output.LayerNorm": (hidden,),
    }  # fmt: skip
    sizes |= {f"encoder.layer.{n}.{name}": size for n in range(LAYERS) for name, size in of_layer.items()}
    if kind != "mpnet":
        del sizes["encoder.relative_attention_bias"]
    tensors = {f"{name}.weight": 0.3 * random.normal(size=size) for name, size in sizes.items()}
    tensors |= {f"{name}.bias": 0.3 * random.normal(size=size[0]) for name, size in sizes.items()}
    as_stored = {name: tensor.astype(np.float32) for name, tensor in tensors.items()}
    return Transformer({**CONFIG, "model_type": kind, "hidden_act": activation}, as_stored, Path("."))


def make_modern_bert(activation: str) -> ModernBert:
    random = np.random.default_rng(5)
    sizes = {"embeddings.tok_embeddings": (WORDS, HIDDEN), "embeddings.norm": (HIDDEN,), "final_norm": (HIDDEN,)}
    of_layer = {
        "attn_norm": (HIDDEN,), "attn.Wqkv": (3 * HIDDEN, HIDDEN), "attn.Wo": (HIDDEN, HIDDEN), "mlp_norm": (HIDDEN,),
        "mlp.Wi": (2 * INNER, HIDDEN), "mlp.Wo": (HIDDEN, INNER),
    }  # fmt: skip
    sizes |= {f"layers.{n}.{name}": size for n in range(2 * LAYERS) for name, size in of_layer.items()}
    tensors = {f"{name}.weight": (0.3 * random.normal(size=size)).astype(np.float32) for name, size in sizes.items()}
    config = {"num_attention_heads": 4, "num_hidden_layers": 2 * LAYERS, "max_position_embeddings": 600}
    return ModernBert({**config, "hidden_activation": activation, "local_attention": 32}, tensors, Path("."))


def run_all(transformer: Transformer | ModernBert, ids: np.ndarray) -> list[np.ndarray]:
    """The states by machine code, by the graph in 8 bits, and in 32 bits."""
    bias = transformer.attention_bias(ids.shape[1])
    runners = open_runner(transformer, 8), GraphLayers(transformer, 8), GraphLayers(transformer, 32)
    return [runner.run(transformer.embed(ids), bias) for runner in runners]


@pytest.mark.parametrize(
    ("kind", "activation"), [("bert", "gelu"), ("bert", "gelu_new"), ("mpnet", "relu"), ("modernbert", "gelu")]
)
@pytest.mark.parametrize(("texts", "tokens"), [(1, 1), (3, 7), (40, 16), (2, 300)])
def test_states_are_as_near_as_the_graphs(kind, activation, texts, tokens):
    ids = np.random.default_rng(texts).integers(0, WORDS, (texts, tokens))
    transformer = make_modern_bert(activation) if kind == "modernbert" else make_transformer(kind, activation)
    states, graphs, exact = run_all(transformer, ids)
    error, usual = (np.sqrt(np.square(one - exact).mean()) for one in (states, graphs))
    scale = np.sqrt(np.square(exact).mean())
    assert error < (0.05 if kind == "modernbert" else 0.02) * scale
    assert error < 1.3 * usual + 1e-4 * scale


def test_states_of_a_text_depend_on_it_alone():
    transformer = make_transformer("bert", "gelu")
    layers = CompiledLayers(transformer)
    embedded = transformer.embed(np.random.default_rng(0).integers(0, WORDS, (90, 13)))
    together = layers.run(embedded, None)
    np.testing.assert_allclose(np.concatenate([layers.run(one[None], None) for one in embedded]), together, atol=1e-6)
    np.testing.assert_allclose(layers.run(embedded[::-1], None), together[::-1], atol=1e-6)


def test_states_in_python_are_those_of_machine_code(monkeypatch):
    transformer = make_transformer("bert", "gelu")
    embedded = transformer.embed(np.random.default_rng(0).integers(0, WORDS, (1, 3)))
    native = CompiledLayers(transformer).run(embedded, None)
    monkeypatch.setattr(compiled_layers, "run_layers", compiled_layers.run_layers.function)
    np.testing.assert_allclose(CompiledLayers(transformer).run(embedded, None), native, atol=0.02)


def test_embeddings_stay_as_they_are():
    transformer = make_transformer("bert", "gelu")
    embedded = transformer.embed(np.zeros((2, 3), np.int64))
    before = embedded.copy()
    CompiledLayers(transformer).run(embedded, None)
    np.testing.assert_array_equal(embedded, before)


@pytest.fixture(
    scope="module",
    params=[
        ("avx512vnni", "avx2"),
        pytest.param(("avx2",), marks=pytest.mark.long),
        pytest.param((), marks=pytest.mark.long),
    ],
    ids=["AVX-512", "AVX2", "any"],
)
def multiply_rounded(request, tmp_path_factory):
    """The products of rounded rows as a processor with these features computes them."""
    if missing := [feature for feature in request.param if not has_feature(feature)]:
        pytest.skip(f"this processor has no {missing[0]}")

    @compiled()
    def run(
        values: Matrix[np.float32], rows: ByteRows, weights: ByteWeights, layer: int, out: Matrix[np.float32]
    ) -> None:
        round_rows(values, rows)
        multiply(rows, values.shape[1], weights, layer, out)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(simd, "has_feature", request.param.__contains__)
        monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path_factory.mktemp("code")))
        yield run


@pytest.mark.parametrize("count", [1, 2, 5, 6, 7, 20])
def test_products_are_those_of_the_rounded_numbers(count, multiply_rounded):
    random = np.random.default_rng(count)
    maps = [Affine(*(random.normal(size=size).astype(np.float32) for size in ((128, 192), 128))) for _ in range(2)]
    values = random.normal(size=(count, 192)).astype(np.float32)
    values[0, :BLOCK_SIZE] = 0
    values[-1], maps[1].weight[:2] = 2.0, 3.0  # their products are the largest
    out, rows = np.empty((count, 128), np.float32), make_rows(count, 192)
    multiply_rounded(values, rows, pack_weights(maps), 1, out)
    restored = rows.steps.reshape(count, 3, BLOCK_SIZE) * rows.scales[..., None]
    assert (np.abs(restored.reshape(count, -1) - values) <= 0.5001 * np.repeat(rows.scales, BLOCK_SIZE, 1)).all()
    blocks = quantise(maps[1].weight)
    weights = (blocks.numbers.astype(np.float32) - 128) * blocks.scales[..., None]
    expected = restored.reshape(count, -1) @ weights.reshape(128, -1).T + maps[1].bias
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-4)


def test_functions_by_their_definitions():
    for value in np.linspace(-8, 8, 321, dtype=np.float32):
        normal = value * (1 + math.erf(value / math.sqrt(2))) / 2
        tangent = value * (1 + math.tanh(math.sqrt(2 / math.pi) * (value + 0.044715 * value**3))) / 2
        assert gelu(value) == pytest.approx(normal, abs=2e-6)
        assert gelu_by_tanh(value) == pytest.approx(tangent, abs=2e-6)
        assert exponential(-abs(value)) == pytest.approx(math.exp(-abs(value)), rel=2e-6)
    assert exponential(np.float32(-1e4)) == pytest.approx(0, abs=1e-20)


def test_layers_fit_modern_bert_too():
    assert isinstance(open_runner(make_modern_bert("gelu"), 8), CompiledModernBert)
    assert isinstance(open_runner(make_modern_bert("gelu"), 32), GraphLayers)


def test_other_sizes_and_weights_use_the_graph():
    transformer = make_transformer("bert", "gelu")
    assert isinstance(open_runner(transformer, 8), CompiledLayers)
    assert isinstance(open_runner(transformer, 32), GraphLayers)
    sizes = {64: True, 32: False, 48: False, 256: True}
    assert {hidden: fits(make_transformer("bert", "gelu", hidden)) for hidden in sizes} == sizes


@pytest.mark.parametrize("missing", ["onnx", "onnxruntime"])
def test_8_bit_layers_need_no_onnx(missing, monkeypatch):
    monkeypatch.delitem(sys.modules, "askalike.encoders.transformer.graph")
    monkeypatch.setitem(sys.modules, missing, None)
    transformer = make_transformer("bert", "gelu")
    assert BuiltLayers(transformer, 8).run(np.zeros((1, 3), np.int64)).shape == (1, 3, HIDDEN)
    with pytest.raises(SettingsError, match=rf"^{missing} is not installed: pip install 'askalike\[onnx\]'$"):
        BuiltLayers(transformer, 32)
