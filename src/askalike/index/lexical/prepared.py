"""Queries on their way to the kernel: QueryTerms, collected as TermColumns, looked up as PreparedQueries.

A PreparedBatch of these knows what each term weighs, and what a query would score for its own words. Its `columns` are
the QueryBatch that the kernel reads.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, islice
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import Array, Floats
from askalike.index.lexical.query_batch import DocumentMatches, QueryBatch, compare_with_queries, list_term_scores
from askalike.index.lexical.term_scores import KnownTerms, TermScorer, TermScores, integer_scale
from askalike.index.lexical.terms import mark_terms, word_of
from askalike.index.rows import Excluded
from askalike.native.compiled import Matrix, compiled, prechecked


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """A query: its terms, the prefix of a word still being typed, and what it must not find.

    terms: those of each field, marked with it, see `mark_terms`. prefix_terms: the words that the unfinished word
    stands for in case it is complete, not marked. weights: term → its weight, instead of its frequency in `terms`.
    completion_weights: word → its weight as a completion of the unfinished word, 1 for any other. field_factors:
    factors of the fields' weights; empty for 1 each. word_factors: word → the factor of its weight, 1 for any other.
    """

    terms: Sequence[str]
    prefix: str | None = None
    excluded: Excluded | None = None
    prefix_terms: Sequence[str] = ()
    weights: Mapping[str, float] | None = None
    completion_weights: Mapping[str, float] = field(default_factory=dict)
    field_factors: Sequence[float] = ()
    word_factors: Mapping[str, float] = field(default_factory=dict)


FieldWeights = tuple[float, ...]
"""The factor of the score of each field, above 0; empty for 1 each."""


@dataclass(frozen=True, slots=True, eq=False)
class PreparedQueries:
    """Queries whose terms a searcher has looked up; only that searcher can use them.

    numbers: (M), of each term among the known ones.
    """

    queries: Sequence[QueryTerms]
    terms: "TermColumns"
    known: KnownTerms
    numbers: Array
    similarity: TermScorer
    fields: FieldWeights
    batch: "PreparedBatch | None"
    """All queries, if they are few enough. Larger numbers are prepared batch by batch during the search, since their
    scores may not fit into memory together."""

    def select(self, rows: range) -> "tuple[TermColumns, Array]":
        """Return some of the queries, which follow each other, and the numbers of their terms."""
        first, last = self.terms.offsets[[rows.start, rows.stop]]
        return self.terms.select(rows), self.numbers[first:last]


@dataclass(frozen=True, slots=True, eq=False)
class PreparedBatch:
    """Q queries with M terms on a state of an index with F fields.

    max_terms: the most of a query. factors: (Q, F), those of the fields' weights. own_texts: (3, M), of each word in a
    text with the words of its query: its frequency, the number of words in its field, and what its score there counts.
    """

    columns: QueryBatch
    max_terms: int
    factors: Floats
    own_texts: Floats
    scores: TermScores

    @classmethod
    def of_terms(
        cls, terms: "TermColumns", scores: TermScores, numbers: NDArray[np.int64], weights_of_fields: FieldWeights
    ) -> Self:
        """Weigh the queries' terms. numbers: (M), of each term among the known ones, whose scores are computed."""
        known = scores.terms
        fields = np.empty(len(numbers), np.int64)
        own_texts = np.empty((3, len(numbers)))
        of_fields = np.array(weights_of_fields or (1.0,) * len(known.statistics))
        factors, word_factors = terms.field_factors, terms.word_factors
        if factors is None:
            factors = np.ones((len(terms), len(of_fields)))
        (weights, information), bounds = np.empty((2, len(numbers))), np.empty(len(terms))
        max_terms = _weigh_terms(
            terms.offsets, numbers, terms.counts, terms.completes, known.fields, known.information, scores.bounds,
            of_fields, factors, np.empty(0) if word_factors is None else word_factors,
            fields, weights, information, own_texts, bounds,
        )  # fmt: skip
        columns = QueryBatch(
            terms.offsets, numbers, weights, fields, terms.completes, information, integer_scale(bounds),
            np.array(list(map(Excluded.to_numbers, terms.excluded)), np.int64).reshape(-1, 2),
        )  # fmt: skip
        return cls(prechecked(columns), max_terms, factors, own_texts, scores)

    def compare(self, matches: DocumentMatches, ends: Array) -> Floats:
        """Return the absolute scores of the queries' documents, see CandidateMatches; those of each end at `ends`."""
        counts, lengths, weights = self.own_texts
        scores = self.scores.score_in_text(self.columns.terms, counts, lengths)
        absolute = np.zeros(len(matches.scores))
        compare_with_queries(self.columns, scores, weights, self.factors, ends, matches, absolute)
        return absolute

    def name_scores(self, matches: DocumentMatches, rows: Array, ends: Array) -> list[list[tuple[str, float]]]:
        """Return each document's terms with their scores; of completions in a field, only the best.

        rows: of the documents in `matches`, which has term scores; those of each query end at `ends`.
        """
        size = len(rows) * self.max_terms
        terms, scores, counts = np.empty(size, np.int64), np.empty(size), np.empty(len(rows), np.int64)
        size = list_term_scores(self.columns, matches.term_scores, rows, ends, terms, scores, counts)
        names = map(self.scores.terms.names.__getitem__, terms[:size].tolist())
        named = zip(names, scores[:size].tolist(), strict=True)
        return [[*islice(named, count)] for count in counts.tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class TermColumns(Sequence[QueryTerms]):
    """Q queries as columns, M terms in total, each once per query. F fields.

    names: terms, marked with their fields. offsets: (Q + 1), where each query's terms begin. terms: (M), the index of
    each in the names; None if these are the terms in order. counts: (M), its frequency in the query. completes: (M),
    see QueryBatch. excluded: (Q), what each must not find. field_factors: (Q, F), factors of the fields' weights, and
    word_factors: (M), of the terms'; None for 1 each.
    """

    names: Sequence[str]
    offsets: Array
    terms: Array | None
    counts: Floats
    completes: Array
    excluded: Sequence[Excluded | None]
    field_factors: Floats | None = None
    word_factors: Floats | None = None

    @classmethod
    def of_queries(cls, queries: Sequence[QueryTerms], complete: Callable[[str], Sequence[str]], fields: int) -> Self:
        """Collect the terms of queries. complete: returns the completions of a prefix. fields: their number."""
        offsets = [0]
        names = list[str]()
        counts = list[float]()
        completes = list[int]()
        for query in queries:
            own = query.weights if query.weights is not None else Counter(query.terms)
            names += own
            counts += own.values()
            completes += [0] * len(own)
            prefixed = [*query.prefix_terms, *complete(query.prefix)] if query.prefix else []
            weight_of = query.completion_weights.get
            for number in range(fields if prefixed else 0):
                marked = zip(prefixed, mark_terms(prefixed, number), strict=True)
                found = {term: w for word, term in marked if term not in own and (w := weight_of(word, 1.0))}
                names += found
                counts += found.values()
                completes += [1 + number] * len(found)
            offsets.append(len(names))
        columns = cls(
            names, np.array(offsets, np.int64), None, np.array(counts, np.float64),
            np.array(completes, np.int64), [query.excluded for query in queries],
        )  # fmt: skip
        if any(query.field_factors for query in queries):
            factors = [query.field_factors or (1.0,) * fields for query in queries]
            columns = replace(columns, field_factors=np.array(factors, np.float64))
        if any(query.word_factors for query in queries):
            rows = zip(columns.rows.tolist(), names, strict=True)
            light = [queries[row].word_factors.get(word_of(name), 1.0) for row, name in rows]
            columns = replace(columns, word_factors=np.array(light, np.float64))
        return columns

    @classmethod
    def of_texts(
        cls, terms: tuple[Sequence[str], Array, Array], reads_bodies: Sequence[bool],
        excluded: Sequence[Excluded | None], field_factors: Floats | None = None,
    ) -> Self:  # fmt: skip
        """Count the terms of queries with a title and a body each, without unfinished words.

        terms: the distinct words, the index in these of each word of the queries' texts, and the index of each text's
        first word: a title's, then its body's. reads_bodies: of each field, whether it is compared with bodies, too.
        """
        words, numbers, ends = terms
        fields = len(reads_bodies)
        queries = len(ends) // 2
        offsets = np.zeros(queries + 1, np.int64)
        found = np.empty((2, fields * len(numbers)), np.int64)
        reads = np.array(reads_bodies, np.bool_)
        _count_words(numbers, ends, reads, np.full(fields * len(words), -1), offsets, found[0], found[1])
        keys, counts = found[:, : offsets[-1]]
        used = np.zeros(fields * len(words), np.bool_)
        used[keys] = True
        names = [
            name for field, own in enumerate(used.reshape(fields, len(words)))
            for name in mark_terms(compress(words, own.tolist()), field)
        ]  # fmt: skip
        return cls(
            names, offsets, (np.cumsum(used) - 1)[keys], counts.astype(np.float64), np.zeros(len(keys), np.int64),
            excluded, field_factors,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def rows(self) -> Array:
        """The query of each term, (M)."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def __getitem__(self, row: Any) -> Any:
        """Return a query as its terms, for searchers that read queries one by one."""
        if not 0 <= row < len(self):
            raise IndexError(row)
        own = self.select(range(row, row + 1))
        places = own.terms.tolist() if own.terms is not None else ()
        counted = zip(map(self.names.__getitem__, places), own.counts.astype(int).tolist(), strict=True)
        factors = () if own.field_factors is None else tuple(own.field_factors[0].tolist())
        typed = [term for term, n in counted for _ in range(n)]
        return QueryTerms(typed, None, self.excluded[row], field_factors=factors)

    def select(self, rows: range) -> Self:
        """Return some of the queries, which follow each other."""
        first, last = self.offsets[[rows.start, rows.stop]]
        own, of_terms = slice(rows.start, rows.stop), slice(first, last)
        return replace(
            self, offsets=self.offsets[rows.start : rows.stop + 1] - first,
            terms=np.arange(first, last) if self.terms is None else self.terms[of_terms],
            counts=self.counts[of_terms], completes=self.completes[of_terms],
            excluded=self.excluded[own],
            field_factors=None if self.field_factors is None else self.field_factors[own],
            word_factors=None if self.word_factors is None else self.word_factors[of_terms],
        )  # fmt: skip


@compiled()
def _weigh_terms(
    offsets: NDArray[np.int64], numbers: NDArray[np.int64], counts: NDArray[np.float64], completes: NDArray[np.int64],
    known_fields: NDArray[np.uint8], known_information: NDArray[np.float64], known_bounds: NDArray[np.float64],
    weights_of_fields: NDArray[np.float64], factors: Matrix[np.float64], word_factors: NDArray[np.float64],
    fields: NDArray[np.int64], weights: NDArray[np.float64], information: NDArray[np.float64],
    own_texts: Matrix[np.float64], bounds: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write the columns of a PreparedBatch, and the highest score of a text for each query; return `max_terms`.

    Every completion of an unfinished word counts as the heaviest and the least rare of those in its field, so that no
    text scores far above a query itself, but lighter ones say less. known_…: of the known terms. word_factors: (M), or
    empty.
    """
    max_terms = 0
    for q in range(len(bounds)):
        first = offsets[q]
        last = offsets[q + 1]
        bound = 0.0
        max_terms = max(max_terms, last - first)
        for m in range(first, last):
            fields[m], information[m] = known_fields[numbers[m]], known_information[numbers[m]]
            weights[m] = counts[m] * weights_of_fields[fields[m]] * factors[q, fields[m]]
            if len(word_factors):
                weights[m] *= word_factors[m]
            bound += weights[m] * known_bounds[numbers[m]]
        bounds[q] = bound
        for f in range(len(weights_of_fields)):
            words, most, least = 0.0, 0.0, np.inf
            for m in range(first, last):
                if fields[m] == f and completes[m]:
                    most = max(most, counts[m])
                    least = min(least, information[m])
                elif fields[m] == f:
                    words += counts[m]
            for m in range(first, last):
                if fields[m] == f:
                    own_texts[0, m], own_texts[1, m] = counts[m], words + (1.0 if most > 0.0 else 0.0)
                    own_texts[2, m] = weights[m]
                    if completes[m]:
                        own_texts[0, m], own_texts[2, m] = 1.0, most * (weights[m] / counts[m])
                        information[m] = least * counts[m]
    return max_terms


@compiled()
def _count_words(
    numbers: NDArray[np.int64], ends: NDArray[np.int64], reads_bodies: NDArray[np.bool_], last: NDArray[np.int64],
    offsets: NDArray[np.int64], keys: NDArray[np.int64], counts: NDArray[np.int64],
) -> None:  # fmt: skip
    """Write the distinct words of each field of each query as field · W + word, with their counts.

    See TermColumns.of_texts. last: (F · W), −1: where each word was last written.
    """
    words = len(last) // len(reads_bodies)
    n = 0
    for q in range(len(offsets) - 1):
        for f in range(len(reads_bodies)):
            start = n
            for at in range(ends[2 * q], ends[2 * q + 1 + reads_bodies[f]]):
                key = f * words + numbers[at]
                if last[key] < start:
                    last[key], keys[n], counts[n] = n, key, 0
                    n += 1
                counts[last[key]] += 1
        offsets[q + 1] = n
