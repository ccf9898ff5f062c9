"""Cache of term scores, computed once per similarity, term and segment."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askalike.core.arrays import Array, Bytes, Floats, Ints, Ints32
from askalike.core.hits import Collection
from askalike.index.lexical.maxscore import ZERO
from askalike.index.lexical.query_batch import ScoreTables
from askalike.index.lexical.segment import LiveSegment
from askalike.index.lexical.terms import field_of, move_term
from askalike.index.rows import find_distinct
from askalike.native.compiled import Matrix, RunLengthArray, compiled, prechecked

MAX_REPHRASING_GAIN = 4
"""A term's score in a rephrasing is at most this many times its maximum score in a question's own text."""

MIN_ROOM = 1 << 10
"""Minimum number of terms that columns grow by."""
ENTRIES_AT_ONCE = 1 << 16
"""Number of scores that are computed together: their columns stay in the processor's cache."""
GROWTH = 8
"""Factor by which the room for scores grows: memory that is not written yet costs nothing, and copies do."""
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
    fields: Bytes, statistics: Sequence[FieldStatistics], score: Callable[[Any, FieldStatistics], Floats]
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
    tf, lengths = _bound_texts(ttf, statistics.max_length)
    return similarity.score(tf, lengths, df[:, None], ttf[:, None], statistics.collection).max(axis=1)


def _bound_texts(ttf: Floats, max_length: int) -> tuple[Floats, Floats]:
    """Return the frequencies, (terms, lengths), and the lengths that terms' maximum scores are sought among."""
    lengths: Floats = 2.0 ** np.arange(max_length.bit_length() + 1, dtype=np.float64)
    return np.minimum(2 * lengths, np.maximum(ttf[:, None], 1.0)), lengths


class KnownTerms:
    """The terms that were looked up so far, numbered by first occurrence, as columns with spare room.

    names: the terms. fields: uint8, the field of each. df, ttf: float64, over all segments. information: float64, the
    idf in the field. segment_ids: int64, a row for each segment: each term's position in the segment's dictionary, −1
    if it does not have the term. originals: int64, the term with the same postings in all segments and the same
    statistics, itself by default. statistics: of each field.
    """

    def __init__(self, segments: Sequence[LiveSegment], statistics: Sequence[FieldStatistics]) -> None:
        self.segments, self.statistics = segments, statistics
        self.names: list[str] = []
        self.fields = np.empty(0, np.uint8)
        self.df = np.empty(0, np.float64)
        self.ttf = np.empty(0, np.float64)
        self.information = np.empty(0, np.float64)
        self.segment_ids = np.empty((len(segments), 0), np.int64)
        self.originals = np.empty(0, np.int64)
        self._numbers: dict[str, int] = {}
        stored = {tuple(live.stored_fields) for live in segments}
        self._stored_fields = stored.pop() if len(stored) == 1 and segments[0].shares_terms else ()
        """The fields that all segments store fields as; empty if these differ."""

    def look_up(self, terms: Sequence[str]) -> Ints:
        """Return the number of each term. New terms are looked up in every segment."""
        numbers = [*map(self._numbers.get, terms)]
        if new := list(dict.fromkeys(term for term, n in zip(terms, numbers, strict=True) if n is None)):
            if self._stored_fields:
                originals = dict.fromkeys(move_term(term, self._stored_fields) for term in new)
                self._add([t for t in originals if t not in self._numbers])
                self._copy([t for t in new if t not in self._numbers])
            else:
                self._add(new)
            numbers = [*map(self._numbers.__getitem__, terms)]
        return np.array(numbers, np.int64)

    def _add(self, new: Sequence[str]) -> None:
        own = self._make_room(len(new))
        df, ttf = np.zeros(len(new), np.int64), np.zeros(len(new), np.int64)
        for row, live in zip(self.segment_ids, self.segments, strict=True):
            ids = row[own] = live.find(new)
            segment_df, segment_ttf = live.term_statistics(ids)
            df += segment_df
            ttf += segment_ttf
        last = len(self.statistics) - 1
        fields = self.fields[own] = [min(field_of(term), last) for term in new] if last else 0
        documents = np.array([own.collection.documents for own in self.statistics])[fields]
        self.df[own], self.ttf[own], self.information[own] = df, ttf, term_information(df.astype(np.float64), documents)
        self.originals[own] = np.arange(own.start, own.stop)
        self._name(new)

    def _copy(self, new: Sequence[str]) -> None:
        """Add terms of which all is known, as the same words are known in the field that theirs is stored as."""
        own = self._make_room(len(new))
        originals = [self._numbers[move_term(t, self._stored_fields)] for t in new]
        for column in (self.df, self.ttf, self.information, *self.segment_ids):
            column[own] = column[originals]
        self.fields[own] = list(map(field_of, new))
        self.originals[own] = originals
        self._name(new)

    def _make_room(self, count: int) -> slice:
        """Return the rows of new terms. Columns grow by as much as they have: other threads may read the former."""
        size = len(self.names) + count
        room = len(self.df)
        if size > room:
            more = max(size - room, room, MIN_ROOM)
            columns = (self.fields, self.df, self.ttf, self.information, self.originals)
            grown = [np.append(column, np.zeros(more, column.dtype)) for column in columns]
            self.fields, self.df, self.ttf, self.information, self.originals = grown
            self.segment_ids = np.pad(self.segment_ids, ((0, 0), (0, more)))
        return slice(size - count, size)

    def _name(self, new: Sequence[str]) -> None:
        self._numbers.update(zip(new, range(len(self.names), len(self.names) + len(new)), strict=True))
        self.names += new


