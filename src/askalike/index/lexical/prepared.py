"""Queries whose terms are looked up: what each of them weighs, and what the query would score for its own words."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from askalike.core.lazy import lazy_property
from askalike.core.types import Floats
from askalike.index.lexical.query_batch import QueryBatch
from askalike.index.lexical.term_scores import TermScorer, TermScores, integer_scale
from askalike.index.lexical.terms import mark_terms, word_of
from askalike.index.rows import Array
from askalike.native.compiled import prechecked


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """A query: its terms, the prefix of a word still being typed, and what it must not find.

    terms: those of each field, marked with it, see `mark_terms`. prefix_terms: the words that the unfinished word
    stands for in case it is complete, not marked. excluded_docid: a question that must not be found, −1 for none.
    excluded_phrasing: the one phrasing of it that must not be used, −1 for all of them. weights: term → its weight,
    instead of its frequency in `terms`. completion_weights: word → its weight as a completion of the unfinished word,
    1 for any other. field_factors: factors of the fields' weights; empty for 1 each. word_factors: word → the factor of
    its weight, 1 for any other.
    """

    terms: Sequence[str]
    prefix: str | None = None
    excluded_docid: int = -1
    excluded_phrasing: int = -1
    prefix_terms: Sequence[str] = ()
    weights: Mapping[str, float] | None = None
    completion_weights: Mapping[str, float] = field(default_factory=dict)
    field_factors: Sequence[float] = ()
    word_factors: Mapping[str, float] = field(default_factory=dict)


FieldWeights = tuple[float, ...]
"""The factor of the score of each field, above 0; empty for 1 each."""


@dataclass(frozen=True, slots=True, eq=False)
class PreparedQueries:
    """Queries whose terms a searcher has looked up; only that searcher can use them."""

    queries: Sequence[QueryTerms]
    similarity: TermScorer
    fields: FieldWeights
    batch: "PreparedBatch | None"
    """All queries, if they are few enough. Larger numbers are prepared batch by batch during the search, since their
    scores may not fit into memory together."""


@dataclass(frozen=True, eq=False)
class PreparedBatch:
    """Q queries with M terms on a state of an index with F fields.

    counts: (M), the frequency of each term in its query. factors: (Q, F), those of the fields' weights.
    """

    columns: QueryBatch
    scores: TermScores
    counts: Floats
    factors: Floats

    def __len__(self) -> int:
        return len(self.columns.scales)

    @classmethod
    def of_queries(
        cls, queries: Sequence[QueryTerms], terms: "TermColumns", scores: TermScores, numbers: NDArray[np.int64],
        fields: FieldWeights,
    ) -> Self:  # fmt: skip
        """Weigh the queries' terms. numbers: (M), of each term among the known ones, whose scores are computed."""
        counts, rows = np.array(terms.counts, np.float64), np.array(terms.rows, np.int64)
        in_fields = scores.terms.fields[numbers].astype(np.int64)
        weights = counts * np.array(fields)[in_fields] if fields else counts
        factors = np.ones((len(queries), len(scores.terms.statistics)))
        if any(query.field_factors for query in queries):
            factors = np.array([query.field_factors or factors[0] for query in queries], np.float64)
            weights = weights * factors[rows, in_fields]
        if any(query.word_factors for query in queries):
            words = zip(terms.rows, map(word_of, terms.names), strict=True)
            weights = weights * np.array([queries[row].word_factors.get(word, 1.0) for row, word in words], np.float64)
        bounds = np.bincount(rows, weights * scores.bounds[numbers], len(queries))
        columns = QueryBatch(
            np.array(terms.offsets, np.int64), numbers, weights, in_fields, np.array(terms.completes, np.int64),
            integer_scale(bounds.astype(np.float64)), np.array([q.excluded_docid for q in queries], np.int64),
            np.array([q.excluded_phrasing for q in queries], np.int64),
        )  # fmt: skip
        return cls(prechecked(columns), scores, counts, factors)

    @lazy_property
    def self_scores(self) -> Floats:
        """The score of each query for a text with the same words in each field, (Q, F); 0 without words.

        Every completion of a word gets the highest weight among them, so that no text scores far above this.
        """
        columns, counts = self.columns, self.counts
        factors = columns.weights / counts
        if self._completes:
            counts = np.where(columns.completes, -self._least_completions(-counts)[self._groups], counts)
        lengths = self._sum_groups(counts)[self._groups]
        each = counts * factors * self.scores.score_in_text(columns.terms, counts, lengths)
        return self._sum_groups(each).reshape(self.factors.shape)

    @lazy_property
    def term_information(self) -> Floats:
        """The idf of each term in its field, (M); all completions have that of the most common."""
        idf = self.scores.terms.information[self.columns.terms]
        if not self._completes:
            return idf
        return np.where(self.columns.completes, self._least_completions(idf)[self._groups], idf)

    @lazy_property
    def total_information(self) -> Floats:
        """The idf of each query's words, (Q, F); completions are one word."""
        return self._sum_groups(self.term_information).reshape(self.factors.shape)

    def _sum_groups(self, values: Floats) -> Floats:
        """Return, for each query and field, the sum over its finished words and the minimum over its completions."""
        groups, size = self._groups, self.factors.size
        if not self._completes:
            return np.asarray(np.bincount(groups, values, size), np.float64)
        finished = self.columns.completes == 0
        sums = np.bincount(groups[finished], values[finished], size)
        return np.asarray(sums + self._least_completions(values), np.float64)

    def _least_completions(self, values: Floats) -> Floats:
        """Return the minimum over the completions in each field of each query, (Q · F); 0 without any."""
        completed = np.flatnonzero(self.columns.completes)
        least = np.full(self.factors.size, np.inf)
        np.minimum.at(least, self._groups[completed], values[completed])
        least[np.isinf(least)] = 0.0
        return least

    @lazy_property
    def _completes(self) -> bool:
        """Whether a query has an unfinished word with completions."""
        return bool(self.columns.completes.any())

    def name_scores(self, q: int, scores: Floats) -> list[list[tuple[str, float]]]:
        """Return each document's scored terms of query q, with the scores; of completions in a field, only the best.

        scores: (documents, maximum terms of a query), NaN if a term does not occur.
        """
        columns, names = self.columns, self.scores.terms.names
        first, last = columns.offsets[q : q + 2].tolist()
        numbers, completes = columns.terms[first:last].tolist(), columns.completes[first:last].tolist()
        named: list[list[tuple[str, float]]] = [[] for _ in scores]
        completed: list[dict[int, tuple[str, float]]] = [{} for _ in scores]
        at = np.nonzero(~np.isnan(scores[:, : last - first]))
        for document, term, score in zip(*map(np.ndarray.tolist, at), scores[at].tolist(), strict=True):
            if not (field := completes[term]):
                named[document].append((names[numbers[term]], score))
            elif score > completed[document].get(field, ("", 0.0))[1]:
                completed[document][field] = names[numbers[term]], score
        return [[*own, *best.values()] for own, best in zip(named, completed, strict=True)]

    @lazy_property
    def _groups(self) -> Array:
        """The query and the field of each term as one number, (M)."""
        rows = np.repeat(np.arange(len(self)), np.diff(self.columns.offsets))
        return rows * self.factors.shape[1] + self.columns.fields


