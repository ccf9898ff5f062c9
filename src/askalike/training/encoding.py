"""Texts to vectors by a network: in batches of like lengths, in the order they came."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from askalike.nn import Network, TokenTrace
from askalike.text.features._features import FeatureRows
from askalike.types import VectorPart, Vectors

TOKENS_PER_BATCH = 1 << 15
"""Tokens in a batch, padding included: some 130 MB of windows at 1,000 units."""
TOKENS_PER_CPU_BATCH = 1 << 11
"""The same on a processor: what stays in its caches is worked out three to five times as fast."""
MAX_TEXTS_PER_BATCH = 4096

Indices = NDArray[np.int64]


@torch.inference_mode()
def encode_rows(network: Network, rows: FeatureRows, is_answer: NDArray[np.bool_]) -> Vectors:
    """The vectors of all rows, float32, on the device where the network is. `documents` tells their roles, (rows,)."""
    device = next(network.parameters()).device
    training = network.training
    network.eval()
    order = np.argsort(rows.lengths, kind="stable")
    found: list[list[Tensor]] = [[] for _ in network.metrics]
    tokens = TOKENS_PER_CPU_BATCH if device.type == "cpu" else TOKENS_PER_BATCH
    for numbers in _batch_by_length(order, rows.lengths[order], tokens):
        arrays = {**rows.batch(numbers), "document": is_answer[numbers]}
        parts = network.encode({name: torch.from_numpy(array).to(device) for name, array in arrays.items()})
        for kept, part in zip(found, parts, strict=True):
            kept.append(part.cpu())
    network.train(training)
    weights = network.part_weights().tolist()
    back = np.argsort(order, kind="stable")
    values = (_join_batches(kept, back) for kept in found)
    return Vectors(tuple(VectorPart(v, m, w) for v, m, w in zip(values, network.metrics, weights, strict=True)))


@torch.inference_mode()
def score_pairs(network: Network, vectors: Vectors, left: Indices, right: Indices) -> NDArray[np.float32]:
    """The network's own scores of some texts with others, by their numbers among the vectors, (left, right)."""
    device = next(network.parameters()).device
    parts = [torch.from_numpy(np.asarray(part.values, np.float32)).to(device) for part in vectors.parts]
    one, other = (tuple(part[rows] for part in parts) for rows in (left, right))
    return network.score_matrix(one, other).cpu().numpy()


@torch.inference_mode()
def trace_rows(network: Network, rows: FeatureRows) -> tuple[TokenTrace, ...] | None:
    """Which token makes each number of a few rows' vectors, part by part; None where the network cannot tell."""
    device = next(network.parameters()).device
    batch = rows.batch(np.arange(len(rows.lengths)))
    found = network.trace({name: torch.from_numpy(array).to(device) for name, array in batch.items()})
    return found and tuple(TokenTrace(t.columns.cpu(), t.values.cpu(), t.tokens.cpu(), t.context_size) for t in found)


def _batch_by_length(order: NDArray[np.int64], lengths: NDArray[np.int64], tokens: int) -> Iterator[NDArray[np.int64]]:
    """Texts of rising length, as many as fit; at least one text in each; one empty batch where there is none."""
    start = 0
    while start < len(order) or start == 0:
        size = (
            np.arange(1, min(MAX_TEXTS_PER_BATCH, len(order) - start) + 1)
            * lengths[start : start + MAX_TEXTS_PER_BATCH]
        )
        end = start + max(1, int(np.searchsorted(size, tokens, "right")))
        yield order[start:end]
        start = end


def _join_batches(
    parts: list[Tensor], original_order: NDArray[np.int64]
) -> NDArray[np.float32] | scipy.sparse.csr_array:
    if parts[0].is_sparse:
        return scipy.sparse.vstack([_to_csr(part) for part in parts], format="csr")[original_order]
    values: NDArray[np.float32] = torch.cat(parts).float().numpy()
    return values[original_order]


def _to_csr(part: Tensor) -> scipy.sparse.csr_array:
    row, column = part.indices().numpy()
    return scipy.sparse.coo_array((part.values().float().numpy(), (row, column)), shape=tuple(part.shape)).tocsr()
