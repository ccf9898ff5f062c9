"""A cross-encoder's folder that runs without torch: pairs of texts in, one score per pair out."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from askalike import InputError
from askalike.plugin.commands import format_count
from askalike.plugin.features import Array, Floats32, Ints
from askalike.plugin.models import (
    Bits,
    BuiltLayers,
    Transformer,
    batches_of_equal_length,
    map_tensors,
    open_tokenizer,
    read_json,
    read_text_limits,
    to_float32,
)

BATCH = 32
HEADS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "bert": (("bert.pooler.dense", "tanh"), ("classifier", "")),
    "roberta": (("classifier.dense", "tanh"), ("classifier.out_proj", "")),
    "xlm-roberta": (("classifier.dense", "tanh"), ("classifier.out_proj", "")),
    "camembert": (("classifier.dense", "tanh"), ("classifier.out_proj", "")),
    "distilbert": (("pre_classifier", "relu"), ("classifier", "")),
}
"""model_type → the linear maps from the first token's state to the label, each with its activation."""
WITHOUT_A_CLASS = ("TokenizersBackend", "PreTrainedTokenizerFast")
"""Tokenizers without a model-specific class in transformers; by default they have no token types."""


class OnnxPairModel:
    """A model for inference. A pair's score depends neither on the other pairs nor on threads.

    Raises InputError for a folder that cannot be run, SettingsError if packages are missing.
    """

    def __init__(self, folder: Path, bits: Bits) -> None:
        config = read_json(folder / "config.json")
        tensors = map_tensors(folder)
        transformer = Transformer(config, tensors, folder)
        kind = str(config.get("model_type"))
        if kind not in HEADS:
            raise InputError(f"{folder}: model_type = {kind!r}; expected one of {', '.join(HEADS)}")
        self._head = [(_read(tensors, name, folder), after) for name, after in HEADS[kind]]
        if len(self._head[-1][0][1]) != 1:
            labels = format_count(len(self._head[-1][0][1]), "label")
            raise InputError(f"{folder}: it has {labels}; expected a cross-encoder with one label")
        self._layers = BuiltLayers(transformer, bits)
        self._tokenizer = open_tokenizer(folder / "tokenizer.json")
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(read_text_limits(folder, transformer.max_tokens).max_tokens)
        self._numbers_texts = _numbers_texts(folder)

    def score(self, pairs: Sequence[tuple[str, str]]) -> Floats32:
        """Return the label's probability for each pair, (pairs,)."""
        encodings = self._tokenizer.encode_batch(list(pairs))
        scores = np.zeros(len(pairs), np.float32)
        for places in batches_of_equal_length([one.ids for one in encodings], BATCH):
            batch = [encodings[n] for n in places]
            types = np.array([one.type_ids for one in batch]) if self._numbers_texts else None
            scores[places] = self._score_batch(np.array([one.ids for one in batch]), types)
        return scores

    def _score_batch(self, ids: Ints, types: Ints | None) -> Floats32:
        values: Floats32 = self._layers.run(ids, types)[:, 0]
        for (weight, bias), after in self._head:
            values = values @ weight.T + bias
            values = np.tanh(values) if after == "tanh" else np.maximum(values, 0) if after == "relu" else values
        return np.asarray(1 / (1 + np.exp(-values[:, 0])), np.float32)


def _numbers_texts(folder: Path) -> bool:
    """Return whether the model uses token types, which number the two texts."""
    path = folder / "tokenizer_config.json"
    described = read_json(path) if path.exists() else {}
    if names := described.get("model_input_names"):
        return "token_type_ids" in names
    return described.get("tokenizer_class") not in WITHOUT_A_CLASS


def _read(tensors: Mapping[str, Array], name: str, folder: Path) -> tuple[Floats32, Floats32]:
    try:
        return to_float32(tensors[f"{name}.weight"]), to_float32(tensors[f"{name}.bias"])
    except KeyError as missing:
        raise InputError(f"{folder}: the weights have no tensor {missing}; expected a cross-encoder") from None
