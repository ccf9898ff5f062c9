"""A segment of vectors: rows by ascending docid in one or more parts, mapped into memory."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np

from askalike.core.types import Floats
from askalike.index.arrays import open_arrays, write_arrays
from askalike.index.rows import NO_DELETIONS, Array, LiveRows, TitleRows
from askalike.index.vectors.codes import Codes
from askalike.index.vectors.parts import Bounds, DensePart, PartSchema, SparsePart, StoredPart

SCHEMA_FILE = "parts.json"


@dataclass(frozen=True, eq=False)
class VectorSegment(LiveRows):
    """A segment with the deletions made since it was written. It has a row for each phrasing of a document."""

    folder: Path | None
    """The directory of its files; None in memory."""
    schemas: tuple[PartSchema, ...]
    parts: tuple[StoredPart, ...]
    codes: Codes | None = None
    """The codes of the only part; None if there are none."""

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Map the files of a segment. Raises FileNotFoundError; ValueError, TypeError or KeyError for a damaged one."""
        schemas = tuple(PartSchema(**s) for s in json.loads((folder / SCHEMA_FILE).read_text(encoding="utf-8")))
        arrays = open_arrays(folder)
        parts = tuple(_open_part(arrays, at, schema) for at, schema in enumerate(schemas))
        for part in parts:
            part.check_bounds(len(arrays["docids"]))
        titles = TitleRows(arrays["title_keys"], arrays["title_rows"])
        titles.check_bounds(len(arrays["docids"]))
        rows = arrays["docids"], arrays["phrasings"]
        return cls(*rows, NO_DELETIONS, titles, folder, schemas, parts, Codes.open(folder))

    def with_deleted(self, deleted: Array) -> Self:
        return replace(self, deleted=deleted)

    def with_stored_deletions(self, arrays: Mapping[str, Array]) -> Self:
        return self.with_deleted(arrays["deleted"] if arrays else NO_DELETIONS)

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        parts = enumerate(self.parts)
        stored = {part_array(at, name): array for at, part in parts for name, array in part.arrays().items()}
        titles = title_arrays(self.titles)
        write_arrays(folder, {"docids": self.docids, "phrasings": self.phrasings, **titles, **stored})
        write_schemas(folder, self.schemas)

    def with_codes(self) -> Self:
        """Return the segment with codes that were written since it was opened; itself if there are none."""
        codes = Codes.open(self.folder) if self.folder and not self.codes else None
        return replace(self, codes=codes) if codes else self

    @cached_property
    def live_bits(self) -> Array:
        """See Codes.mark_live; empty without codes."""
        return self.codes.mark_live(self.mask_allowed(None), len(self.docids)) if self.codes else np.empty(0, np.uint64)

    @cached_property
    def rows_per_docid(self) -> float:
        """The number of rows per docid with a live row."""
        if not self.has_rephrasings:
            return len(self.docids) / max(1, len(self.docids) - len(self.deleted))
        live_docids = int(np.count_nonzero(np.diff(self.docids[self.live_mask], prepend=-1)))
        return len(self.docids) / max(1, live_docids)

    def excluded_rows(self, docid: int, phrasing: int) -> Array:
        """Return the rows of a docid, or those of one of its phrasings (−1 for all)."""
        rows = np.arange(*np.searchsorted(self.docids, [docid, docid + 1]))
        return rows if phrasing < 0 else rows[self.phrasings[rows] == phrasing]

    def score_bounds(self, queries: Sequence[Array]) -> Bounds:
        """Return the bounds of each row's score for each query. queries: the prepared vectors of each part."""
        lows, highs = [], []
        for part, values, schema in zip(self.parts, queries, self.schemas, strict=True):
            low, high = part.score_bounds(values)
            if schema.weight != 1:
                low, high = schema.weight * low, schema.weight * high
            if schema.weight < 0:
                low, high = high, low
            lows.append(low)
            highs.append(high)
        return (lows[0], highs[0]) if len(lows) == 1 else (sum(lows[1:], lows[0]), sum(highs[1:], highs[0]))

    def score_rows(self, rows: Array, queries: Sequence[Array], q: int) -> Floats:
        """Return the scores of these rows for one query."""
        scores = np.zeros(len(rows))
        for part, values, schema in zip(self.parts, queries, self.schemas, strict=True):
            scores += schema.weight * part.score_rows(rows, values, q)
        return scores


def part_array(part_index: int, name: str) -> str:
    """Return the stored name of an array of a part, such as `0.rows`."""
    return f"{part_index}.{name}"


def title_arrays(titles: TitleRows) -> Mapping[str, Array]:
    """Return the arrays that hold the keys of titles, by their stored names."""
    return {"title_keys": titles.keys, "title_rows": titles.rows}


def write_schemas(folder: Path, schemas: Sequence[PartSchema]) -> None:
    """Write the schemas of a segment's parts."""
    (folder / SCHEMA_FILE).write_text(json.dumps([asdict(schema) for schema in schemas]), encoding="utf-8")


def _open_part(arrays: Mapping[str, Array], part_index: int, schema: PartSchema) -> StoredPart:
    prefix = part_array(part_index, "")
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    return (SparsePart if schema.sparse else DensePart).from_arrays(schema.metric, own)
