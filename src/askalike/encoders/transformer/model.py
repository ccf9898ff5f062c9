"""A sentence-transformers folder that runs without torch: texts in, vectors out, dense or sparse.

Some folders have no transformer but look tokens up in a table: of their vectors, whose mean is a text's (model2vec), or
of their weights.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from askalike.core.arrays import Floats32, Ints
from askalike.core.errors import InputError
from askalike.core.model_folders import MODULES_FILE
from askalike.core.parallel import count_processors
from askalike.encoders.transformer.architectures import READABLE, open_transformer
from askalike.encoders.transformer.compiled_layers import BuiltLayers
from askalike.encoders.transformer.modules import POOLINGS, Module, Step, is_sparse, read_json, read_modules, read_step
from askalike.encoders.transformer.weights import WEIGHT_FILES, Bits, map_tensors, to_float32
from askalike.text.subwords import open_tokenizer

MAX_BATCH_TOKENS = 2_048
"""Maximum number of tokens of a batch: a layer's results then stay in the processor's cache."""
TRANSFORMERS = ("Transformer", "MLMTransformer")
EXPORTED_FILES = ("onnx/model.onnx", "onnx/model*.onnx", "model.onnx")
LONGEST_TEXT = 512
"""Maximum number of tokens of a text if the folder does not specify it."""
MAX_TOKENS = 1 << 20
"""Tokenizers without a limit have one of thirty digits."""


class WordTable:
    """Reads texts by a table of vectors; model2vec may share rows among tokens, and weigh tokens."""

    max_tokens: int | None = None

    def __init__(self, folder: Path, model: Path) -> None:
        """folder: the module's. model: the whole model's. Raises InputError for weights without a table."""
        tensors = map_tensors(folder)
        vectors = tensors.get("embedding.weight", tensors.get("embeddings"))
        if vectors is None:
            raise InputError(f"{folder}: the weights have no tensor embedding.weight or embeddings")
        self._vectors, self._rows, self._weights = vectors, tensors.get("mapping"), tensors.get("weights")

    def run(self, ids: Ints) -> Floats32:
        """Return the vectors (texts, tokens, dim) of ids (texts, tokens)."""
        vectors = to_float32(self._vectors[ids if self._rows is None else self._rows[ids]])
        return vectors if self._weights is None else vectors * to_float32(self._weights[ids])[..., None]


class TokenWeights:
    """Reads texts by a table with a weight for each token of the vocabulary (SparseStaticEmbedding)."""

    max_tokens: int | None = None

    def __init__(self, folder: Path, model: Path) -> None:
        """folder: the module's. model: the whole model's, which may have the table as idf.json, by tokens."""
        named = str(read_json(folder / "config.json").get("path") or "")
        if named.endswith(".json"):
            self._weights = _read_table(folder, model)
            return
        tensors = map_tensors(folder)
        if "weight" not in tensors:
            raise InputError(f"{folder}: the weights have no tensor weight; expected a weight for each token")
        self._weights = to_float32(tensors["weight"])

    def run(self, ids: Ints) -> Floats32:
        """Return the weights of the tokens of texts, (texts, vocabulary), from ids (texts, tokens)."""
        vectors = np.zeros((len(ids), len(self._weights)), np.float32)
        np.put_along_axis(vectors, ids, self._weights[ids], 1)
        return vectors


TABLES: Mapping[str, "Callable[[Path, Path], Layers]"] = {
    "StaticEmbedding": WordTable,
    "SparseStaticEmbedding": TokenWeights,
}
"""Modules that look tokens up, without tokens that mark the beginning and the end."""


def _read_table(folder: Path, model: Path) -> Floats32:
    """Return the weight of each token from a file of weights by token."""
    path = next((p for p in (folder / "idf.json", model / "idf.json") if p.exists()), folder / "idf.json")
    by_token = read_json(path)
    ids = read_json(folder / "tokenizer.json").get("model", {}).get("vocab", {})
    weights = np.zeros(max(ids.values(), default=0) + 1, np.float32)
    for token, weight in by_token.items():
        if token in ids:
            weights[ids[token]] = weight
    return weights


class OnnxModel:
    """A model for inference. A text's vector depends neither on other texts of its batch nor on threads.

    bits: 32, or 8 for quantised weights. threads: the number of batches computed in parallel; by default the number of
    processors. role: of the texts, `query` or `document`, for folders that read them differently. Raises InputError for
    a folder that cannot be run, SettingsError if packages are missing.
    """

    is_sparse = False
    """Whether vectors are CSR arrays."""
    _marks_ends = True
    """Whether tokens mark the beginning and the end of a text."""

    def __init__(self, folder: Path, bits: Bits = 8, threads: int | None = None, role: str = "document") -> None:
        reader, *others = read_modules(folder, role)
        if reader.kind not in (*TRANSFORMERS, *TABLES):
            expected = ", ".join((*TRANSFORMERS, *TABLES))
            raise InputError(f"{folder / MODULES_FILE}: the first module is {reader.kind}; expected one of {expected}")
        self.is_sparse = is_sparse([reader, *others])
        self._marks_ends = reader.kind not in TABLES
        tokenizer = open_tokenizer(reader.place / "tokenizer.json")
        layers = _open_reader(reader, folder, bits, tokenizer)
        steps = [POOLINGS["mean"]] if reader.kind == "StaticEmbedding" else []
        for module in others:
            if module.kind == "SpladePooling":
                from askalike.encoders.transformer.graph import read_splade

                steps.append(read_splade(reader.place, module.place, bits))
            else:
                steps.append(read_step(module, folder))
        limits = read_text_limits(reader.place, layers.max_tokens)
        limits = TextLimits(None, False) if reader.kind == "StaticEmbedding" else limits
        self._take_parts(layers, steps, tokenizer, limits, threads)

    @classmethod
    def of_parts(
        cls, layers: "Layers", steps: Sequence[Step], tokenizer: Any, limits: "TextLimits", threads: int | None
    ) -> Self:
        """Return the model of these parts, for one that is not in a folder."""
        model = cls.__new__(cls)
        model._take_parts(layers, steps, tokenizer, limits, threads)
        return model

    def _take_parts(
        self, layers: "Layers", steps: Sequence[Step], tokenizer: Any, limits: "TextLimits", threads: int | None
    ) -> None:
        self._layers, self._steps, self._tokenizer = layers, steps, tokenizer
        self._threads = threads or count_processors()
        self._tokenizer.no_padding()
        if limits.max_tokens:
            self._tokenizer.enable_truncation(limits.max_tokens)
        self._lowercase = limits.lowercase

    def encode(self, texts: Sequence[str], batch: int = 32) -> Any:
        """Return the vectors of texts, (texts, dim), a CSR array if they are sparse, else float32.

        batch: the maximum number of texts computed together.
        """
        rows = self._tokenize(texts)
        batches = list(batches_of_equal_length(rows, batch))
        encoded = self._encode_all([[rows[n] for n in places] for places in batches])
        if self.is_sparse:
            return self._join_sparse(encoded, batches, len(rows))
        vectors = np.zeros((len(rows), encoded[0].shape[1] if encoded else self.dim), np.float32)
        for places, values in zip(batches, encoded, strict=True):
            vectors[places] = values
        return vectors

    def _join_sparse(self, encoded: Sequence[Any], batches: Sequence[Sequence[int]], count: int) -> Any:
        """Return the sparse vectors of batches in the order of the texts, zeros for texts that are in none."""
        from scipy import sparse  # slow to import

        places = list(chain.from_iterable(batches))
        missing = sorted({*range(count)}.difference(places))
        empty = sparse.csr_array((len(missing), self.dim), dtype=np.float32)
        return sparse.vstack([*encoded, empty], format="csr")[np.argsort([*places, *missing])]

    @cached_property
    def dim(self) -> int:
        """The number of components of a vector."""
        return int(self._encode_batch([[0]]).shape[1])

    def _tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text's tokens, including special tokens."""
        texts = [text.strip().lower() if self._lowercase else text.strip() for text in texts]
        return [encoding.ids for encoding in self._encode_tokens(texts)]

    def _encode_tokens(self, texts: Sequence[str]) -> Any:
        if len(texts) == 1:  # a batch wakes other threads
            return [self._tokenizer.encode(texts[0], add_special_tokens=self._marks_ends)]
        return self._tokenizer.encode_batch(list(texts), add_special_tokens=self._marks_ends)

    def _encode_all(self, batches: Sequence[Sequence[Sequence[int]]]) -> list[Any]:
        if min(self._threads, len(batches)) <= 1:
            return list(map(self._encode_batch, batches))
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self._encode_batch, batches))

    def _encode_batch(self, rows: Sequence[Sequence[int]]) -> Any:
        values = self._layers.run(np.array(rows, np.int64))
        for step in self._steps:
            values = step(values)
        if not self.is_sparse:
            return values
        from scipy import sparse

        return sparse.csr_array(values)


