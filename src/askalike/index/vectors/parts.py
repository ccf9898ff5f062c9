"""One part of many documents' vectors as it is stored: dense rows with their sketch, or sparse rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import numpy as np

from askalike.core.arrays import Array, Bools, Floats, Metric, VectorPart
from askalike.core.errors import SearchIndexError
from askalike.core.values import format_count
from askalike.index.files import check_offsets
from askalike.index.vectors.sketch import Sketch, exact_distances, exact_dots, exact_half_dots

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Storage = Literal["f16", "int8", "f32"]
MAX_F16 = 65_504.0
Bounds = tuple[Array, Array]
"""The lowest and the highest possible scores: (queries, n) both."""


@dataclass(frozen=True, slots=True)
class PartSchema:
    """Properties shared by the rows of a part in all segments: metric, weight, dimension, and whether it is sparse."""

    metric: Metric
    weight: float
    dim: int
    sparse: bool

    @classmethod
    def from_part(cls, part: VectorPart) -> "PartSchema":
        """Return the schema of a part as an encoder returns it."""
        return cls(part.metric, float(part.weight), int(part.values.shape[1]), part.is_sparse)


class StoredPart(Protocol):
    """n rows of one part."""

    def arrays(self) -> Mapping[str, Array]:
        """Return the arrays to store, by name."""

    def check_bounds(self, n_rows: int) -> None:
        """Raise ValueError if an array has not n_rows rows, or leads outside another one."""

    def score_bounds(self, queries: Any) -> Bounds:
        """Return the unweighted bounds of each row's score for each query: two arrays that share no memory."""

    def score_rows(self, rows: Array, queries: Any, q: int) -> Floats:
        """Return the scores of these rows for one of the queries: float64 (rows)."""

    def take(self, indices: Array) -> Self:
        """Return the rows at these positions."""


@dataclass(frozen=True, slots=True)
class DensePart(StoredPart):
    """Dense rows. rows: float16 or float32 (n, dim), or empty (0, dim) if only the sketch is stored (int8)."""

    metric: Metric
    rows: Array
    sketch: Sketch

    @classmethod
    def from_part(cls, part: VectorPart, storage: Storage) -> "DensePart":
        """Store an encoder's rows; those of a cosine part are normalised to length 1."""
        values = prepare_rows(part)
        if storage == "f16" and np.abs(values).max(initial=0) > MAX_F16:
            raise SearchIndexError(f"a vector has numbers above {MAX_F16:g}, which f16 cannot hold; set storage=f32")
        if storage == "int8":
            sketch = Sketch.from_rows(values)
            return cls(part.metric, values[:0], replace(sketch, residuals=0 * sketch.residuals))
        rows = values.astype(np.float16 if storage == "f16" else np.float32)
        return cls(part.metric, rows, Sketch.from_rows(rows.astype(np.float32)))

    @classmethod
    def from_arrays(cls, metric: Metric, arrays: Mapping[str, Array]) -> "DensePart":
        """Return the part that has these arrays. Raises KeyError for a missing one."""
        return cls(metric, arrays["rows"], Sketch(*(arrays[n] for n in Sketch.__dataclass_fields__)))

    @classmethod
    def concatenate(cls, parts: Sequence["DensePart"]) -> "DensePart":
        """Return the concatenated rows of several parts."""
        columns = [p.arrays() for p in parts]
        return cls.from_arrays(parts[0].metric, {n: np.concatenate([c[n] for c in columns]) for n in columns[0]})

    def arrays(self) -> Mapping[str, Array]:
        return {"rows": self.rows, **{n: getattr(self.sketch, n) for n in Sketch.__dataclass_fields__}}

    def check_bounds(self, n_rows: int) -> None:
        columns = [getattr(self.sketch, name) for name in Sketch.__dataclass_fields__]
        if {len(self.rows) or n_rows, *map(len, columns)} != {n_rows}:
            raise ValueError(f"its vectors do not have {format_count(n_rows, 'row')} each")

    def score_bounds(self, queries: Any) -> Bounds:
        return self.sketch.score_bounds(queries, self.metric)

    def score_rows(self, rows: Array, queries: Any, q: int) -> Floats:
        if self.metric == "euclidean":
            return np.negative(exact_distances(self.decode_rows(rows), queries[q]))
        if self.rows.dtype == np.float16 and len(self.rows):
            return exact_half_dots(self.rows, rows, queries[q])
        return exact_dots(self.decode_rows(rows), queries[q])

    def take(self, indices: Array) -> "DensePart":
        rows = self.rows[indices] if len(self.rows) else self.rows
        sketch = Sketch(*(getattr(self.sketch, n)[indices] for n in Sketch.__dataclass_fields__))
        return DensePart(self.metric, rows, sketch)

    def decode_rows(self, rows: Array) -> Array:
        """Return these rows as they are stored: float32 (rows, dim)."""
        if len(self.rows):
            return self.rows[rows].astype(np.float32)
        return self.sketch.values[rows] * self.sketch.scales[rows, None]


