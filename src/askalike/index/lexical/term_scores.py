"""Cache of term scores, computed once per similarity, term and segment."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askalike.core.types import Collection, Floats
from askalike.index.lexical.query_batch import ScoreTables
from askalike.index.lexical.segment import LiveSegment, Segment
from askalike.index.lexical.terms import field_of, move_term
from askalike.index.rows import find_distinct
from askalike.native.compiled import Matrix, compiled

MAX_REPHRASING_GAIN = 4
"""A term's score in a rephrasing is at most this many times its maximum score in a question's own text."""

TABLE_ENTRIES = 1 << 12
"""Number of entries of term tables that are computed at a time."""
MAX_INTEGER_SCORE = 2.0**28
"""Integer scores of questions' own texts stay below this."""


def integer_scale(bound: Floats) -> Floats:
    """Return the integer that a score of 1 becomes, for a query whose score in an own text is at most `bound`."""
    return np.asarray(2.0 ** np.floor(np.log2(MAX_INTEGER_SCORE / np.maximum(bound, 1e-9))), np.float64)


def round_to_integers(scores: Floats, scales: Floats) -> Floats:
    """Return terms' scores as integers on the scale of their queries; positive scores stay positive."""
    return np.asarray(np.maximum(np.floor(scores * scales + 0.5), scores > 0), np.float64)


def term_information(df: Floats, documents: ArrayLike) -> Floats:
    """Return the idf of each term, as Lucene computes it for BM25."""
    return np.log1p((np.asarray(documents) - df + 0.5) / (df + 0.5))


class TermScorer(Hashable, Protocol):
    """The interface of a similarity that the search needs; see askalike.similarities."""

    def score(self, tf: ArrayLike, length: ArrayLike, df: ArrayLike, ttf: ArrayLike, collection: Collection) -> Floats:
        """Return the scores of one term in one document; see Similarity.score."""


@dataclass(frozen=True, slots=True)
class FieldStatistics:
    """Statistics of one field of the live questions' own texts. max_length: the number of words in the longest."""

    collection: Collection
    max_length: int

    @classmethod
    def of_counts(cls, documents: int, total: int, max_length: int) -> "FieldStatistics":
        """Return the statistics. An empty collection counts as one document, so that means are numbers."""
        documents = max(documents, 1)
        return cls(Collection(documents, float(total or documents)), max_length)


def sum_statistics(segments: Sequence[LiveSegment], field_count: int) -> list[FieldStatistics]:
    """Return the statistics of each field, summed over the segments."""
    of_segments = [live.length_statistics for live in segments]
    columns = [zip((0, 0, 0), *(own[field] for own in of_segments), strict=True) for field in range(field_count)]
    return [FieldStatistics.of_counts(sum(counts), sum(tokens), max(lengths)) for counts, tokens, lengths in columns]


def score_fields(
    fields: NDArray[np.uint8], statistics: Sequence[FieldStatistics], score: Callable[[Any, FieldStatistics], Floats]
) -> Floats:
    """Return the score of each of n terms, by the statistics of its field.

    fields: (n). score: returns the scores of some of the terms, given by their positions, which are all in one field.
    """
    if len(statistics) == 1:
        return score(slice(None), statistics[0])
    scores = np.empty(len(fields))
    for field, own in enumerate(statistics):
        at = np.flatnonzero(fields == field)
        scores[at] = score(at, own)
    return scores


def score_bounds(similarity: TermScorer, df: Floats, ttf: Floats, statistics: FieldStatistics) -> Floats:
    """Return the maximum score of each term in a question's own text: float64 (n).

    A term's frequency is at most the text's length and the term's total. So it suffices to try a few lengths, each
    twice the one before, with frequencies of at most twice that. Rephrasings are ignored, so that adding a rephrasing
    does not change other scores.
    """
    lengths = 2.0 ** np.arange(statistics.max_length.bit_length() + 1)
    tf = np.minimum(2 * lengths, np.maximum(ttf[:, None], 1.0))
    return similarity.score(tf, lengths, df[:, None], ttf[:, None], statistics.collection).max(axis=1)