class Layers(Protocol):
    """Computes the last layer's states from token ids."""

    max_tokens: int | None
    """The maximum number of tokens of a text; None if only the folder specifies it."""

    def run(self, ids: Ints) -> Floats32:
        """Return the states (texts, tokens, hidden) of ids (texts, tokens)."""


def _open_reader(module: Module, folder: Path, bits: Bits, tokenizer: Any) -> Layers:
    """Open the first module of a folder: a table, a transformer built here, which is faster, or its own graph."""
    if module.kind in TABLES:
        return TABLES[module.kind](module.place, folder)
    config = read_json(module.place / "config.json")
    exported = find_exported(module.place)
    if exported and not (config.get("model_type") in READABLE and any(module.place.glob(WEIGHT_FILES))):
        from askalike.encoders.transformer.graph import ExportedLayers

        return ExportedLayers(exported, bits, lambda text: tokenizer.encode(text).ids)
    return BuiltLayers(open_transformer(config, map_tensors(module.place), module.place), bits)


def find_exported(folder: Path) -> Path | None:
    """Return the folder's graph: the one in 32 bits if there are several; None if there is none."""
    files = (path for pattern in EXPORTED_FILES for path in sorted(folder.glob(pattern)))
    return next(files, None)


class TextLimits(NamedTuple):
    """Maximum number of tokens of a text, special tokens included, and whether it is lower-cased.

    Without a maximum, it is that of the tokenizer's own file.
    """

    max_tokens: int | None
    lowercase: bool


def read_text_limits(place: Path, max_positions: int | None) -> TextLimits:
    """Return the limits of the model in a folder. max_positions: the limit of its architecture, if any."""
    files = (place / "sentence_bert_config.json", place / "tokenizer_config.json")
    own, tokenizer = (read_json(path) if path.exists() else {} for path in files)
    limits = [own.get("max_seq_length") or min(tokenizer.get("model_max_length") or LONGEST_TEXT, MAX_TOKENS)]
    limits += [max_positions] if max_positions else []
    return TextLimits(int(min(limits)), bool(own.get("do_lower_case")))


def batches_of_equal_length(rows: Sequence[Sequence[int]], batch: int) -> Iterator[list[int]]:
    """Yield the positions of texts with equal numbers of tokens, which need no padding, except texts without tokens."""
    places: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(len(row), []).append(place)
    for length, same in sorted(places.items()):
        size = max(1, min(batch, MAX_BATCH_TOKENS // length)) if length else len(same)
        for begin in range(0, len(same) if length else 0, size):
            yield same[begin : begin + size]
