"""A sentence-transformers folder that runs without torch: texts in, vectors out."""

import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from askalike.encoders.onnx.architectures import ARCHITECTURES, Transformer
from askalike.encoders.onnx.graph import find_exported, round_weights
from askalike.encoders.onnx.layers import Bits, BuiltLayers, open_session
from askalike.encoders.onnx.modules import Step, is_mean_of_tokens, read_json, read_steps
from askalike.encoders.onnx.weights import WEIGHT_FILES, map_tensors
from askalike.text.subwords import open_tokenizer

MAX_BATCH_TOKENS = 2_048
"""Maximum number of tokens of a batch: a layer's results then stay in the processor's cache."""
STATE_OUTPUTS = ("last_hidden_state", "token_embeddings")
TOKEN = re.compile(r"\S+")
LONGEST_TEXT = 512
"""Maximum number of tokens of a text if the folder does not specify it."""

Array = NDArray[np.float32]


class OnnxModel:
    """A model for inference. A text's vector depends neither on other texts of its batch nor on threads.

    bits: 32, or 8 for quantised weights. threads: the number of batches computed in parallel; by default the number of
    processors. Raises InputError for a folder that cannot be run, SettingsError if packages are missing.
    """

    def __init__(self, folder: Path, bits: Bits = 8, threads: int | None = None) -> None:
        place, steps = read_steps(folder)
        layers = _open_layers(place, bits)
        tokenizer = open_tokenizer(place / "tokenizer.json", extra="encoder")
        self._take_parts(layers, steps, tokenizer, read_text_limits(place, layers.max_tokens), threads)

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
        self._threads = threads or _count_processors()
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(limits.max_tokens)
        self._lowercase = limits.lowercase

    def encode(self, texts: Sequence[str], batch: int = 32) -> Array:
        """Return the vectors of texts, (texts, dim). batch: the maximum number of texts computed together."""
        rows = self._tokenize(texts)
        batches = list(batches_of_equal_length(rows, batch))
        encoded = self._encode_all([[rows[n] for n in places] for places in batches])
        vectors = np.zeros((len(rows), encoded[0].shape[1] if encoded else self.dim), np.float32)
        for places, values in zip(batches, encoded, strict=True):
            vectors[places] = values
        return vectors

    @property
    def averages_tokens(self) -> bool:
        """Whether a text's vector is the mean of its tokens' states, normalised or not."""
        return is_mean_of_tokens(self._steps)

    def encode_words(self, text: str) -> tuple[list[str], Array]:
        """Return the words of a text, split at white space, and the sum of each word's tokens' states: (words, dim).

        Only for a model that averages tokens. Words beyond its maximum length get zeros; special tokens belong to no
        word.
        """
        [encoding] = self._tokenizer.encode_batch([text.lower() if self._lowercase else text])
        words = list(TOKEN.finditer(text))
        sums = np.zeros((len(words), self.dim), np.float32)
        tokens = [n for n, is_added in enumerate(encoding.special_tokens_mask) if not is_added]
        if words and tokens:
            [states] = self._layers.run(np.array([encoding.ids], np.int64))
            ends = [encoding.offsets[n][1] for n in tokens]
            places = np.searchsorted([word.start() for word in words], ends) - 1
            np.add.at(sums, np.maximum(places, 0), states[tokens])
        return [word[0] for word in words], sums

    @cached_property
    def dim(self) -> int:
        """The number of components of a vector."""
        return int(self._encode_batch([[0]]).shape[1])

    def _tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text's tokens, including special tokens."""
        texts = [text.strip().lower() if self._lowercase else text.strip() for text in texts]
        return [encoding.ids for encoding in self._tokenizer.encode_batch(texts)]

    def _encode_all(self, batches: Sequence[Sequence[Sequence[int]]]) -> list[Array]:
        if min(self._threads, len(batches)) <= 1:
            return list(map(self._encode_batch, batches))
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self._encode_batch, batches))

    def _encode_batch(self, rows: Sequence[Sequence[int]]) -> Array:
        values = self._layers.run(np.array(rows, np.int64))
        for step in self._steps:
            values = step(values)
        return values


class Layers(Protocol):
    """Computes the last layer's states from token ids."""

    max_tokens: int | None
    """The maximum number of tokens of a text; None if only the folder specifies it."""

    def run(self, ids: NDArray[np.int64]) -> Array:
        """Return the states (texts, tokens, hidden) of ids (texts, tokens)."""


class ExportedLayers:
    """The graph in the folder. One that is already quantised runs unchanged, one text at a time."""

    def __init__(self, path: Path, bits: Bits) -> None:
        self.max_tokens: int | None = None
        self._session = open_session(str(path) if bits == 32 else round_weights(path))
        self._inputs = [described.name for described in self._session.get_inputs()]
        outputs = [described.name for described in self._session.get_outputs()]
        self._output = next((name for name in STATE_OUTPUTS if name in outputs), outputs[0])

    def run(self, ids: NDArray[np.int64]) -> Array:
        """See Layers.run."""
        return np.concatenate([self._run_one(row[None]) for row in ids])

    def _run_one(self, ids: NDArray[np.int64]) -> Array:
        known = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        states: Array = self._session.run([self._output], {name: known[name] for name in self._inputs})[0]
        return states


def _open_layers(place: Path, bits: Bits) -> Layers:
    """Open the layers as built here, which is faster, or else the folder's own graph."""
    config = read_json(place / "config.json")
    exported = find_exported(place)
    if exported and not (config.get("model_type") in ARCHITECTURES and any(place.glob(WEIGHT_FILES))):
        return ExportedLayers(exported, bits)
    return BuiltLayers(Transformer(config, map_tensors(place), place), bits)


class TextLimits(NamedTuple):
    """Maximum number of tokens of a text, special tokens included, and whether it is lower-cased."""

    max_tokens: int
    lowercase: bool


def read_text_limits(place: Path, max_positions: int | None) -> TextLimits:
    """Return the limits of the model in a folder. max_positions: the limit of its architecture, if any."""
    files = (place / "sentence_bert_config.json", place / "tokenizer_config.json")
    own, tokenizer = (read_json(path) if path.exists() else {} for path in files)
    limits = [own.get("max_seq_length") or tokenizer.get("model_max_length") or LONGEST_TEXT]
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


def _count_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
