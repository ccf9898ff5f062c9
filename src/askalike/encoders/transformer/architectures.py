"""Transformers read from their weights: the names of the tensors for each `model_type` of a config.json.

ModernBERT (Warner et al. 2024) is the other kind: its layers normalise first, have no biases, gate their intermediate
states (GeGLU), and rotate queries and keys by their positions. Only some layers attend to the whole text, the others to
the tokens nearby.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from askalike.core.arrays import Array, Floats32, Ints
from askalike.core.errors import InputError
from askalike.encoders.transformer.weights import to_float32

ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu"}
"""Activation's name in config.json → exact GELU, its approximation by tanh, or ReLU."""
WORDS = "embeddings.word_embeddings.weight"
RELATIVE_BUCKETS, MAX_RELATIVE_DISTANCE = 32, 128

MODERN_WORDS = "embeddings.tok_embeddings.weight"
FULL, SLIDING = "full_attention", "sliding_attention"
THETA = {FULL: ("global_rope_theta", 160_000.0), SLIDING: ("local_rope_theta", 10_000.0)}
"""Kind of layer → the older key of its longest wavelength, and the default."""
FAR = np.float32(-1e30)
"""Added to the score of a token that is too far away."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """The names of a layer's tensors, and the numbering of positions.

    layer: the prefix of the names of layer {}. positions_after_padding: whether position numbers start after the
    padding id. keys: the names in config.json of hidden size, heads and layers, and of the activation.
    """

    layer: str = "encoder.layer.{}."
    query: str = "attention.self.query"
    key: str = "attention.self.key"
    value: str = "attention.self.value"
    attention_output: str = "attention.output.dense"
    attention_norm: str = "attention.output.LayerNorm"
    intermediate: str = "intermediate.dense"
    output: str = "output.dense"
    output_norm: str = "output.LayerNorm"
    positions_after_padding: bool = False
    keys: tuple[str, str, str] = ("num_attention_heads", "num_hidden_layers", "hidden_act")


_ROBERTA = Architecture(positions_after_padding=True)
ARCHITECTURES: Mapping[str, Architecture] = {
    "bert": Architecture(),
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "distilbert": Architecture(
        "transformer.layer.{}.", "attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin",
        "sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm",
        keys=("n_heads", "n_layers", "activation"),
    ),
    "mpnet": Architecture(
        "encoder.layer.{}.", "attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o",
        "attention.LayerNorm", positions_after_padding=True,
    ),
}  # fmt: skip
"""Architectures of BERT's kind."""
MODERN_BERT = "modernbert"
READABLE = (*ARCHITECTURES, MODERN_BERT)
"""Values of `model_type` that can be built from weights. Others need an ONNX file in the folder."""


class Affine(NamedTuple):
    """A linear map's weights (outputs, inputs) and biases (outputs), or a normalisation's scales and biases."""

    weight: Floats32
    bias: Floats32


class Layer(NamedTuple):
    """The weights of one layer. attention: query, key and value as one map."""

    attention: Affine
    attention_output: Affine
    attention_norm: Affine
    intermediate: Affine
    output: Affine
    output_norm: Affine


class FolderWeights:
    """The settings and the tensors of a model's folder, with the vectors of the words as they are stored.

    words: the name of their tensor.
    """

    def __init__(self, config: Mapping[str, Any], tensors: Mapping[str, Array], folder: Path, words: str) -> None:
        self._config, self._tensors, self._folder = config, tensors, folder
        self._prefix = find_prefix(tensors, words)
        self.word_vectors = self._tensor(words)

    def _tensor(self, name: str) -> Array:
        try:
            return self._tensors[self._prefix + name]
        except KeyError:
            raise InputError(f"{self._folder}: the weights have no tensor {self._prefix}{name}") from None

    def _setting(self, name: str) -> int:
        try:
            return int(self._config[name])
        except KeyError:
            place = self._folder / "config.json"
            raise InputError(f"{place}: no {name}; expected one in a transformer's config") from None


