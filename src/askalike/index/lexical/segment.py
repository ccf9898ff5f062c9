"""An immutable part of the index: the postings of some documents, as memory-mapped arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import Array, Bools, Ints, Ints32
from askalike.index.files import check_offsets, open_arrays, write_arrays
from askalike.index.lexical.maxscore import PostingArrays
from askalike.index.lexical.terms import (
    MARKS,
    find_field_range,
    find_prefix_range,
    find_terms,
    move_term,
    sign_terms,
    term_at,
)
from askalike.index.rows import NO_DELETIONS, LiveRows, TitleRows
from askalike.native.compiled import Matrix, compiled, prechecked

MAX_REMEMBERED_PREFIXES = 10_000
OF_TERMS = ("postings", "term_signatures")
"""Cached attributes of a segment that do not depend on deletions."""
NO_DELETED_STATISTICS = np.empty((0, 3), np.int64)


@dataclass(frozen=True, slots=True)
class Segment:
    """Documents by ascending docid, and the documents of each term. D documents, V terms, P postings.

    A posting's code stands for a (frequency, length) pair, from which scores are computed and which does not change
    with the collection's statistics. The length is that of the field that the term belongs to. F fields.

    Where all documents have the same words in two fields, as questions without bodies have in title and text, the terms
    of one stand for both.
    """

    docids: Array
    """int64 (D): the question (or answer) that each document belongs to."""
    phrasings: Array
    """uint16 (D): 0 for the question's own text, n for its n-th rephrasing."""
    lengths: Array
    """int32 (F, D): the number of tokens in each field of each document."""
    term_bytes: Array
    term_offsets: Array
    """The sorted dictionary (terms.py)."""
    starts: Array
    """int64 (V + 1): where each term's postings begin."""
    blocks: Array
    places: Array
    """uint16 (P): the posting's document as a block of 65,536 documents and a place in it, ascending within a term. A
    search reads only the places."""
    codes: Array
    """uint16 (P)."""
    code_tf: Array
    code_length: Array
    """int32 (C): the frequency and length that each code stands for; the length as the similarity uses it (rounded or
    exact)."""
    df: Array
    ttf: Array
    """int64 (V): the number of questions whose own text contains the term, and its occurrences there."""
    pareto_starts: Array
    pareto: Array
    """Per term, the codes that no other of its codes beats in both frequency and shortness, for its maximum score."""
    bitmap_of: Array
    """int32 (V): the row of a long list in the bitmaps, −1 for a short one."""
    bitmaps: Array
    """uint64 (B, ⌈D/64⌉): the documents of a long list as bits."""
    ranks: Array
    """int32 (B, ⌈D/64⌉): the number of the list's documents before each word of its bitmap."""
    title_keys: Array
    title_rows: Array
    """The documents that have a title, by its key, see TitleRows."""
    stored_fields: Array
    """int64 (F): the field whose terms each field has: itself, or an earlier one with the same words everywhere."""

    @property
    def titles(self) -> TitleRows:
        """The documents by the keys of their titles."""
        return TitleRows(self.title_keys, self.title_rows)

    def decode_docs(self, first: int, last: int) -> Array:
        """Return the documents of the postings first:last as positions in `docids`: int32."""
        return self.blocks[first:last].astype(np.int32) << 16 | self.places[first:last]

    @classmethod
    def open(cls, path: Path) -> Self:
        """Map the arrays into memory."""
        arrays = open_arrays(path)
        arrays = {"stored_fields": np.arange(len(arrays["lengths"])), **arrays}  # of older formats
        segment = cls(**{field.name: arrays[field.name] for field in fields(cls)})
        segment.check_bounds()
        return segment

    def check_bounds(self) -> None:
        """Raise ValueError if an array leads outside another one: compiled code does not check bounds."""
        check_offsets(self.term_offsets, len(self.term_bytes))
        check_offsets(self.starts, len(self.places))
        check_offsets(self.pareto_starts, len(self.pareto))
        terms = len(self.term_offsets) - 1
        documents = len(self.docids)
        postings = len(self.places)
        lengths = {
            "starts": terms + 1, "pareto_starts": terms + 1, "df": terms, "ttf": terms, "bitmap_of": terms,
            "phrasings": documents, "blocks": postings, "codes": postings,
            "code_length": len(self.code_tf), "ranks": len(self.bitmaps), "stored_fields": len(self.lengths),
        }  # fmt: skip
        wrong = [name for name, length in lengths.items() if len(getattr(self, name)) != length]
        if wrong := wrong or (["lengths"] if self.lengths.shape[1:] != (documents,) else []):
            raise ValueError(f"{wrong[0]} has another length than it should have")
        stored = self.stored_fields
        if bool((stored > np.arange(len(stored))).any() or (stored[stored] != stored).any()):
            raise ValueError("its fields are not stored as earlier ones")
        self.titles.check_bounds(documents)
        if self.bitmap_of.max(initial=-1) >= len(self.bitmaps) or bool((self.docids[1:] < self.docids[:-1]).any()):
            raise ValueError("its documents do not ascend, or a bitmap is missing")