class TermScores:
    """The scores of known terms under one similarity.

    bounds: float64, the maximum score of each computed term in a question's own text.
    """

    def __init__(self, terms: KnownTerms, similarity: TermScorer) -> None:
        self.terms = terms
        self.bounds = np.empty(0, np.float64)
        self._similarity = similarity
        self._computed = np.empty(0, np.bool_)
        self._starts = np.empty((len(terms.segments), 0), np.int64)
        self._entries = np.empty(1 << 12, np.float64)
        self.size = 0
        """The number of entries of all tables."""
        self._make_tables()

    def compute(self, numbers: Ints) -> None:
        """Compute the scores of those terms that are not cached."""
        if (more := len(self.terms.df) - len(self._computed)) > 0:  # as much room as the terms have
            self._computed = np.append(self._computed, np.zeros(more, np.bool_))
            self.bounds = np.append(self.bounds, np.zeros(more))
            self._starts = np.append(self._starts, np.full((len(self._starts), more), -1), axis=1)
        new = numbers[~self._computed[numbers]]
        if not len(new):
            return
        originals = self.terms.originals[new]
        missing = find_distinct(originals[~self._computed[originals]])
        fields = self.terms.fields[missing]
        for field, own in enumerate(self.terms.statistics):
            self._append_tables(missing[fields == field], own)
        self.bounds[new], self._starts[:, new] = self.bounds[originals], self._starts[:, originals]
        self._computed[new] = self._computed[originals] = True
        self._make_tables()

    def _append_tables(self, numbers: Ints, statistics: FieldStatistics) -> None:
        """Compute the bounds of some terms of a field, and append their tables in all segments, many at a time."""
        terms = self.terms
        tf, lengths = _bound_texts(terms.ttf[numbers], statistics.max_length)
        sizes = np.full((1 + len(terms.segments), len(numbers)), len(lengths))
        for own, live, ids in zip(sizes[1:], terms.segments, terms.segment_ids, strict=True):
            _measure_tables(live.segment.starts, len(live.segment.code_tf), ids, numbers, own)
        ends = sizes.sum(axis=0).cumsum()
        start = done = 0
        while start < len(numbers):
            end = max(int(ends.searchsorted(done + ENTRIES_AT_ONCE, "right")), start + 1)
            self._append_run(numbers[start:end], tf[start:end], lengths, sizes[:, start:end], statistics.collection)
            start = end
            done = ends[end - 1]

    def _append_run(self, numbers: Ints, tf: Floats, lengths: Floats, sizes: Array, collection: Collection) -> None:
        """Do so in one formula. tf, lengths: see _bound_texts. sizes: (1 + segments, terms), of bounds and tables."""
        terms = self.terms
        count = len(numbers)
        ends = sizes.cumsum()
        first = tf.size
        columns = np.empty((2, ends[-1]))
        columns[:, :first].reshape(2, *tf.shape)[:] = tf, np.broadcast_to(lengths, tf.shape)
        for at, live in enumerate(terms.segments):
            lists = live.segment.starts, live.segment.codes, live.segment.code_tf, live.segment.code_length
            _write_texts(*lists, terms.segment_ids[at], numbers, ends[(at + 1) * count - 1 :], columns[0], columns[1])
        rows = np.concatenate([numbers] * len(sizes))
        df, ttf = RunLengthArray(terms.df[rows], ends), RunLengthArray(terms.ttf[rows], ends)
        scores = self._similarity.score(columns[0], columns[1], df, ttf, collection)
        if (size := self.size + len(scores) - first) > len(self._entries):
            grown = np.empty(max(size, GROWTH * len(self._entries)), np.float64)
            grown[: self.size] = self._entries[: self.size]
            self._entries = grown  # searches may still read the array that is replaced
        _store_scores(scores, ends, numbers, self.size, self.bounds, self._starts, self._entries)
        self.size = size

    def score_in_text(self, numbers: Ints, tf: Floats, length: Floats) -> Floats:
        """Return the score of each of n terms in a field of that length, in words, in which it occurs tf times.

        The result is (fields, n): by the statistics of each field.
        """
        df, ttf = self.terms.df[numbers], self.terms.ttf[numbers]
        collections = [own.collection for own in self.terms.statistics]
        return np.array([self._similarity.score(tf, length, df, ttf, own) for own in collections])

    def _make_tables(self) -> None:
        columns = zip(self.terms.segments, self.terms.segment_ids, self._starts, strict=True)
        self.tables = [prechecked(self._make_table(*own)) for own in columns]
        """Of each segment."""

    def _make_table(self, live: LiveSegment, ids: Array, starts: Array) -> ScoreTables:
        s = live.segment
        return ScoreTables(ids, starts, self._entries, len(s.code_tf), live.shares_terms, s.pareto_starts, s.pareto)


