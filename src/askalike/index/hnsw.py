"""Approximate neighbours in large segments: a graph (HNSW, Malkov and Yashunin 2018; usearch) for each dense part.

A graph proposes candidates, which are scored exactly; it is a file beside the part's rows and can be made again from
them. Where usearch is not installed, or a part is sparse, the segment is searched exactly.
"""

import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from askalike.index.segment import Array
from askalike.index.stored import Dense, Kind, Stored

CONNECTIVITY = 16
EXPANSION = 128
BLOCK = 65_536
METRICS = {"cosine": "ip", "dot": "ip", "euclidean": "l2sq"}  # rows of a cosine part are one long


class Graph:
    """The graph of one part of a segment, mapped into memory."""

    def __init__(self, path: Path, kind: Kind) -> None:
        self._index = _empty(kind)
        self._index.view(str(path))

    def nearest(self, query: Array, count: int) -> Array:
        """About the `count` rows nearest to the query, as positions."""
        self._index.expansion_search = max(EXPANSION, count)
        return np.asarray(self._index.search(query, count).keys, np.int64)


def opened(folder: Path, at: int, kind: Kind) -> Graph | None:
    """The graph of a segment's part, where it has one."""
    path = _file(folder, at)
    return Graph(path, kind) if path.exists() and _available() else None


def ensure(folder: Path, kinds: Sequence[Kind], stored: Sequence[Stored], exact_up_to: int) -> None:
    """Makes the graphs of a segment with more rows than that, unless it has them, or a part is sparse."""
    if any(not isinstance(part, Dense) for part in stored) or not _available():
        return
    for at, (kind, part) in enumerate(zip(kinds, stored, strict=True)):
        if isinstance(part, Dense) and len(part.sketch.scales) > exact_up_to and not _file(folder, at).exists():
            _build(_file(folder, at), kind, part)


def _build(path: Path, kind: Kind, part: Dense) -> None:
    graph = _empty(kind)
    for start in range(0, len(part.sketch.scales), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(part.sketch.scales)))
        graph.add(rows, part.values(rows))
    temporary = path.with_suffix(".new")
    graph.save(str(temporary))
    with open(temporary, "rb") as file:
        os.fsync(file.fileno())
    os.replace(temporary, path)


def _empty(kind: Kind) -> Any:
    from usearch.index import Index

    return Index(
        ndim=kind.dim, metric=METRICS[kind.metric], dtype="f16", connectivity=CONNECTIVITY,
        expansion_add=EXPANSION, expansion_search=EXPANSION,
    )  # fmt: skip


def _file(folder: Path, at: int) -> Path:
    return folder / f"graph-{at}.usearch"


def _available() -> bool:
    return importlib.util.find_spec("usearch") is not None