class Completions(NamedTuple):
    """Words that begin with a prefix. is_all: whether no other does. next_df: the df of the next one, 0 without any."""

    words: Sequence[str]
    is_all: bool
    next_df: int


@dataclass(frozen=True, eq=False)
class LiveSegment(LiveRows):
    """A segment with the deletions made since it was written. Its rows are documents."""

    segment: Segment
    deleted_statistics: Array
    """int64 (n, 3): a term, and the decrease of its df and ttf due to deletions; terms ascend."""

    @classmethod
    def from_segment(
        cls, segment: Segment, deleted: Array = NO_DELETIONS, deleted_statistics: Array = NO_DELETED_STATISTICS
    ) -> Self:
        """Return a segment with deletions, or without any."""
        return cls(segment.docids, segment.phrasings, deleted, segment.titles, segment, deleted_statistics)

    def with_deleted(self, deleted: Array) -> Self:
        s = self.segment
        own_text = np.zeros(len(s.docids), np.bool_)
        own_text[deleted] = s.phrasings[deleted] == 0
        rows = np.empty((len(s.starts) - 1, 3), np.int64)
        changed = _sum_statistics(s.starts, s.blocks, s.places, s.codes, s.code_tf, own_text, rows)
        return self.from_segment(s, deleted, rows[:changed].copy())

    def with_stored_deletions(self, arrays: Mapping[str, Array]) -> Self:
        live = self.from_segment(self.segment, *(arrays[name] for name in ("deleted", "changed") if arrays))
        known = vars(self)
        vars(live).update((name, known[name]) for name in OF_TERMS if name in known)
        return live

    def save(self, folder: Path) -> None:
        folder.mkdir()
        segment = self.segment
        write_arrays(folder, {field.name: getattr(segment, field.name) for field in fields(Segment)})

    def deletion_arrays(self) -> Mapping[str, Array]:
        return {"deleted": self.deleted, "changed": self.deleted_statistics}

    @cached_property
    def postings(self) -> PostingArrays:
        """The arrays that the search reads."""
        return prechecked(PostingArrays(*(getattr(self.segment, name) for name in PostingArrays._fields)))

    @cached_property
    def term_signatures(self) -> tuple[Array, Array]:
        """The lengths and the letters of the dictionary's terms; see sign_terms."""
        return sign_terms(self.segment.term_bytes, self.segment.term_offsets)

    @cached_property
    def length_statistics(self) -> list[tuple[int, int, int]]:
        """For each field of live questions' own texts: the number with a word, all their words, the most of one."""
        fields = self.segment.lengths
        if self.has_rephrasings or len(self.deleted):
            fields = fields[:, self.live_mask & (self.phrasings == 0)]
        return [(int(np.count_nonzero(n)), int(n.sum(dtype=np.int64)), int(n.max(initial=0))) for n in fields]

    @cached_property
    def stored_fields(self) -> Sequence[int]:
        """See Segment."""
        fields: list[int] = self.segment.stored_fields.tolist()
        return fields

    @cached_property
    def own_fields(self) -> Sequence[int]:
        """The fields whose terms the segment has."""
        return sorted(set(self.stored_fields))

    @cached_property
    def shares_terms(self) -> bool:
        """Whether terms stand for words of several fields."""
        return len(self.own_fields) < len(self.stored_fields)

    def find(self, terms: Sequence[str]) -> Array:
        """Return the position of each term in the dictionary, −1 for a missing term: int64."""
        if self.shares_terms:
            terms = [move_term(term, self.stored_fields) for term in terms]
        return find_terms(self.segment.term_bytes, self.segment.term_offsets, terms)

    def term_statistics(self, ids: Array) -> tuple[Array, Array]:
        """Return (df, ttf) of terms, given by their positions in the dictionary; 0 where a position is −1."""
        known = ids >= 0
        df, ttf = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64)
        df[known], ttf[known] = self.segment.df[ids[known]], self.segment.ttf[ids[known]]
        if len(self.deleted_statistics):
            at = np.searchsorted(self.deleted_statistics[:, 0], ids)
            at[at == len(self.deleted_statistics)] = 0
            hit = self.deleted_statistics[at, 0] == ids
            df[hit] -= self.deleted_statistics[at[hit], 1]
            ttf[hit] -= self.deleted_statistics[at[hit], 2]
        return df, ttf

    def has_live_documents(self, ids: Array) -> Array:
        """Return which terms, given by their positions in the dictionary, occur in a live document."""
        return self._read_docids(ids, 1)[1] > 0 if len(self.deleted) else ids >= 0

    def first_docids(self, ids: Array, count: int) -> list[Array]:
        """Return the first live docids of terms, given by their positions in the dictionary, up to a limit: int64."""
        return [docids[:n] for docids, n in zip(*self._read_docids(ids, count), strict=True)]

    def _read_docids(self, ids: Array, count: int) -> tuple[Array, Array]:
        """Return the first live docids of terms, int64 (n, count), and how many there are, int64 (n)."""
        s = self.segment
        live = self.live_mask if len(self.deleted) else np.empty(0, np.bool_)
        docids = np.empty((len(ids), count), np.int64)
        found = np.zeros(len(ids), np.int64)
        _read_docids(s.starts, s.blocks, s.places, s.docids, live, ids, docids, found)
        return docids, found

    def prefix_range(self, field: int, prefix: str) -> range:
        """Return the positions of the terms of one of the segment's own fields whose words begin with a prefix."""
        dictionary = self.segment.term_bytes, self.segment.term_offsets
        if prefix:
            return find_prefix_range(*dictionary, MARKS[field] + prefix)
        return find_field_range(*dictionary, field, len(self.stored_fields))

    def complete(self, field: int, prefix: str, count: int) -> Completions:
        """Return the words of a field that begin with a prefix, at most `count`, by descending df; see Completions."""
        field = self.stored_fields[field]
        known = self._completions.get((field, prefix))
        if known is None or not (known.is_all or len(known.words) >= count):
            between = self.prefix_range(field, prefix)
            ids = np.arange(between.start, between.stop)
            df, _ = self.term_statistics(ids)
            order = np.argsort(-df, kind="stable")[: count + 1]
            words = [term[len(MARKS[field]) :] for term in self.terms_at(ids[order[:count]])]
            if len(self._completions) >= MAX_REMEMBERED_PREFIXES:
                self._completions.clear()
            is_all = len(order) <= count
            known = Completions(words, is_all, 0 if is_all else int(df[order[count]]))
            self._completions[field, prefix] = known
        return known

    @cached_property
    def _completions(self) -> dict[tuple[int, str], Completions]:
        """Cached completions of prefixes; kept by commits that do not change the segment."""
        return {}

    def terms_at(self, ids: Array) -> list[str]:
        """Return the terms at these positions of the dictionary."""
        return [term_at(self.segment.term_bytes, self.segment.term_offsets, int(i)) for i in ids]


