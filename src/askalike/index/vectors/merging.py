"""Merges segments of vectors a few rows at a time: an archive's vectors need not fit into memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from askalike.index.rows import Array, find_distinct
from askalike.index.vectors.parts import PartSchema, SparsePart, StoredPart
from askalike.index.vectors.segment import VectorSegment, array_path, write_schemas

CHUNK_ROWS = 1 << 16
"""Rows copied at a time: 50 MB of 256 numbers."""


class RowOrigins(NamedTuple):
    """The source of each of n merged rows."""

    segments: NDArray[np.uint16]
    """(n): the place of its segment."""
    rows: NDArray[np.int64]
    """(n): its row there."""


def merge_segments(folder: Path, segments: Sequence[VectorSegment], schemas: Sequence[PartSchema]) -> None:
    """Write the live rows of several segments into a new directory as one, by ascending docid."""
    live = [np.flatnonzero(segment.live_mask) for segment in segments]
    docids = np.concatenate([segment.docids[rows] for segment, rows in zip(segments, live, strict=True)])
    order = np.argsort(docids, kind="stable")
    places = np.repeat(np.arange(len(live), dtype=np.uint16), list(map(len, live)))
    origins = RowOrigins(places[order], np.concatenate(live)[order])
    folder.mkdir(parents=True)
    np.save(array_path(folder, "numbers"), docids[order])
    _merge_columns(array_path(folder, "phrasings"), [segment.phrasings for segment in segments], origins)
    for at, schema in enumerate(schemas):
        parts = [segment.parts[at] for segment in segments]
        if schema.sparse:
            _merge_sparse(folder, at, parts, live, order)
            continue
        columns = [part.arrays() for part in parts]
        for name in columns[0]:
            _merge_columns(array_path(folder, f"{at}.{name}"), [column[name] for column in columns], origins)
    write_schemas(folder, schemas)


def _merge_columns(path: Path, columns: Sequence[Array], origins: RowOrigins) -> None:
    """Write one array of all merged rows. columns: the array of each segment; arrays that are empty stay so."""
    n = len(origins.rows) if any(map(len, columns)) else 0
    if not n:  # an empty file cannot be mapped
        np.save(path, columns[0][:0], allow_pickle=False)
        return
    merged = open_memmap(path, "w+", columns[0].dtype, (n, *columns[0].shape[1:]))
    for start in range(0, n, CHUNK_ROWS):
        segments, rows = (column[start : start + CHUNK_ROWS] for column in origins)
        for place in find_distinct(segments):
            chosen = segments == place
            merged[start : start + CHUNK_ROWS][chosen] = columns[place][rows[chosen]]


def _merge_sparse(
    folder: Path, at: int, parts: Sequence[StoredPart], live: Sequence[Array], order: NDArray[np.intp]
) -> None:
    chosen = [part.take(rows) for part, rows in zip(parts, live, strict=True)]
    merged = SparsePart.concatenate([part for part in chosen if isinstance(part, SparsePart)]).take(order)
    for name, array in merged.arrays().items():
        np.save(array_path(folder, f"{at}.{name}"), array, allow_pickle=False)
