"""Merges segments of vectors in chunks of rows: an archive's vectors need not fit into memory.

Mapped files count as a process's memory, too, although the system can take them back. So each chunk's are released.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askalike.index.arrays import create_arrays, release_pages
from askalike.index.rows import Array, TitleRows, find_distinct
from askalike.index.vectors.parts import PartSchema, SparsePart, StoredPart
from askalike.index.vectors.segment import VectorSegment, part_array, title_arrays, write_schemas

CHUNK_ROWS = 1 << 16
"""Rows copied at a time: 50 MB of 256 numbers."""


class RowOrigins(NamedTuple):
    """The source of each of n merged rows."""

    segments: NDArray[np.uint16]
    """(n): the index of its segment."""
    rows: NDArray[np.int64]
    """(n): its row in that segment."""


def merge_segments(folder: Path, segments: Sequence[VectorSegment], schemas: Sequence[PartSchema]) -> None:
    """Write the live rows of several segments into a new directory as one, by ascending docid."""
    live = [np.flatnonzero(segment.live_mask) for segment in segments]
    docids = np.concatenate([segment.docids[rows] for segment, rows in zip(segments, live, strict=True)])
    order = np.argsort(docids, kind="stable")
    places = np.repeat(np.arange(len(live), dtype=np.uint16), list(map(len, live)))
    origins = RowOrigins(places[order], np.concatenate(live)[order])
    columns = {"docids": [segment.docids for segment in segments], "phrasings": [s.phrasings for s in segments]}
    keys = [s.titles.by_row(len(s.docids))[rows] for s, rows in zip(segments, live, strict=True)]
    whole = dict(title_arrays(TitleRows.of_keys(np.concatenate(keys)[order])))
    for at, schema in enumerate(schemas):
        parts = [segment.parts[at] for segment in segments]
        if schema.sparse:
            whole |= {part_array(at, name): array for name, array in _merge_sparse(parts, live, order).items()}
            continue
        arrays = [part.arrays() for part in parts]
        columns |= {part_array(at, name): [own[name] for own in arrays] for name in arrays[0]}
    folder.mkdir(parents=True)
    write_schemas(folder, schemas)
    kinds = {name: _merged_kind(own, len(docids)) for name, own in columns.items()}
    merged = create_arrays(folder, kinds | {name: (array.dtype, array.shape) for name, array in whole.items()})
    for name, array in whole.items():
        merged[name][...] = array
    for name, own in columns.items():
        _merge_columns(merged[name], own, origins)


def _merged_kind(columns: Sequence[Array], rows: int) -> "tuple[np.dtype[Any], tuple[int, ...]]":
    """Return the type and the shape of one array of all merged rows; empty arrays remain empty."""
    return columns[0].dtype, (rows if any(map(len, columns)) else 0, *columns[0].shape[1:])


def _merge_columns(merged: Array, columns: Sequence[Array], origins: RowOrigins) -> None:
    """Fill one array of all merged rows. columns: the array of each segment."""
    for start in range(0, len(merged), CHUNK_ROWS):
        segments, rows = (column[start : start + CHUNK_ROWS] for column in origins)
        for place in find_distinct(segments):
            chosen = segments == place
            merged[start : start + CHUNK_ROWS][chosen] = columns[place][rows[chosen]]
        release_pages([merged, *columns])


def _merge_sparse(parts: Sequence[StoredPart], live: Sequence[Array], order: NDArray[np.intp]) -> Mapping[str, Array]:
    chosen = [part.take(rows) for part, rows in zip(parts, live, strict=True)]
    return SparsePart.concatenate([part for part in chosen if isinstance(part, SparsePart)]).take(order).arrays()
