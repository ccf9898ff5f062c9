"""Approximate neighbours in large segments: a graph (HNSW, Malkov and Yashunin 2018; usearch) for each dense part.

A graph proposes candidates, which are then scored exactly. It is a file next to the part's rows and can be rebuilt from
them. Where usearch is not installed, or a part is sparse, the segment is searched exactly.
"""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from askalike.files import replace_file
from askalike.index.rows import Array
from askalike.index.vectors.parts import DensePart, PartSchema, StoredPart

CONNECTIVITY = 16
EXPANSION = 128
LINK_BYTES = 256
"""Bytes of a row in a graph besides its numbers."""
BATCH_ROWS = 65_536
USEARCH_METRICS = {"cosine": "ip", "dot": "ip", "euclidean": "l2sq"}  # rows of a cosine part have length 1


class HnswGraph:
    """The graph of one part of a segment, mapped into memory."""

    def __init__(self, path: Path, schema: PartSchema) -> None:
        self._index = _create_index(schema)
        self._index.view(str(path))

    def search(self, query: Array, count: int) -> Array:
        """Return about `count` rows nearest to the query, as positions."""
        self._index.expansion_search = max(EXPANSION, count)
        return np.asarray(self._index.search(query, count).keys, np.int64)


def open_graph(folder: Path, part_index: int, schema: PartSchema) -> HnswGraph | None:
    """Return the graph of a segment's part, None where it has none."""
    path = folder / f"graph-{part_index}.usearch"
    return HnswGraph(path, schema) if path.exists() and _usearch_installed() else None


def build_graphs(folder: Path, schemas: Sequence[PartSchema], parts: Sequence[StoredPart], exact_up_to: int) -> None:
    """Build the graphs that a segment lacks, if it has more than `exact_up_to` rows and no part is sparse."""
    if any(not isinstance(part, DensePart) for part in parts) or not _usearch_installed():
        return
    for at, (schema, part) in enumerate(zip(schemas, parts, strict=True)):
        path = folder / f"graph-{at}.usearch"
        if isinstance(part, DensePart) and len(part.sketch.scales) > exact_up_to and not path.exists():
            _build_graph(path, schema, part)


def graph_bytes_per_row(schemas: Sequence[PartSchema]) -> int:
    """Return the bytes that building the largest of the parts' graphs holds in memory for each row; 0 without any."""
    return max(2 * schema.dim for schema in schemas) + LINK_BYTES if _usearch_installed() else 0


def _build_graph(path: Path, schema: PartSchema, part: DensePart) -> None:
    graph = _create_index(schema)
    for start in range(0, len(part.sketch.scales), BATCH_ROWS):
        rows = np.arange(start, min(start + BATCH_ROWS, len(part.sketch.scales)))
        graph.add(rows, part.decode_rows(rows))
    with replace_file(path) as partial:
        graph.save(str(partial))


def _create_index(schema: PartSchema) -> Any:
    from usearch.index import Index

    return Index(
        ndim=schema.dim, metric=USEARCH_METRICS[schema.metric], dtype="f16", connectivity=CONNECTIVITY,
        expansion_add=EXPANSION, expansion_search=EXPANSION,
    )  # fmt: skip


def _usearch_installed() -> bool:
    return importlib.util.find_spec("usearch") is not None
