"""Queries whose terms are looked up: what each of them weighs, and what the query would score for its own words."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from operator import itemgetter
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
    1 for any other. field_factors: factors of the fields' weights; empty for 1 each.
    """

    terms: Sequence[str]
    prefix: str | None = None
    excluded_docid: int = -1
    excluded_phrasing: int = -1
    prefix_terms: Sequence[str] = ()
    weights: Mapping[str, float] | None = None
    completion_weights: Mapping[str, float] = field(default_factory=dict)
    field_factors: Sequence[float] = ()


class FieldWeights(NamedTuple):
    """How the scores of a document's fields are summed.

    weights: of each field, above 0; empty for 1 each. relative: with several fields, each field's score is first
    divided by the score of the query for a field with the same words.
    """

    weights: tuple[float, ...] = ()
    relative: bool = False


PLAIN_SUM = FieldWeights()


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
    """A batch of Q queries with M terms on a state of an index.

    self_scores: (Q), the score of each query for a text with the same words in each field; 0 without words.
    """

    columns: QueryBatch
    scores: TermScores
    self_scores: Floats

    def __len__(self) -> int:
        return len(self.columns.scales)

    @classmethod
    def of_queries(
        cls, queries: Sequence[QueryTerms], terms: "TermColumns", scores: TermScores, numbers: NDArray[np.int64],
        fields: FieldWeights,
    ) -> Self:  # fmt: skip
        """Weigh the queries' terms. numbers: (M), of each term among the known ones, whose scores are computed."""
        factors, self_scores = _weigh_fields(queries, terms, scores, numbers, fields)
        weights = np.array(terms.counts, np.float64) * factors
        bounds = np.bincount(terms.rows, weights * scores.bounds[numbers], len(queries))
        columns = QueryBatch(
            np.array(terms.offsets, np.int64), numbers, weights, np.array(terms.words, np.int64),
            np.array(terms.is_completion, np.bool_), integer_scale(bounds.astype(np.float64)),
            np.array([q.excluded_docid for q in queries], np.int64),
            np.array([q.excluded_phrasing for q in queries], np.int64),
        )  # fmt: skip
        return cls(prechecked(columns), scores, self_scores)

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
        return np.where(
            columns.is_completion, _least(idf, self._rows, columns.is_completion, len(self))[self._rows], idf
        )

    @property
    def total_information(self) -> Floats:
        """The idf of each query's words, (Q): each word counts once, and completions as one word."""
        columns = self.columns
        finished = np.where(self._begins_word & ~columns.is_completion, self.term_information, 0.0)
        sums = np.bincount(self._rows, finished, len(self))
        return np.asarray(sums + _least(self.term_information, self._rows, columns.is_completion, len(self)))

    def name_scores(self, q: int, scores: Floats) -> list[list[tuple[str, float]]]:
        """Return each document's scored terms of query q, with the scores; of the completions, only the best one.

        scores: (documents, maximum terms of a query), NaN if a term does not occur.
        """
        columns, names = self.columns, self.scores.terms.names
        first, last = columns.offsets[q : q + 2].tolist()
        numbers, completes = columns.terms[first:last].tolist(), columns.is_completion[first:last].tolist()
        named: list[list[tuple[str, float]]] = [[] for _ in scores]
        completed: list[list[tuple[str, float]]] = [[] for _ in scores]
        at = np.nonzero(~np.isnan(scores[:, : last - first]))
        for document, term, score in zip(*map(np.ndarray.tolist, at), scores[at].tolist(), strict=True):
            (completed if completes[term] else named)[document].append((names[numbers[term]], score))
        return [[*own, *nlargest(1, more, itemgetter(1))] for own, more in zip(named, completed, strict=True)]

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
    is_completion: list[bool]

    @classmethod
    def of_queries(cls, queries: Sequence[QueryTerms], complete: Callable[[str], Sequence[str]], fields: int) -> Self:
        """Collect the terms. complete: returns the completions of a prefix. fields: their number."""
        columns = cls([0], [], [], [], [], [])
        for row, query in enumerate(queries):
            counts = query.weights if query.weights is not None else Counter(query.terms)
            words = _number_words(counts) if fields > 1 else dict(zip(counts, range(len(counts)), strict=True))
            columns._add(row, sorted(counts, key=words.__getitem__) if fields > 1 else counts, counts, words, False)
            prefixed = [*query.prefix_terms, *complete(query.prefix)] if query.prefix else []
            completions = {
                term: weight
                for field in range(fields)
                for word, term in zip(prefixed, mark_terms(prefixed, field), strict=True)
                if term not in counts and (weight := query.completion_weights.get(word, 1.0))
            }
            numbers = dict(zip(completions, range(len(counts), len(counts) + len(completions)), strict=True))
            columns._add(row, completions, completions, numbers, True)
            columns.offsets.append(len(columns.names))
        return columns

    def _add(
        self, row: int, terms: Collection[str], counts: Mapping[str, float], words: Mapping[str, int], completes: bool
    ) -> None:
        self.rows.extend([row] * len(terms))
        self.names.extend(terms)
        self.counts.extend(map(counts.__getitem__, terms))
        self.words.extend(map(words.__getitem__, terms))
        self.is_completion.extend([completes] * len(terms))


def _number_words(terms: Iterable[str]) -> dict[str, int]:
    """Return term → the number of its word, by first occurrence."""
    numbers: dict[str, int] = {}
    return {term: numbers.setdefault(word_of(term), len(numbers)) for term in terms}


def _weigh_fields(
    queries: Sequence[QueryTerms], terms: TermColumns, scores: TermScores, numbers: NDArray[np.int64],
    fields: FieldWeights,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return the weight of each term's field (M), and the queries' self-scores (Q).

    Every completion of a word gets the highest weight among them, so that no text scores far above its query.
    """
    field_count, count = len(scores.terms.statistics), len(queries)
    rows, is_completion = np.array(terms.rows, np.int64), np.array(terms.is_completion, np.bool_)
    groups, size = rows * field_count + scores.terms.fields[numbers], count * field_count
    counts = np.array(terms.counts, np.float64)
    counts = np.where(is_completion, -_least(-counts, rows, is_completion, count)[rows], counts)

    def add_up(values: Floats) -> tuple[Floats, Floats]:
        """Return the sums over the finished words of each query and field, and the minima over its completions."""
        finished = np.bincount(groups[~is_completion], values[~is_completion], size)
        return np.asarray(finished, np.float64), _least(values, groups, is_completion, size)

    lengths = np.add(*add_up(counts))[groups]
    own, unfinished = add_up(counts * scores.score_in_text(numbers, counts, lengths))
    each = (1.0,) * field_count
    factors = np.array([query.field_factors or each for query in queries], np.float64).reshape(count, field_count)
    weights: Floats = (factors * np.array(fields.weights or each, np.float64)).ravel()
    if fields.relative and field_count > 1:
        weights = weights / np.where(own + unfinished > 0, own + unfinished, 1.0)
    best_unfinished = (weights * unfinished).reshape(count, field_count).max(axis=1)
    return weights[groups], (weights * own).reshape(count, field_count).sum(axis=1) + best_unfinished


def _least(values: Floats, groups: Array, is_completion: Array, size: int) -> Floats:
    """Return the minimum of the completions' values in each group, (size,); 0 for a group without any."""
    least = np.full(size, np.inf)
    np.minimum.at(least, groups[is_completion], values[is_completion])
    least[np.isinf(least)] = 0.0
    return least