class Transformer(FolderWeights):
    """A transformer's weights, under the same names for all architectures.

    config: the content of config.json. Raises InputError for an unknown architecture or setting, and for weights with a
    missing tensor.
    """

    def __init__(self, config: Mapping[str, Any], tensors: Mapping[str, Array], folder: Path) -> None:
        place = folder / "config.json"
        self._architecture = _find_architecture(config, place)
        super().__init__(config, tensors, folder, WORDS)
        heads, layers, activation = self._architecture.keys
        self.heads, self.layer_count = self._setting(heads), self._setting(layers)
        self.epsilon = float(config.get("layer_norm_eps", 1e-12))
        self.activation = read_activation(config, activation, place)
        padding = int(config.get("pad_token_id") or 0)
        first = padding + 1 if self._architecture.positions_after_padding else 0
        self.position_vectors = to_float32(self._tensor("embeddings.position_embeddings.weight"))[first:]
        typed = f"{self._prefix}embeddings.token_type_embeddings.weight" in tensors
        self._types = to_float32(self._tensor("embeddings.token_type_embeddings.weight")) if typed else None
        if self._types is not None:
            self.position_vectors = self.position_vectors + self._types[0]
        """The vector added at each position of a text, (tokens, hidden)."""
        self.embedding_norm = self._affine("embeddings.LayerNorm")
        relative = f"{self._prefix}encoder.relative_attention_bias.weight"
        self._relative = to_float32(tensors[relative]) if relative in tensors else None

    @property
    def max_tokens(self) -> int:
        """The number of positions."""
        return len(self.position_vectors)

    @property
    def has_relative_positions(self) -> bool:
        """Whether attention depends on the distance between tokens."""
        return self._relative is not None

    @property
    def sizes(self) -> tuple[int, int]:
        """The size of a state, and of the intermediate layer between a layer's two linear maps."""
        name = f"{self._architecture.layer.format(0)}{self._architecture.intermediate}.weight"
        inner, hidden = self._tensor(name).shape
        return hidden, inner

    def embed(self, ids: Ints, types: Ints | None = None) -> Floats32:
        """Return the embeddings (texts, tokens, hidden) of token ids (texts, tokens), not normalised yet.

        types: (texts, tokens), 1 for the tokens of a second text; all 0 without it, or if the model has one type only.
        """
        embedded: Floats32 = to_float32(self.word_vectors[ids]) + self.position_vectors[: ids.shape[1]]
        if types is None or self._types is None or len(self._types) < 2:
            return embedded
        typed: Floats32 = embedded + (self._types[types] - self._types[0])
        return typed

    def attention_bias(self, tokens: int) -> Floats32 | None:
        """Return the bias of the attention scores between tokens, (1, heads, tokens, tokens), if there is one."""
        if self._relative is None:
            return None
        places = np.arange(tokens)
        buckets = _relative_buckets(places[None, :] - places[:, None])
        return np.ascontiguousarray(self._relative[buckets].transpose(2, 0, 1)[None])

    def layers(self) -> Sequence[Layer]:
        """The layers in order."""
        names = self._architecture
        layers = []
        for number in range(self.layer_count):
            prefix = names.layer.format(number)
            parts = [self._affine(prefix + name) for name in (names.query, names.key, names.value)]
            attention = Affine(np.concatenate([p.weight for p in parts]), np.concatenate([p.bias for p in parts]))
            rest = (names.attention_output, names.attention_norm, names.intermediate, names.output, names.output_norm)
            layers.append(Layer(attention, *(self._affine(prefix + name) for name in rest)))
        return layers

    def _affine(self, name: str) -> Affine:
        return make_affine(self._tensor(f"{name}.weight"), self._tensor(f"{name}.bias"))


def _find_architecture(config: Mapping[str, Any], place: Path) -> Architecture:
    name = str(config.get("model_type"))
    if name not in ARCHITECTURES:
        known = ", ".join(READABLE)
        raise InputError(f"{place}: model_type = {name!r}; expected one of {known}, or a folder with onnx/model.onnx")
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise InputError(f"{place}: position_embedding_type = {config['position_embedding_type']!r}; expected absolute")
    return ARCHITECTURES[name]


