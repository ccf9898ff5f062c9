"""Runs a transformer's layers: compiled to machine code in 8 bits, else with ONNX Runtime; the results are the same."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from askalike.core.arrays import Floats32, Ints
from askalike.encoders.transformer.architectures import Affine, Layer, ModernBert, ModernLayer, Transformer
from askalike.encoders.transformer.layer_steps import (
    KINDS,
    ByteRows,
    ByteWeights,
    activate,
    add,
    add_and_normalise,
    attend,
    make_rows,
    multiply,
    normalise,
    pack_weights,
    round_rows,
)
from askalike.encoders.transformer.weights import BLOCK_SIZE, Bits
from askalike.native.compiled import Matrix, compiled, inlined, prechecked
from askalike.native.simd import LANES, MAX_ROWS

TOKENS = 256
"""Number of tokens, in whole texts, that pass through all layers together, so that they stay in the cache."""


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
    hidden = states.shape[1]
    small = np.float32(epsilon)
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

    def run(self, embedded: Floats32, bias: Floats32 | None) -> Floats32:
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


def make_workspace(states: Floats32, heads: int, inner: int) -> Workspace:
    """Return the layers' buffers for these texts, whose states are overwritten. inner: size of intermediate states."""
    texts, tokens, hidden = states.shape
    count, lanes = texts * tokens, tokens + -tokens % LANES
    joined, inside = (np.empty((count, columns), np.float32) for columns in (3 * hidden, inner))
    keys, scores = (np.zeros((rows, lanes), np.float32) for rows in (hidden // heads, MAX_ROWS))
    rounded = make_rows(count, max(hidden, inner))
    change = np.zeros((count, hidden), np.float32)
    return Workspace(states.reshape(count, hidden), joined, change, inside, rounded, keys, scores)


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
    is_local: Ints,
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
    hidden = states.shape[1]
    gated = inner.shape[1] // 2
    small = np.float32(epsilon)
    normalise(states, norms[0], norms[1], small, states)
    for layer in range(len(is_local)):
        place = 4 * layer
        local = is_local[layer]
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

    def run(self, embedded: Floats32, bias: Floats32 | None) -> Floats32:
        """See LayerRunner.run."""
        tokens = embedded.shape[1]
        model = self._model
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


class LayerRunner(Protocol):
    """Computes the last layer's states from the embeddings of texts of equal length."""

    def run(self, embedded: Floats32, bias: Floats32 | None) -> Floats32:
        """Return states (texts, tokens, hidden) from embeddings of that shape. bias: for relative positions, if any."""


class BuiltLayers:
    """Runs a transformer from token ids."""

    def __init__(self, transformer: Transformer | ModernBert, bits: Bits) -> None:
        self.max_tokens: int | None = transformer.max_tokens
        self._transformer = transformer
        self._runner = open_runner(transformer, bits)

    def run(self, ids: Ints, types: Ints | None = None) -> Floats32:
        """Return the states (texts, tokens, hidden) of ids (texts, tokens). types: see Transformer.embed."""
        transformer = self._transformer
        return self._runner.run(transformer.embed(ids, types), transformer.attention_bias(ids.shape[1]))


def open_runner(transformer: Transformer | ModernBert, bits: Bits) -> LayerRunner:
    """Return the fastest runner of a transformer's layers. Raises SettingsError if it needs the extra `onnx`."""
    if bits == 32 or not fits(transformer):
        from askalike.encoders.transformer.graph import GraphLayers

        return GraphLayers(transformer, bits)
    return CompiledModernBert(transformer) if isinstance(transformer, ModernBert) else CompiledLayers(transformer)
