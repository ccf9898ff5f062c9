"""Ranked documents: by docid within a search (TopDocs), by id in a run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from askalike.core.errors import SettingsError
from askalike.core.filters import Filter
from askalike.core.lazy import lazy_property
from askalike.core.types.hits import Hit

Floats = NDArray[np.float64]


class Collection(NamedTuple):
    """Statistics of an index: the number of documents with the field, and the sum of all term frequencies in it."""

    documents: int
    total: float

    @property
    def average(self) -> float:
        """The average document length."""
        return self.total / max(self.documents, 1)


@dataclass(frozen=True, slots=True)
class TopDocs:
    """The best documents of one query, best first, ties by ascending docid.

    docids: int64 (n), the documents' numbers in the archive. scores: float64 (n), higher is better.
    """

    docids: NDArray[np.int64]
    scores: Floats


class AllowedDocs:
    """The documents that a search may find. An index that stores tags and dates applies the filter itself.

    find_docids: returns their docids, int64 (n), ascending. filter: the condition on them; None if only docids count.
    """

    def __init__(self, find_docids: Callable[[], NDArray[np.int64]], filter: Filter | None = None) -> None:
        self._find_docids, self.filter = find_docids, filter

    @lazy_property
    def docids(self) -> NDArray[np.int64]:
        """Their docids, int64 (n), ascending."""
        return self._find_docids()


Columns = tuple[Sequence[str], Floats]
"""One query's document ids and scores, best first."""


class Run(Mapping[str, Sequence[Hit]]):
    """The ranked documents of many queries: query id → hits, best first, which are created when they are read.

    columns: query id → document ids and their scores (float64), both best first and of the same length.
    """

    def __init__(self, columns: Mapping[str, Columns]) -> None:
        self._columns = dict(columns)

    def columns(self, query_id: str) -> Columns:
        """Return the document ids and scores of one query, best first."""
        return self._columns[query_id]

    @classmethod
    def from_frame(cls, frame: Any) -> Self:
        """Return the run in a pandas data frame with the columns qid (query_id), docno (doc_id) and score."""
        frame = frame.rename(columns={"query_id": "qid", "doc_id": "docno"})
        if missing := [name for name in ("qid", "docno", "score") if name not in frame.columns]:
            raise SettingsError(f"a run's frame has no column {', '.join(missing)}; it has {', '.join(frame.columns)}")
        groups = frame.sort_values("score", ascending=False, kind="stable").groupby(frame["qid"].astype(str))
        return cls({q: (rows["docno"].astype(str).tolist(), rows["score"].to_numpy(np.float64)) for q, rows in groups})

    def to_frame(self) -> Any:
        """Return a pandas data frame with PyTerrier's columns: qid, docno, rank (from 0) and score, best first."""
        import pandas  # type: ignore[import-untyped, unused-ignore]

        rows = [(query, hit.id, rank, hit.score) for query in self for rank, hit in enumerate(self[query])]
        return pandas.DataFrame(rows, columns=["qid", "docno", "rank", "score"])

    def __getitem__(self, query_id: str) -> Sequence[Hit]:
        ids, scores = self._columns[query_id]
        return [Hit(i, s) for i, s in zip(ids, scores.tolist(), strict=True)]

    def __contains__(self, query_id: object) -> bool:  # Mapping's own method would build every hit
        return query_id in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)
