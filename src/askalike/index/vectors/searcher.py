"""Segments of vectors, in memory-mapped files, and the search in a fixed set of them.

Only rows that may be among the k best are scored, by the bounds of all scores. `ScannedRows` reads a sketch, one byte
per number, which leaves out only rows that cannot be among them. `CodedRows` reads codes of two bits per number first,
whose bounds hold with high probability. Rows are scored exactly, in double precision and in a fixed order of addition.
So the result is exact, and the same for any batch, any k and any layout of segments, except for rare misses in large
segments (codes.py).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, reduce
from operator import or_
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import Array, Floats, Vectors
from askalike.core.errors import SearchIndexError
from askalike.core.filters import AllowedDocs
from askalike.core.hits import TopDocs
from askalike.index.files import open_arrays, write_arrays
from askalike.index.rows import NO_DELETIONS, Excluded, LiveRows, TitleRows, find_titles
from askalike.index.vectors.codes import TOLERANCE, Codes, ScoreEstimates
from askalike.index.vectors.parts import DensePart, PartSchema, SparsePart, StoredPart, nonzero_rows, prepare_rows
from askalike.index.vectors.sketch import Sketch

SCHEMA_FILE = "parts.json"
MAX_BOUNDS = 1 << 22
"""Maximum number of bounds in memory for all queries of a batch: 32 MiB."""
MIN_FINITE = float(np.finfo(np.float32).min)
"""Not above the bound of any row that may be found; the others have a bound of −∞."""
NO_DOCS = TopDocs(np.empty(0, np.int64), np.empty(0))


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
        folder.mkdir()
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
    def first_rows(self) -> Array:
        """The first row of each docid."""
        return np.flatnonzero(np.diff(self.docids, prepend=-1))

    def excluded_rows(self, excluded: Excluded) -> Array:
        """Return the rows that a query must not find."""
        rows = np.arange(*np.searchsorted(self.docids, [excluded.docid, excluded.docid + 1]))
        return rows if excluded.phrasing is None else rows[self.phrasings[rows] == excluded.phrasing]

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


class VectorQueries:
    """Queries as vectors, each with what it must not find.

    schemas: of the vectors' parts. rows: those of each part as segments score them. nonzero: (queries), whether each is
    not zero in some part.
    """

    def __init__(self, vectors: Vectors, exclusions: Sequence[Excluded | None]) -> None:
        self.vectors, self.exclusions = vectors, exclusions
        self.schemas = tuple(map(PartSchema.from_part, vectors.parts))
        self.rows: list[Any] = list(map(prepare_rows, vectors.parts))
        self.nonzero: NDArray[np.bool_] = reduce(or_, map(nonzero_rows, vectors.parts))


class Candidates(Protocol):
    """The rows of a segment that some queries may find, by bounds of their scores."""

    segment: VectorSegment

    def select_rows(self, q: int, k: int, min_score: float) -> Array:
        """Return the rows that may be the best ones of the k best documents of a query, and score `min_score`."""


class ScannedRows(Candidates):
    """The bounds of all rows of a segment."""

    def __init__(
        self, segment: VectorSegment, queries: Sequence[Array], mask: Array, excluded: Mapping[int, Array]
    ) -> None:
        """queries: the rows of each part of the queries. mask: see LiveRows.mask_allowed. excluded: rows by query."""
        bounds = [part.score_bounds(values) for part, values in zip(segment.parts, queries, strict=True)]
        weighted = [
            own if schema.weight == 1 else [schema.weight * side for side in (own if schema.weight > 0 else own[::-1])]
            for own, schema in zip(bounds, segment.schemas, strict=True)
        ]
        self.segment, self._bounds = segment, [sum(sides[1:], sides[0]) for sides in zip(*weighted, strict=True)]
        for side in self._bounds:
            if len(mask):
                side[:, ~mask] = -np.inf
            for q, rows in excluded.items():
                side[q, rows] = -np.inf

    def select_rows(self, q: int, k: int, min_score: float) -> Array:
        low, high = (side[q] for side in self._bounds)
        if min_score == MIN_FINITE:
            if self.segment.has_rephrasings:
                low = np.maximum.reduceat(low, self.segment.first_rows)
            min_score = _tolerate(float(np.partition(low, -k)[-k])) if k <= len(low) else MIN_FINITE
        return np.flatnonzero(high >= min_score)


class CodedRows(Candidates):
    """The likely bounds of all rows of a segment; a sketch bounds the scores of the few that these leave."""

    def __init__(
        self, segment: VectorSegment, estimates: Sequence[ScoreEstimates], sketch: Sketch, queries: Array,
        excluded: Mapping[int, Array],
    ) -> None:  # fmt: skip
        """estimates, queries: each query's bounds and vector. excluded: the rows that a query must not find."""
        self.segment, self._estimates, self._sketch, self._queries = segment, estimates, sketch, queries
        for q, rows in excluded.items():
            estimates[q].exclude(rows)

    def select_rows(self, q: int, k: int, min_score: float) -> Array:
        return self._estimates[q].select_rows(self._sketch, self.segment.docids, self._queries[q], k, min_score)