class TermColumns(NamedTuple):
    """The terms of Q queries, M in total. See QueryBatch for the columns."""

    offsets: list[int]
    rows: list[int]
    """(M): the query of each term."""
    names: list[str]
    counts: list[float]
    completes: list[int]

    @classmethod
    def of_queries(cls, queries: Sequence[QueryTerms], complete: Callable[[str], Sequence[str]], fields: int) -> Self:
        """Collect the terms. complete: returns the completions of a prefix. fields: their number."""
        columns = cls([0], [], [], [], [])
        for row, query in enumerate(queries):
            counts = query.weights if query.weights is not None else Counter(query.terms)
            columns._add(row, counts, counts.values(), 0)
            prefixed = [*query.prefix_terms, *complete(query.prefix)] if query.prefix else []
            for number in range(fields if prefixed else 0):
                marked = zip(prefixed, mark_terms(prefixed, number), strict=True)
                weight_of = query.completion_weights.get
                completions = {term: w for word, term in marked if term not in counts and (w := weight_of(word, 1.0))}
                columns._add(row, completions, completions.values(), 1 + number)
            columns.offsets.append(len(columns.names))
        return columns

    def _add(self, row: int, terms: Collection[str], counts: Collection[float], completes: int) -> None:
        self.rows.extend([row] * len(terms))
        self.names.extend(terms)
        self.counts.extend(counts)
        self.completes.extend([completes] * len(terms))