@compiled()
def _measure_tables(
    starts: Ints, code_count: int, ids: Ints, numbers: Ints,
    sizes: Ints,
) -> None:  # fmt: skip
    """Write the number of entries of each term's table in a segment."""
    for i in range(len(numbers)):
        term = ids[numbers[i]]
        sizes[i] = min(starts[term + 1] - starts[term], code_count) if term >= 0 else 0


@compiled()
def _write_texts(
    starts: Ints, codes: NDArray[np.uint16], code_tf: Ints32, code_length: Ints32,
    ids: Ints, numbers: Ints, ends: Ints, tf: Floats,
    lengths: Floats,
) -> None:  # fmt: skip
    """Write the frequency and the length that each entry of the terms' tables is the score of.

    ids: the positions of known terms in the dictionary. numbers: the terms. ends: where each one's entries end, after
    the position where the first one's begin.
    """
    for i in range(len(numbers)):
        size = ends[i + 1] - ends[i]
        term = ids[numbers[i]]
        by_code = size > 0 and starts[term + 1] - starts[term] > size
        for j in range(size):
            code = j if by_code else np.int64(codes[starts[term] + j])
            tf[ends[i] + j], lengths[ends[i] + j] = code_tf[code], code_length[code]


@compiled()
def _store_scores(
    scores: Floats, ends: Ints, numbers: Ints, size: int,
    bounds: Floats, starts: Matrix[np.int64], entries: Floats,
) -> None:  # fmt: skip
    """Write the bounds of terms, whose scores come first, and append the tables of each segment after `size` entries.

    ends: of the scores of each. numbers: the terms. A rephrasing gains no more than is allowed.
    """
    count = len(numbers)
    begin = ZERO
    first = ends[count - 1]
    for row in range(len(ends)):
        number = numbers[row % count]
        if row < count:
            bounds[number] = scores[begin]
            for i in range(begin, ends[row]):
                bounds[number] = max(bounds[number], scores[i])
        else:
            starts[row // count - 1, number] = size + begin - first
            most = MAX_REPHRASING_GAIN * bounds[number]
            own = entries[size + begin - first :]
            for i in range(ends[row] - begin):
                own[i] = min(scores[begin + i], most)
        begin = ends[row]
