"""ModernBERT (Warner et al. 2024).

Its layers normalise first, have no biases, gate their intermediate states (GeGLU), and rotate queries and keys by their
positions. Only some layers attend to the whole text, the others to the tokens nearby.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askalike.core.errors import InputError
from askalike.encoders.onnx.architectures import Affine, FolderWeights, make_affine, read_activation
from askalike.encoders.onnx.weights import Tensor, to_float32

WORDS = "embeddings.tok_embeddings.weight"
FULL, SLIDING = "full_attention", "sliding_attention"
THETA = {FULL: ("global_rope_theta", 160_000.0), SLIDING: ("local_rope_theta", 10_000.0)}
"""Kind of layer → the older key of its longest wavelength, and the default."""
FAR = np.float32(-1e30)
"""Added to the score of a token that is too far away."""

Array = NDArray[np.float32]


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

    def __init__(self, config: Mapping[str, Any], tensors: Mapping[str, Tensor], folder: Path) -> None:
        super().__init__(config, tensors, folder, WORDS)
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

    def embed(self, ids: NDArray[np.int64], types: NDArray[np.int64] | None = None) -> Array:
        """Return the embeddings (texts, tokens, hidden) of token ids (texts, tokens); there are no types of texts."""
        return to_float32(self.word_vectors[ids])

    def attention_bias(self, tokens: int) -> Array:
        """Return what is added to the scores between tokens in layers with local attention, (1, 1, tokens, tokens)."""
        places = np.arange(tokens)
        far = np.abs(places[:, None] - places) > self.reach
        return np.where(far, FAR, np.float32(0))[None, None]

    def waves(self, is_local: bool, tokens: int) -> tuple[Array, Array]:
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