class VectorSearcher:
    """Searches a fixed set of segments and deletions."""

    def __init__(self, segments: Sequence[VectorSegment], schemas: Sequence[PartSchema]) -> None:
        self._segments, self._schemas = sorted(segments, key=lambda own: -len(own.docids)), tuple(schemas)
        self._has_rephrasings = any(segment.has_rephrasings for segment in segments)

    def search(self, queries: VectorQueries, k: int, allowed: AllowedDocs | None = None) -> list[TopDocs]:
        """Return the k best questions of each query, each by its best phrasing.

        allowed: the documents that may be found; None for all. A query of zeros finds nothing.
        """
        self._check_schemas(queries)
        count = len(queries.exclusions)
        if k < 1:
            return [NO_DOCS] * count
        step = max(1, MAX_BOUNDS // max(1, sum(len(s.docids) for s in self._segments)))
        top_docs: list[TopDocs] = []
        for start in range(0, count, step):
            batch = slice(start, min(start + step, count))
            candidates = [_bound_rows(segment, queries, batch, allowed) for segment in self._segments]
            top_docs += [self._search_one(queries, q, q - start, k, candidates) for q in range(count)[batch]]
        return top_docs

    def score(
        self, queries: VectorQueries, candidates: Sequence[Array], known: Sequence[TopDocs] | None = None
    ) -> list[Floats]:
        """Return the score of each query's candidates: docids in any order; NaN if a vector is missing or zero.

        known: not used, as to look for a document among them takes longer than to score it.
        """
        self._check_schemas(queries)
        scores = []
        for q, docids in enumerate(candidates):
            best = np.full(len(docids), np.nan)
            for segment in self._segments if queries.nonzero[q] else ():
                at, rows = segment.find_rows(docids, queries.exclusions[q])
                if len(rows) and segment.has_rephrasings:
                    np.fmax.at(best, at, segment.score_rows(rows, queries.rows, q))
                elif len(rows):
                    best[at] = segment.score_rows(rows, queries.rows, q)
            scores.append(best)
        return scores

    def best_phrasing(self, queries: VectorQueries, q: int, docid: int) -> int:
        """Return the phrasing of a question that scores best for a query; 0 if it has no vector."""
        best, phrasing = -np.inf, 0
        for segment in self._segments:
            _, rows = segment.find_rows(np.array([docid]), queries.exclusions[q])
            scores = segment.score_rows(rows, queries.rows, q)
            if len(rows) and scores.max() > best:
                best = scores.max()
                phrasing = int(segment.phrasings[rows[scores.argmax()]])
        return phrasing

    def find_titles(self, keys: Sequence[int], exclusions: Sequence[Excluded | None]) -> Mapping[int, Sequence[int]]:
        """See TitlesSearcher."""
        return find_titles(self._segments, keys, exclusions)

    def _check_schemas(self, queries: VectorQueries) -> None:
        if self._schemas and queries.schemas != self._schemas:
            kinds = queries.schemas
            raise SearchIndexError(f"a query's vectors {kinds} do not match the index's {self._schemas}; rebuild it")

    def _search_one(
        self, queries: VectorQueries, q: int, place: int, k: int, candidates: Sequence[Candidates]
    ) -> TopDocs:
        """Return the k best questions of query q. place: its place in the batch of the candidates."""
        top, min_score = NO_DOCS, MIN_FINITE
        for own in candidates if queries.nonzero[q] else ():
            rows = own.select_rows(place, k, min_score)
            if len(rows):
                docids = own.segment.docids[rows]
                scores = own.segment.score_rows(rows, queries.rows, q)
                if len(top.docids):
                    docids, scores = np.concatenate((top.docids, docids)), np.concatenate((top.scores, scores))
                top = _select_top_docs(docids, scores, k, self._has_rephrasings)
                if len(top.docids) == k:
                    min_score = _tolerate(float(top.scores[-1]))
        return top


def _bound_rows(
    segment: VectorSegment, queries: VectorQueries, batch: slice, allowed: AllowedDocs | None
) -> Candidates:
    """Return a segment's candidates for a batch of the queries."""
    rows = [part[batch] for part in queries.rows]
    mask = segment.mask_allowed(allowed.docids if allowed else None)
    exclusions = enumerate(queries.exclusions[batch])
    excluded = {q: segment.excluded_rows(one) for q, one in exclusions if one}
    [part, *_], codes = segment.parts, segment.codes
    if not codes or not isinstance(part, DensePart):
        return ScannedRows(segment, rows, mask, excluded)
    live = codes.mark_live(mask, len(segment.docids)) if allowed else segment.live_bits
    return CodedRows(segment, codes.estimate_scores(rows[0], live), part.sketch, rows[0], excluded)


def _tolerate(score: float) -> float:
    """Return a score that bounds reach in spite of rounding errors if the row's score reaches this one."""
    return max(score - TOLERANCE * max(1.0, abs(score)), MIN_FINITE)


def _select_top_docs(docids: Array, scores: Floats, k: int, has_rephrasings: bool) -> TopDocs:
    """Return the k best docids by their best rows. has_rephrasings: whether a docid may have several rows."""
    best = np.lexsort((docids, -scores))
    if has_rephrasings:
        ordered = docids[best]
        by_docid = np.argsort(ordered, kind="stable")
        first = by_docid[np.flatnonzero(np.diff(ordered[by_docid], prepend=-1))]
        best = best[np.sort(first)]
    return TopDocs(docids[best[:k]], scores[best[:k]])
