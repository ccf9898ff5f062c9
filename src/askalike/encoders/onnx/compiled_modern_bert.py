"""ModernBERT's layers in 8 bits, compiled to machine code; see `compiled_layers`."""

import numpy as np
from numpy.typing import NDArray

from askalike.encoders.onnx.architectures import Affine
from askalike.encoders.onnx.attention import attend
from askalike.encoders.onnx.byte_products import multiply, round_rows
from askalike.encoders.onnx.compiled_layers import TOKENS, LayerWeights, Workspace, make_workspace, pack_layers
from askalike.encoders.onnx.layer_steps import KINDS, activate, add, normalise
from askalike.encoders.onnx.modern_bert import ModernBert
from askalike.native.compiled import Matrix, compiled, inlined

Array = NDArray[np.float32]


@inlined(fastmath=True)
def rotate(joined: Matrix[np.float32], heads: int, waves: Matrix[np.float32]) -> None:
    """Rotate the queries and keys of one text by their positions.

    joined: queries, keys and values, (tokens, 3 x hidden). waves: the cosines, then the sines of a position's angles.
    """
    half = waves.shape[1] // 2
    for token in range(len(joined)):
        own, turns = joined[token], waves[token]
        for head in range(2 * heads):
            first = 2 * half * head
            for i in range(half):
                left, right = own[first + i], own[first + half + i]
                own[first + i] = left * turns[i] - right * turns[half + i]
                own[first + half + i] = right * turns[i] + left * turns[half + i]


@inlined(fastmath=True)
def gate(inner: Matrix[np.float32], activation: int) -> None:
    """Multiply the activations of the first half of each row by its second half."""
    half = inner.shape[1] // 2
    for row in range(len(inner)):
        own, gates = inner[row, :half], inner[row, half:]
        activate(own, activation)
        for i in range(half):
            own[i] *= gates[i]


@compiled(fastmath=True)
def run_modern_layers(
    weights: LayerWeights,
    heads: int,
    activation: int,
    epsilon: float,
    tokens: int,
    is_local: NDArray[np.int64],
    waves: Matrix[np.float32],
    bias: Matrix[np.float32],
    workspace: Workspace,
    normed: Matrix[np.float32],
) -> None:
    """Replace the embeddings in `workspace.states` by the last layer's states.

    tokens: the length of each text. waves: see `rotate`, of layers with full attention, then of local ones. bias: of
    local layers, see `attend`. `change` is initially zero. normed: a buffer for normalised states.
    """
    states, joined, change, rounded = workspace.states, workspace.joined, workspace.change, workspace.rounded
    inner, norms = workspace.inner, weights.norms
    hidden, gated, small = states.shape[1], inner.shape[1] // 2, np.float32(epsilon)
    normalise(states, norms[0], norms[1], small, states)
    for layer in range(len(is_local)):
        place, local = 4 * layer, is_local[layer]
        if layer:
            normalise(states, norms[place], norms[place + 1], small, normed)
            round_rows(normed, rounded)
        else:
            round_rows(states, rounded)
        multiply(rounded, hidden, weights.attention, layer, joined)
        for text in range(len(states) // tokens):
            begin, end = text * tokens, (text + 1) * tokens
            rotate(joined[begin:end], heads, waves[local * tokens :])
            own = bias[: local * len(bias)]
            attend(joined[begin:end], heads, own, workspace.keys, workspace.scores, change[begin:end])
        round_rows(change, rounded)
        multiply(rounded, hidden, weights.attention_output, layer, change)
        add(states, change)
        normalise(states, norms[place + 2], norms[place + 3], small, normed)
        round_rows(normed, rounded)
        multiply(rounded, hidden, weights.intermediate, layer, inner)
        gate(inner, activation)
        round_rows(inner[:, :gated], rounded)
        multiply(rounded, gated, weights.output, layer, change)
        add(states, change)
    normalise(states, norms[len(norms) - 2], norms[len(norms) - 1], small, states)


class CompiledModernBert:
    """Runs ModernBERT's layers; see LayerRunner."""

    def __init__(self, model: ModernBert) -> None:
        layers = list(model.layers())
        norms: list[Affine] = [model.embedding_norm, layers[0].norm]
        norms += [norm for layer in layers[1:] for norm in (layer.attention_norm, layer.norm) if norm]
        self._weights = pack_layers(layers, [*norms, model.final_norm])
        self._model, self._activation = model, KINDS.index(model.activation)
        self._is_local = np.array([layer.is_local for layer in layers], np.int64)

    def run(self, embedded: Array, bias: Array | None) -> Array:
        """See LayerRunner.run."""
        tokens, model = embedded.shape[1], self._model
        tables = [np.concatenate(model.waves(is_local, tokens), 1) for is_local in (False, True)]
        waves = np.concatenate(tables).astype(np.float32)
        added = np.zeros((0, tokens), np.float32)
        if bias is not None and tokens > model.reach + 1:
            added = np.tile(bias[0, 0], (model.heads, 1))
        step = max(1, TOKENS // tokens)
        states = embedded.copy()
        for begin in range(0, len(states), step):
            own = states[begin : begin + step]
            workspace = make_workspace(own, model.heads, 2 * model.sizes[1])
            run_modern_layers(
                self._weights, model.heads, self._activation, model.epsilon, tokens, self._is_local, waves, added,
                workspace, np.empty_like(workspace.states),
            )  # fmt: skip
        return states