@dataclass(frozen=True, slots=True)
class SparsePart(StoredPart):
    """Sparse rows: CSR, float64 sums over float32 numbers."""

    metric: Metric
    rows: "csr_array"

    @classmethod
    def from_part(cls, part: VectorPart, storage: Storage) -> "SparsePart":
        """Store an encoder's rows; those of a cosine part are normalised to length 1. `storage` is for dense parts."""
        return cls(part.metric, prepare_rows(part))

    @classmethod
    def from_arrays(cls, metric: Metric, arrays: Mapping[str, Array]) -> "SparsePart":
        """Return the part that has these arrays. Raises KeyError for a missing one."""
        from scipy import sparse

        shape = (len(arrays["indptr"]) - 1, int(arrays["dim"][0]))
        return cls(metric, sparse.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape))

    @classmethod
    def concatenate(cls, parts: Sequence["SparsePart"]) -> "SparsePart":
        """Return the concatenated rows of several parts."""
        from scipy import sparse

        return cls(parts[0].metric, sparse.vstack([p.rows for p in parts], format="csr"))

    def arrays(self) -> Mapping[str, Array]:
        rows = self.rows
        return {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "dim": np.array([rows.shape[1]])}

    def check_bounds(self, n_rows: int) -> None:
        check_offsets(self.rows.indptr, len(self.rows.indices))
        self.rows.check_format()
        if self.rows.shape[0] != n_rows:
            raise ValueError(f"its vectors do not have {format_count(n_rows, 'row')}")

    def score_bounds(self, queries: Any) -> Bounds:
        scores = np.array([self._score(self.rows, queries, i) for i in range(queries.shape[0])])
        scores = scores.reshape(-1, self.rows.shape[0])
        return scores, scores.copy()

    def score_rows(self, rows: Array, queries: Any, q: int) -> Floats:
        return self._score(self.rows[rows], queries, q)

    def _score(self, rows: "csr_array", queries: Any, q: int) -> Floats:
        query = queries[[q]].toarray()[0].astype(np.float64)
        dots = np.asarray(rows @ query)
        if self.metric != "euclidean":
            return dots
        squares = np.asarray(rows.multiply(rows).sum(axis=1), np.float64).ravel()
        return -np.sqrt(np.maximum(squares + query @ query - 2 * dots, 0))

    def take(self, indices: Array) -> "SparsePart":
        return SparsePart(self.metric, self.rows[indices])


def prepare_rows(part: VectorPart) -> Any:
    """Return a part's values in 32 bits, CSR or dense (C order); for the cosine each row has length 1 or is zero."""
    if not part.is_sparse:
        values: Any = np.ascontiguousarray(part.values, np.float32)
        if part.metric == "cosine":
            lengths = _replace_zeros(np.linalg.norm(values.astype(np.float64), axis=1))
            values = values / lengths[:, None].astype(np.float32)
        return values
    from scipy import sparse

    rows = sparse.csr_array(part.values, dtype=np.float32)
    rows.sum_duplicates()
    if part.metric == "cosine":
        lengths = _replace_zeros(np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1), np.float64).ravel()))
        rows = sparse.csr_array(sparse.diags_array(1 / lengths) @ rows, dtype=np.float32)
    return rows


def nonzero_rows(part: VectorPart) -> Bools:
    """Return which rows are not zero (a text without known words has a zero row). With Euclidean distance all count."""
    if part.metric == "euclidean":
        return np.ones(len(part), np.bool_)
    if part.is_sparse:
        return np.asarray(abs(part.values).sum(axis=1)).ravel() > 0
    return np.asarray(part.values.any(axis=1))


def _replace_zeros(lengths: Floats) -> Floats:
    return np.where(lengths > 0, lengths, 1.0)
