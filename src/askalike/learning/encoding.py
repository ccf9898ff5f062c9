"""Encodes texts with a network, in batches of similar lengths."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from askalike.core.types import VectorPart, Vectors
from askalike.learning.examples import Indices
from askalike.learning.networks import Network, TokenTrace
from askalike.text.features import FeatureRows

TOKENS_PER_BATCH = 1 << 15
"""Maximum number of tokens in a batch, including padding: about 130 MB of windows with 1,000 units."""
TOKENS_PER_CPU_BATCH = 1 << 11
"""The same on a CPU: a batch that fits into its caches is three to five times as fast."""
MAX_TEXTS_PER_BATCH = 4096


@torch.inference_mode()
def encode_rows(network: Network, rows: FeatureRows, is_answer: NDArray[np.bool_]) -> Vectors:
    """Return the vectors of all rows, float32, computed on the network's device. is_answer: (rows,)."""
    device = next(network.parameters()).device
    training = network.training
    network.eval()
    order = np.argsort(rows.lengths, kind="stable")
    batches_by_part: list[list[Tensor]] = [[] for _ in network.metrics]
    tokens = TOKENS_PER_CPU_BATCH if device.type == "cpu" else TOKENS_PER_BATCH
    for numbers in _batch_by_length(order, rows.lengths[order], tokens):
        arrays = {**rows.batch(numbers), "document": is_answer[numbers]}
        parts = network.encode({name: torch.from_numpy(array).to(device) for name, array in arrays.items()})
        for batches, part in zip(batches_by_part, parts, strict=True):
            batches.append(part.cpu())
    network.train(training)
    weights = network.part_weights().tolist()
    original_order = np.argsort(order, kind="stable")
    values = (_join_batches(batches, original_order) for batches in batches_by_part)
    return Vectors(tuple(VectorPart(v, m, w) for v, m, w in zip(values, network.metrics, weights, strict=True)))


@torch.inference_mode()
def score_pairs(network: Network, vectors: Vectors, left: Indices, right: Indices) -> NDArray[np.float32]:
    """Return the network's scores of texts with others, (left, right). left, right: numbers of rows of the vectors."""
    device = next(network.parameters()).device
    parts = [torch.from_numpy(np.asarray(part.values, np.float32)).to(device) for part in vectors.parts]
    left_parts, right_parts = (tuple(part[rows] for part in parts) for rows in (left, right))
    return network.score_matrix(left_parts, right_parts).cpu().numpy()


@torch.inference_mode()
def trace_rows(network: Network, rows: FeatureRows) -> tuple[TokenTrace, ...] | None:
    """Return the token behind each component of the rows' vectors, for each part; see Network.trace."""
    device = next(network.parameters()).device
    batch = rows.batch(np.arange(len(rows.lengths)))
    traces = network.trace({name: torch.from_numpy(array).to(device) for name, array in batch.items()})
    return traces and tuple(TokenTrace(t.columns.cpu(), t.values.cpu(), t.tokens.cpu(), t.context_size) for t in traces)


def _batch_by_length(order: NDArray[np.int64], lengths: NDArray[np.int64], tokens: int) -> Iterator[NDArray[np.int64]]:
    """Yield batches of at least one text; one empty batch if there are no texts. order: by length."""
    start = 0
    while start < len(order) or start == 0:
        longest = lengths[start : start + MAX_TEXTS_PER_BATCH]
        size = np.arange(1, len(longest) + 1) * longest
        end = start + max(1, int(np.searchsorted(size, tokens, "right")))
        yield order[start:end]
        start = end


def _join_batches(parts: list[Tensor], order: NDArray[np.int64]) -> NDArray[np.float32] | scipy.sparse.csr_array:
    if parts[0].is_sparse:
        return scipy.sparse.vstack([_to_csr(part) for part in parts], format="csr")[order]
    values: NDArray[np.float32] = torch.cat(parts).float().numpy()
    return values[order]


def _to_csr(part: Tensor) -> scipy.sparse.csr_array:
    row, column = part.indices().numpy()
    return scipy.sparse.coo_array((part.values().float().numpy(), (row, column)), shape=tuple(part.shape)).tocsr()
