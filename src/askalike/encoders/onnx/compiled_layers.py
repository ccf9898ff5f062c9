"""A transformer's layers in 8 bits, compiled to machine code. The results are those of the graph of `graph`."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askalike.encoders.onnx.architectures import Affine, Layer, Transformer
from askalike.encoders.onnx.attention import attend
from askalike.encoders.onnx.byte_products import ByteRows, ByteWeights, make_rows, multiply, pack_weights, round_rows
from askalike.encoders.onnx.layer_steps import KINDS, activate, add_and_normalise
from askalike.encoders.onnx.modern_bert import ModernBert, ModernLayer
from askalike.encoders.onnx.weights import BLOCK_SIZE
from askalike.native.compiled import Matrix, compiled, prechecked
from askalike.native.simd import LANES, MAX_ROWS

TOKENS = 256
"""Number of tokens, in whole texts, that pass through all layers together, so that they stay in the cache."""

Array = NDArray[np.float32]


class LayerWeights(NamedTuple):
    """The weights of all layers. norms: per layer, weight and bias after attention, then those of the output."""

    attention: ByteWeights
    attention_output: ByteWeights
    intermediate: ByteWeights
    output: ByteWeights
    norms: Matrix[np.float32]


class Workspace(NamedTuple):
    """The buffers of the layers for some texts."""

    states: Matrix[np.float32]
    joined: Matrix[np.float32]
    change: Matrix[np.float32]
    inner: Matrix[np.float32]
    rounded: ByteRows
    keys: Matrix[np.float32]
    scores: Matrix[np.float32]


@compiled(fastmath=True)
def run_layers(
    weights: LayerWeights,
    heads: int,
    activation: int,
    epsilon: float,
    tokens: int,
    bias: Matrix[np.float32],
    workspace: Workspace,
) -> None:
    """Replace the sums of embeddings in `workspace.states` by the last layer's states.

    tokens: the length of each text. activation: see `activate`. bias: see `attend`. `change` is initially zero.
    """
    states, joined, change, rounded = workspace.states, workspace.joined, workspace.change, workspace.rounded
    norms = weights.norms
    hidden, small = states.shape[1], np.float32(epsilon)
    add_and_normalise(states, change, norms[0], norms[1], small)
    for layer in range(len(norms) // 4):
        round_rows(states, rounded)
        multiply(rounded, hidden, weights.attention, layer, joined)
        for text in range(len(states) // tokens):
            begin, end = text * tokens, (text + 1) * tokens
            attend(joined[begin:end], heads, bias, workspace.keys, workspace.scores, change[begin:end])
        round_rows(change, rounded)
        multiply(rounded, hidden, weights.attention_output, layer, change)
        add_and_normalise(states, change, norms[4 * layer + 2], norms[4 * layer + 3], small)
        round_rows(states, rounded)
        multiply(rounded, hidden, weights.intermediate, layer, workspace.inner)
        for row in range(len(states)):
            activate(workspace.inner[row], activation)
        round_rows(workspace.inner, rounded)
        multiply(rounded, workspace.inner.shape[1], weights.output, layer, change)
        add_and_normalise(states, change, norms[4 * layer + 4], norms[4 * layer + 5], small)


def fits(transformer: Transformer | ModernBert) -> bool:
    """Return whether a transformer's layers can be run this way: its sizes are whole blocks and vectors."""
    [hidden, inner] = transformer.sizes
    return hidden % BLOCK_SIZE == inner % BLOCK_SIZE == hidden // transformer.heads % LANES == 0


class CompiledLayers:
    """Runs a transformer's layers; see LayerRunner."""

    def __init__(self, transformer: Transformer) -> None:
        layers = transformer.layers()
        norms = [transformer.embedding_norm]
        norms += [norm for layer in layers for norm in (layer.attention_norm, layer.output_norm)]
        self._weights = pack_layers(layers, norms)
        self._heads, self._epsilon = transformer.heads, transformer.epsilon
        self._activation = KINDS.index(transformer.activation)
        _, self._inner = transformer.sizes

    def run(self, embedded: Array, bias: Array | None) -> Array:
        """See LayerRunner.run."""
        tokens = embedded.shape[1]
        added = np.zeros((0, 0), np.float32) if bias is None else bias.reshape(-1, tokens)
        step = max(1, TOKENS // tokens)
        states = embedded.copy()
        for begin in range(0, len(states), step):
            workspace = make_workspace(states[begin : begin + step], self._heads, self._inner)
            run_layers(self._weights, self._heads, self._activation, self._epsilon, tokens, added, workspace)
        return states


def pack_layers(layers: Sequence[Layer | ModernLayer], norms: Sequence[Affine]) -> LayerWeights:
    """Return the weights of all layers, with these normalisations in the order of their use."""
    maps = zip(
        *((each.attention, each.attention_output, each.intermediate, each.output) for each in layers), strict=True
    )
    attention, attention_output, intermediate, output = map(pack_weights, maps)
    stacked = np.stack([values for norm in norms for values in norm])
    return prechecked(LayerWeights(attention, attention_output, intermediate, output, stacked))


def make_workspace(states: Array, heads: int, inner: int) -> Workspace:
    """Return the layers' buffers for these texts, whose states are overwritten. inner: size of intermediate states."""
    texts, tokens, hidden = states.shape
    count, lanes = texts * tokens, tokens + -tokens % LANES
    joined, inside = (np.empty((count, columns), np.float32) for columns in (3 * hidden, inner))
    keys, scores = (np.zeros((rows, lanes), np.float32) for rows in (hidden // heads, MAX_ROWS))
    rounded, change = make_rows(count, max(hidden, inner)), np.zeros((count, hidden), np.float32)
    return Workspace(states.reshape(count, hidden), joined, change, inside, rounded, keys, scores)
