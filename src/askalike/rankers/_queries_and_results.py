"""Queries as rankers read them, and what is retrieved for them: arrays, to which nothing is added later."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from askalike.core.types import Explanation, Question, TopDocs
from askalike.index.rows import Excluded, find_distinct

Scores = NDArray[np.float64]
Docids = NDArray[np.int64]
Texts = Mapping[int, Question]
Explanations = dict[int, Explanation]
"""Docid → why that document has its score."""
ArrayT = TypeVar("ArrayT", bound=NDArray[Any])


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    """A query as rankers read it.

    excluded: the question that it is, or the phrasing of one, which it must not find. id: its id in the run. text: the
    plain text of its title. language: None if unknown. prefix: whether its last word may be unfinished. corrections:
    misspelt or unfinished word as typed → the word that replaces it in `query` and `text`. finished: the query with its
    unfinished word completed, for rankers that read whole words; None if it has none.
    """

    query: Question
    excluded: Excluded | None = None
    id: str = ""
    text: str = ""
    language: str | None = None
    prefix: bool = False
    corrections: Mapping[str, str] = field(default_factory=dict)
    finished: Question | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Retrieved:
    """Documents of some queries with their scores: retrieved ones, best first, or given ones in the given order.

    docids, scores: for each query (n,); higher is better, NaN for a document without a score.
    absolute: the scores on a scale shared by all queries, 1 for the same text, (n,) each; None if not known yet, see
    `add_absolute`. similarities: for each query (n,), similarities of the texts that do not depend on other hits; None
    for a ranker without any. vectors: (queries, dim), of length 1, whose products with those of texts are similarities;
    None for a ranker without dense ones.
    parts: for a hybrid, what each of its parts retrieved and scored, over the pool of each query.

    A searcher may add, in a class of its own, what it needs to score and explain the same documents without reading
    them again.
    """

    queries: Sequence[ResolvedQuery]
    docids: Sequence[Docids]
    scores: Sequence[Scores]
    absolute: Sequence[Scores] | None = None
    similarities: Sequence[Scores] | None = None
    vectors: NDArray[np.float32] | None = None
    parts: Sequence["Retrieved"] = ()

    @property
    def topdocs(self) -> list[TopDocs]:
        """The documents of each query with their scores."""
        return list(map(TopDocs, self.docids, self.scores))

    @property
    def distinct_docids(self) -> list[int]:
        """The docids retrieved for any query, ascending."""
        docids: list[int] = find_distinct(np.concatenate([np.empty(0, np.int64), *self.docids])).tolist()
        return docids

    def select(self, positions: Sequence[NDArray[Any]]) -> Self:
        """Return some of each query's documents, by their positions."""

        def choose(column: Sequence[ArrayT]) -> list[ArrayT]:
            return [own[at] for own, at in zip(column, positions, strict=True)]

        return replace(
            self,
            docids=choose(self.docids),
            scores=choose(self.scores),
            absolute=None if self.absolute is None else choose(self.absolute),
            similarities=None if self.similarities is None else choose(self.similarities),
        )

    def replace_rows(self, rows: Sequence[int], others: "Retrieved") -> Self:
        """Return the same with other documents for some of the queries. others: of these queries alone."""

        def exchange(column: Sequence[ArrayT], new: Sequence[ArrayT]) -> list[ArrayT]:
            by_row = dict(zip(rows, new, strict=True))
            return [by_row.get(row, own) for row, own in enumerate(column)]

        def exchange_known(column: Sequence[Scores] | None, new: Sequence[Scores] | None) -> list[Scores] | None:
            return None if column is None or new is None else exchange(column, new)

        return replace(
            self,
            docids=exchange(self.docids, others.docids),
            scores=exchange(self.scores, others.scores),
            absolute=exchange_known(self.absolute, others.absolute),
            similarities=exchange_known(self.similarities, others.similarities),
            parts=[part.replace_rows(rows, other) for part, other in zip(self.parts, others.parts, strict=True)],
        )

    def best(self, k: int) -> Self:
        """Return the k best documents of each query, ties by docid, without those that have no score."""
        positions = []
        for docids, scores in zip(self.docids, self.scores, strict=True):
            scored = np.flatnonzero(~np.isnan(scores))
            positions.append(scored[np.lexsort((docids[scored], -scores[scored]))[:k]])
        return self.select(positions)


def fill_missing(scores: Scores) -> Scores:
    """Return the scores with 0 for missing ones."""
    return np.where(np.isnan(scores), 0.0, scores)
