"""Queries whose terms are looked up: what each of them weighs, and what the query would score for its own words."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from askalike.core.lazy import lazy_property
from askalike.core.types import Floats
from askalike.index.lexical.query_batch import QueryBatch
from askalike.index.lexical.term_scores import (
    FieldStatistics,
    TermScorer,
    TermScores,
    integer_scale,
    score_fields,
    term_information,
)
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
    """Q queries with M terms on a state of an index. counts: (M), the frequency of each term in its query."""

    columns: QueryBatch
    scores: TermScores
    counts: Floats

    def __len__(self) -> int:
        return len(self.columns.scales)

    @classmethod
    def of_queries(
        cls, queries: Sequence[QueryTerms], terms: "TermColumns", scores: TermScores, numbers: NDArray[np.int64],
        fields: FieldWeights,
    ) -> Self:  # fmt: skip
        """Weigh the queries' terms. numbers: (M), of each term among the known ones, whose scores are computed."""
        counts = np.array(terms.counts, np.float64)
        weights = counts * np.array(fields)[scores.terms.fields[numbers]] if fields else counts
        if any(query.field_factors for query in queries):
            each = (1.0,) * len(scores.terms.statistics)
            factors = np.array([query.field_factors or each for query in queries], np.float64)
            weights = weights * factors[terms.rows, scores.terms.fields[numbers]]
        if any(query.word_factors for query in queries):
            weighed = [
                queries[row].word_factors.get(word_of(name), 1.0)
                for row, name in zip(terms.rows, terms.names, strict=True)
            ]
            weights = weights * np.array(weighed, np.float64)
        bounds = np.bincount(terms.rows, weights * scores.bounds[numbers], len(queries))
        columns = QueryBatch(
            np.array(terms.offsets, np.int64), numbers, weights, np.array(terms.words, np.int64),
            np.array(terms.completes, np.int64), integer_scale(bounds.astype(np.float64)),
            np.array([q.excluded_docid for q in queries], np.int64),
            np.array([q.excluded_phrasing for q in queries], np.int64),
        )  # fmt: skip
        return cls(prechecked(columns), scores, counts)

    @lazy_property
    def self_scores(self) -> Floats:
        """The score of each query for a text with the same words in each field, (Q); 0 without words.

        Every completion of a word gets the highest weight among them, so that no text scores far above this.
        """
        columns, known = self.columns, self.scores.terms
        field_count, factors = len(known.statistics), columns.weights / self.counts
        groups = self._rows * field_count + known.fields[columns.terms]
        highest = -self._least_completions(-self.counts, self._rows, len(self))[self._rows]
        counts = np.where(columns.completes, highest, self.counts)
        finished, unfinished = self._sum_groups(counts, groups, len(self) * field_count)
        each = counts * factors * self.scores.score_in_text(columns.terms, counts, (finished + unfinished)[groups])
        finished, unfinished = self._sum_groups(each, groups, len(self) * field_count)
        return (finished + unfinished).reshape(-1, field_count).sum(axis=1)

    @lazy_property
    def term_information(self) -> Floats:
        """The idf of each term's word, (M): the lowest of its fields; all completions have that of the most common."""
        columns, known = self.columns, self.scores.terms

        def inform(at: Any, own: FieldStatistics) -> Floats:
            return term_information(known.df[columns.terms[at]], own.collection.documents)

        idf = score_fields(known.fields[columns.terms], known.statistics, inform)
        groups = np.cumsum(self._begins_word) - 1
        if len(groups):
            idf = np.minimum.reduceat(idf, np.flatnonzero(self._begins_word))[groups]
        common = self._least_completions(idf, self._rows, len(self))[self._rows]
        return np.where(columns.completes, common, idf)

    @property
    def total_information(self) -> Floats:
        """The idf of each query's words, (Q): each word counts once, and completions as one word."""
        sums = self._sum_groups(np.where(self._begins_word, self.term_information, 0.0), self._rows, len(self))
        return np.add(*sums)

    def _sum_groups(self, values: Floats, groups: Array, size: int) -> tuple[Floats, Floats]:
        """Return the sum over the finished words of each group of terms, and the minimum over its completions."""
        finished = self.columns.completes == 0
        sums = np.asarray(np.bincount(groups[finished], values[finished], size), np.float64)
        return sums, self._least_completions(values, groups, size)

    def _least_completions(self, values: Floats, groups: Array, size: int) -> Floats:
        """Return the minimum over the completions of each group of terms, (size,); 0 without any."""
        completed = np.flatnonzero(self.columns.completes)
        least = np.full(size, np.inf if len(completed) else 0.0)
        if len(completed):
            np.minimum.at(least, groups[completed], values[completed])
            least[np.isinf(least)] = 0.0
        return least

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
    def _rows(self) -> Array:
        return np.repeat(np.arange(len(self)), np.diff(self.columns.offsets))

    @lazy_property
    def _begins_word(self) -> Array:
        """Whether each term is the first of its word, bool (M)."""
        words = self.columns.words
        begins = np.ones(len(words), np.bool_)
        begins[1:] = (words[1:] != words[:-1]) | (self._rows[1:] != self._rows[:-1])
        return begins


class TermColumns(NamedTuple):
    """The terms of Q queries, M in total, the terms of one word next to each other. See QueryBatch for the columns."""

    offsets: list[int]
    rows: list[int]
    """(M): the query of each term."""
    names: list[str]
    counts: list[float]
    words: list[int]
    completes: list[int]

    @classmethod
    def of_queries(cls, queries: Sequence[QueryTerms], complete: Callable[[str], Sequence[str]], fields: int) -> Self:
        """Collect the terms. complete: returns the completions of a prefix. fields: their number."""
        columns = cls([0], [], [], [], [], [])
        for row, query in enumerate(queries):
            counts = query.weights if query.weights is not None else Counter(query.terms)
            words = _number_words(counts) if fields > 1 else dict(zip(counts, range(len(counts)), strict=True))
            columns._add(row, sorted(counts, key=words.__getitem__) if fields > 1 else counts, counts, words, 0)
            prefixed = [*query.prefix_terms, *complete(query.prefix)] if query.prefix else []
            for number in range(fields if prefixed else 0):
                marked = zip(prefixed, mark_terms(prefixed, number), strict=True)
                weight_of = query.completion_weights.get
                completions = {term: w for word, term in marked if term not in counts and (w := weight_of(word, 1.0))}
                first = len(columns.names)
                numbers = dict(zip(completions, range(first, first + len(completions)), strict=True))
                columns._add(row, completions, completions, numbers, 1 + number)
            columns.offsets.append(len(columns.names))
        return columns

    def _add(
        self, row: int, terms: Collection[str], counts: Mapping[str, float], words: Mapping[str, int], completes: int
    ) -> None:
        self.rows.extend([row] * len(terms))
        self.names.extend(terms)
        self.counts.extend(map(counts.__getitem__, terms))
        self.words.extend(map(words.__getitem__, terms))
        self.completes.extend([completes] * len(terms))


def _number_words(terms: Iterable[str]) -> dict[str, int]:
    """Return term → the number of its word, by first occurrence."""
    numbers: dict[str, int] = {}
    return {term: numbers.setdefault(word_of(term), len(numbers)) for term in terms}