@compiled()
def _read_docids(
    starts: Ints, blocks: NDArray[np.uint16], places: NDArray[np.uint16], docids: Ints,
    live: Bools, ids: Ints, firsts: Matrix[np.int64], found: Ints,
) -> None:  # fmt: skip
    """Write the first distinct live docids of each term, and their number. live: empty if all documents are."""
    for t in range(len(ids)):
        n = 0
        for i in range(starts[max(ids[t], 0)], starts[ids[t] + 1]):
            row = np.int64(blocks[i]) << 16 | np.int64(places[i])
            if (len(live) == 0 or live[row]) and (n == 0 or firsts[t, n - 1] != docids[row]):
                firsts[t, n] = docids[row]
                n += 1
                if n == firsts.shape[1]:
                    break
        found[t] = n


@compiled()
def _sum_statistics(
    starts: Ints, blocks: NDArray[np.uint16], places: NDArray[np.uint16], codes: NDArray[np.uint16],
    code_tf: Ints32, mask: Bools, rows: Matrix[np.int64],
) -> int:  # fmt: skip
    """Write (term, documents, occurrences) of each term in the documents of the mask; return the number of terms."""
    n = 0
    for v in range(len(starts) - 1):
        df = ttf = 0
        for i in range(starts[v], starts[v + 1]):
            if mask[np.int64(blocks[i]) << 16 | np.int64(places[i])]:
                df += 1
                ttf += code_tf[codes[i]]
        if df:
            rows[n, 0], rows[n, 1], rows[n, 2] = v, df, ttf
            n += 1
    return n