class KnownTerms:
    """The terms of queries so far, numbered by first occurrence.

    names: the terms. fields: uint8 (n), the field of each. df, ttf: float64 (n), over all segments. information:
    float64 (n), the idf in the field. segment_ids: per segment int64 (n), each term's position in the segment's
    dictionary, −1 if it does not have the term. originals: int64 (n), the term with the same postings in all segments
    and the same statistics, itself by default. statistics: of each field.
    """

    def __init__(self, segments: Sequence[LiveSegment], statistics: Sequence[FieldStatistics]) -> None:
        self.segments, self.statistics = segments, statistics
        self.names: list[str] = []
        self.fields = np.empty(0, np.uint8)
        self.df = np.empty(0, np.float64)
        self.ttf = np.empty(0, np.float64)
        self.information = np.empty(0, np.float64)
        self.segment_ids = [np.empty(0, np.int64) for _ in segments]
        self.originals = np.empty(0, np.int64)
        self._numbers: dict[str, int] = {}
        stored = {tuple(live.stored_fields) for live in segments}
        self._stored_fields = stored.pop() if len(stored) == 1 and segments[0].shares_terms else ()
        """The fields that all segments store fields as; empty if these differ."""

    def look_up(self, terms: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of each term. New terms are looked up in every segment."""
        if new := [t for t in dict.fromkeys(terms) if t not in self._numbers]:
            if self._stored_fields:
                originals = dict.fromkeys(move_term(term, self._stored_fields) for term in new)
                self._add([t for t in originals if t not in self._numbers])
                self._copy([t for t in new if t not in self._numbers])
            else:
                self._add(new)
        return np.array([self._numbers[t] for t in terms], np.int64)

    def _add(self, new: Sequence[str]) -> None:
        df, ttf = np.zeros(len(new), np.int64), np.zeros(len(new), np.int64)
        for at, live in enumerate(self.segments):
            ids = live.find(new)
            self.segment_ids[at] = np.append(self.segment_ids[at], ids)
            segment_df, segment_ttf = live.term_statistics(ids)
            df += segment_df
            ttf += segment_ttf
        self.df = np.append(self.df, df)
        self.ttf = np.append(self.ttf, ttf)
        last = len(self.statistics) - 1
        fields = np.array([min(field_of(term), last) for term in new], np.uint8)
        documents = np.array([own.collection.documents for own in self.statistics])[fields]
        self.information = np.append(self.information, term_information(df.astype(np.float64), documents))
        self._name(new, fields, np.arange(len(self.names), len(self.names) + len(new)))

    def _copy(self, new: Sequence[str]) -> None:
        """Add terms of which all is known, as the same words are known in the field that theirs is stored as."""
        originals = np.array([self._numbers[move_term(term, self._stored_fields)] for term in new], np.int64)
        self.segment_ids = [np.append(ids, ids[originals]) for ids in self.segment_ids]
        columns = self.df, self.ttf, self.information
        self.df, self.ttf, self.information = (np.append(column, column[originals]) for column in columns)
        self._name(new, np.array(list(map(field_of, new)), np.uint8), originals)

    def _name(self, new: Sequence[str], fields: NDArray[np.uint8], originals: NDArray[np.int64]) -> None:
        self._numbers.update(zip(new, range(len(self.names), len(self.names) + len(new)), strict=True))
        self.names += new
        self.fields = np.append(self.fields, fields)
        self.originals = np.append(self.originals, originals)


class TermScores:
    """The scores of known terms under one similarity.

    bounds: float64 (n), the maximum score of each computed term in a question's own text.
    """

    def __init__(self, terms: KnownTerms, similarity: TermScorer) -> None:
        self.terms = terms
        self.bounds = np.empty(0, np.float64)
        self._similarity = similarity
        self._computed = np.empty(0, np.bool_)
        self._starts = [np.empty(0, np.int64) for _ in terms.segments]
        self._entries = [_GrowableArray() for _ in terms.segments]

    @property
    def largest_table(self) -> int:
        """The maximum number of scores of a segment."""
        return max((entries.size for entries in self._entries), default=0)

    def compute(self, numbers: NDArray[np.int64]) -> None:
        """Compute the scores of those terms that are not cached."""
        if (more := len(self.terms.names) - len(self._computed)) > 0:
            self._computed = np.append(self._computed, np.zeros(more, np.bool_))
            self.bounds = np.append(self.bounds, np.zeros(more))
            self._starts = [np.append(starts, np.full(more, -1)) for starts in self._starts]
        new = numbers[~self._computed[numbers]]
        if not len(new):
            return
        originals = self.terms.originals[new]
        self._compute_new(find_distinct(originals[~self._computed[originals]]))
        for column in (self.bounds, *self._starts):
            column[new] = column[originals]
        self._computed[new] = self._computed[originals] = True

    def _compute_new(self, new: NDArray[np.int64]) -> None:
        if not len(new):
            return
        self.bounds[new] = self._compute_bounds(new)
        for at, live in enumerate(self.terms.segments):
            present = new[self.terms.segment_ids[at][new] >= 0]
            for field, own in enumerate(self.terms.statistics):
                in_field = present[self.terms.fields[present] == field]
                self._compute_tables(at, live.segment, in_field, own.collection)

    def _compute_tables(self, at: int, segment: Segment, numbers: NDArray[np.int64], collection: Collection) -> None:
        """Append the tables of some terms of a field, a few at a time, so that their columns stay in the cache."""
        ids = self.terms.segment_ids[at][numbers]
        sizes = np.minimum(segment.starts[ids + 1] - segment.starts[ids], len(segment.code_tf))
        ends = np.cumsum(sizes)
        first = 0
        while first < len(numbers):
            begin = ends[first] - sizes[first]
            last = max(first + 1, int(np.searchsorted(ends, begin + TABLE_ENTRIES, "right")))
            some = slice(first, last)
            values = np.stack((self.terms.df[numbers[some]], self.terms.ttf[numbers[some]], self.bounds[numbers[some]]))
            columns = np.empty((5, ends[last - 1] - begin))
            _fill_columns(
                segment.starts, segment.codes, segment.code_tf, segment.code_length, ids[some], values, columns
            )
            tf, length, df, ttf, bound = columns
            scores = self._similarity.score(tf, length, df, ttf, collection)
            start = self._entries[at].append(np.minimum(scores, MAX_REPHRASING_GAIN * bound))
            self._starts[at][numbers[some]] = start + ends[some] - sizes[some] - begin
            first = last

    def segment_tables(self, at: int) -> ScoreTables:
        """Return the tables of one segment."""
        live, segment = self.terms.segments[at], self.terms.segments[at].segment
        return ScoreTables(
            self.terms.segment_ids[at], self._starts[at], self._entries[at].values, len(segment.code_tf),
            live.shares_terms, segment.pareto_starts, segment.pareto,
        )  # fmt: skip

    def score_in_text(self, numbers: NDArray[np.int64], tf: Floats, length: Floats) -> Floats:
        """Return the score of each term in a field of that length, in words, in which it occurs tf times."""
        df, ttf = self.terms.df[numbers], self.terms.ttf[numbers]

        def score(at: Any, own: FieldStatistics) -> Floats:
            return self._similarity.score(tf[at], length[at], df[at], ttf[at], own.collection)

        return score_fields(self.terms.fields[numbers], self.terms.statistics, score)

    def _compute_bounds(self, numbers: NDArray[np.int64]) -> Floats:
        """Return the maximum score of each term in a question's own text."""
        df, ttf = self.terms.df[numbers], self.terms.ttf[numbers]

        def bound(at: Any, own: FieldStatistics) -> Floats:
            return score_bounds(self._similarity, df[at], ttf[at], own)

        return score_fields(self.terms.fields[numbers], self.terms.statistics, bound)


class _GrowableArray:
    """A float64 array with spare capacity."""

    def __init__(self) -> None:
        self.values = np.empty(1 << 12, np.float64)
        self.size = 0

    def append(self, values: Floats) -> int:
        """Append values; return the position of the first."""
        start, self.size = self.size, self.size + len(values)
        if self.size > len(self.values):
            grown = np.empty(max(self.size, 2 * len(self.values)), np.float64)
            grown[:start] = self.values[:start]
            self.values = grown
        self.values[start : self.size] = values
        return start


@compiled()
def _fill_columns(
    starts: NDArray[np.int64], codes: NDArray[np.uint16], code_tf: NDArray[np.int32], code_length: NDArray[np.int32],
    ids: NDArray[np.int64], values: Matrix[np.float64], columns: Matrix[np.float64],
) -> None:  # fmt: skip
    """Write frequency and length of each entry of the terms' tables, and the values of its term.

    ids: the terms' positions in the dictionary. values: (3, terms). columns: (5, entries).
    """
    n = 0
    for i in range(len(ids)):
        start, size = starts[ids[i]], starts[ids[i] + 1] - starts[ids[i]]
        for j in range(min(size, len(code_tf))):
            code = np.int64(codes[start + j]) if size <= len(code_tf) else j
            columns[0, n], columns[1, n] = code_tf[code], code_length[code]
            columns[2, n], columns[3, n], columns[4, n] = values[0, i], values[1, i], values[2, i]
            n += 1