def read_activation(config: Mapping[str, Any], key: str | None, place: Path) -> str:
    """Return the activation that a key of config.json names, GELU if there is no key. Raises InputError."""
    name = str(config.get(key, "gelu")) if key else "gelu"
    if name not in ACTIVATIONS:
        raise InputError(f"{place}: {key} = {name!r}; expected one of {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]


def make_affine(weight: Array, bias: Array | None) -> Affine:
    """Return a map from tensors as they are stored; its biases are 0 without any."""
    outputs = np.zeros(len(weight), np.float32) if bias is None else to_float32(bias)
    return Affine(to_float32(weight), outputs)


def find_prefix(tensors: Mapping[str, Array], words: str) -> str:
    """Return the common prefix of all tensors' names, such as "bert." in the file of a model with a head.

    words: the name of the tensor of the words' vectors.
    """
    return next((name.removesuffix(words) for name in tensors if name.endswith(words)), "")


def _relative_buckets(distance: Ints) -> Ints:
    """Return the bucket of each relative position: one each for near ones, logarithmic for far ones (T5, MPNet)."""
    half = RELATIVE_BUCKETS // 2
    exact = half // 2
    near = np.abs(distance)
    scale = (half - exact) / np.log(MAX_RELATIVE_DISTANCE / exact)
    far = exact + (np.log(np.maximum(near, 1).astype(np.float32) / exact) * scale).astype(np.int64)
    return np.where(distance > 0, half, 0) + np.where(near < exact, near, np.minimum(far, half - 1))


class ModernLayer(NamedTuple):
    """The weights of one layer. attention: query, key and value as one map. intermediate: of the states and gates.

    attention_norm: None in the first layer. is_local: whether tokens attend to those nearby only.
    """

    attention_norm: Affine | None
    attention: Affine
    attention_output: Affine
    norm: Affine
    intermediate: Affine
    output: Affine
    is_local: bool


class ModernBert(FolderWeights):
    """The weights of a ModernBERT. Raises InputError for an unknown setting, and for a missing tensor.

    config: the content of config.json.
    """

    def __init__(self, config: Mapping[str, Any], tensors: Mapping[str, Array], folder: Path) -> None:
        super().__init__(config, tensors, folder, MODERN_WORDS)
        self._place = folder / "config.json"
        self.activation = read_activation(config, "hidden_activation", self._place)
        self.epsilon = float(config.get("norm_eps", 1e-5))
        self.heads, count = self._setting("num_attention_heads"), self._setting("num_hidden_layers")
        self.max_tokens = self._setting("max_position_embeddings")
        every = int(config.get("global_attn_every_n_layers") or 3)
        self._kinds = config.get("layer_types") or [SLIDING if n % every else FULL for n in range(count)]
        self.reach = int(config.get("local_attention", 128)) // 2
        """The distance to the farthest token that local attention sees."""
        self.embedding_norm, self.final_norm = self._affine("embeddings.norm"), self._affine("final_norm")

    @property
    def sizes(self) -> tuple[int, int]:
        """The size of a state, and of the intermediate states before they are gated."""
        hidden, inner = self._tensor("layers.0.mlp.Wo.weight").shape
        return hidden, inner

    def layers(self) -> Iterator[ModernLayer]:
        """Yield the layers in order."""
        for number, kind in enumerate(self._kinds):
            prefix = f"layers.{number}."
            names = ("attn.Wqkv", "attn.Wo", "mlp_norm", "mlp.Wi", "mlp.Wo")
            attention, attention_output, norm, intermediate, output = (self._affine(prefix + name) for name in names)
            before = self._affine(f"{prefix}attn_norm") if number else None
            yield ModernLayer(before, attention, attention_output, norm, intermediate, output, kind == SLIDING)

    def embed(self, ids: Ints, types: Ints | None = None) -> Floats32:
        """Return the embeddings (texts, tokens, hidden) of token ids (texts, tokens); there are no types of texts."""
        return to_float32(self.word_vectors[ids])

    def attention_bias(self, tokens: int) -> Floats32:
        """Return what is added to the scores between tokens in layers with local attention, (1, 1, tokens, tokens)."""
        places = np.arange(tokens)
        far = np.abs(places[:, None] - places) > self.reach
        return np.where(far, FAR, np.float32(0))[None, None]

    def waves(self, is_local: bool, tokens: int) -> tuple[Floats32, Floats32]:
        """Return the cosine and the sine of the angles of positions, (tokens, half of a head's size)."""
        kind = SLIDING if is_local else FULL
        key, default = THETA[kind]
        described = (self._config.get("rope_parameters") or {}).get(kind) or {}
        if (rope := described.get("rope_type", "default")) != "default" or self._config.get("rope_scaling"):
            raise InputError(f"{self._place}: rope_type = {rope!r} or a rope_scaling; expected default, and none")
        theta = float(described.get("rope_theta") or self._config.get(key) or default)
        size = self.word_vectors.shape[1] // self.heads
        frequencies = theta ** -(np.arange(0, size, 2, dtype=np.float32) / np.float32(size))
        angles = np.outer(np.arange(tokens, dtype=np.float32), frequencies.astype(np.float32))
        return np.cos(angles), np.sin(angles)

    def _affine(self, name: str) -> Affine:
        bias = self._tensors.get(f"{self._prefix}{name}.bias")
        return make_affine(self._tensor(f"{name}.weight"), bias)


def open_transformer(config: Mapping[str, Any], tensors: Mapping[str, Array], folder: Path) -> Transformer | ModernBert:
    """Return a transformer of its architecture. config: the content of config.json. Raises InputError."""
    kind = ModernBert if config.get("model_type") == MODERN_BERT else Transformer
    return kind(config, tensors, folder)
