"""The inverted index, in a directory or in memory; for the order of writes see commits.py.

Statistics are sums over the live documents of all segments, so that an incrementally updated index gives exactly the
same scores as one built from scratch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from askalike.core import registry
from askalike.core.filters import AllowedDocs
from askalike.core.hits import TopDocs
from askalike.index.commits import CommittedIndex, CommittedSegment
from askalike.index.lexical.builder import SegmentBuilder, can_merge, merge_segments
from askalike.index.lexical.prepared import QueryTerms
from askalike.index.lexical.searcher import PostingsSearcher
from askalike.index.lexical.segment import LiveSegment, Segment
from askalike.index.lexical.term_scores import TermScorer
from askalike.index.rows import NO_ATTRIBUTES, DocAttributes
from askalike.index.writing import IndexWriter

BYTES_PER_TOKEN, BYTES_PER_MERGED_POSTING = 40, 64
"""Maximum bytes in memory per token when building a segment, and per posting when merging."""


@dataclass(frozen=True, slots=True)
class LexicalLayout:
    """The settings that an index was built with.

    fingerprint: a digest of what determines terms. field_count: the number of fields of a document, see `mark_terms`.
    """

    fingerprint: str = ""
    exact_lengths: bool = False
    field_count: int = 1


class LexicalIndex(CommittedIndex[LiveSegment, PostingsSearcher, LexicalLayout, "LexicalWriter"]):
    """An inverted index of documents: numbers (docids) with lists of terms. It knows neither texts nor an archive.

    >>> index = LexicalIndex.create()
    >>> index.add({7: ["reset", "my", "password"], 8: ["where", "is", "my", "order"]})
    >>> [top] = index.search([["forgot", "password"]], "bm25")
    >>> top.docids.tolist()
    [7]
    """

    FORMAT: ClassVar[int] = 7
    OLDER_FORMATS: ClassVar[Sequence[int]] = (6,)  # each field has postings of its own
    LAYOUT = LexicalLayout

    def add(self, documents: Mapping[int, Sequence[str]]) -> None:
        """Add documents, docid → terms of all fields, in one commit; they replace earlier ones of the same docid."""
        with self.write_lock(), self.writer() as writer:
            for docid in sorted(documents):
                writer.add(docid, [(0, documents[docid])])
            writer.commit(self.change + 1)

    def search(
        self, queries: Sequence[Sequence[str]], similarity: TermScorer | str = "bm25", k: int = 10,
        allowed: AllowedDocs | None = None,
    ) -> list[TopDocs]:  # fmt: skip
        """Return the k best documents of each query, a list of terms: best first, ties by docid.

        Documents without a term of the query are not found. similarity: its name stands for it with its defaults.
        allowed: the documents that may be found; None for all.
        """
        scorer = registry.load("similarity", similarity)() if isinstance(similarity, str) else similarity
        searcher = self.searcher
        return searcher.search(searcher.prepare([QueryTerms(terms) for terms in queries], scorer), k, allowed)

    def _make_writer(self) -> "LexicalWriter":
        return LexicalWriter(self)

    def _make_searcher(self, segments: Sequence[CommittedSegment[LiveSegment]]) -> PostingsSearcher:
        return PostingsSearcher([segment.live for segment in segments], self.layout.field_count)

    def _load_segment(self, folder: Path) -> LiveSegment:
        return LiveSegment.from_segment(Segment.open(folder))


class LexicalWriter(IndexWriter[LiveSegment]):
    """Adds questions (or answers) as lists of terms."""

    def __init__(self, index: LexicalIndex) -> None:
        super().__init__(index)
        self._layout = index.layout
        self._memory_bytes = index.memory_bytes
        self._builder = self._make_builder()

    def add(
        self, docid: int, phrasings: Sequence[tuple[int, Sequence[str]]], attributes: DocAttributes = NO_ATTRIBUTES
    ) -> None:
        """Add a question as (phrasing, terms), its own text being phrasing 0; it replaces the docid's earlier document.

        Docids must ascend from call to call. attributes: of these only the keys of titles are stored, as the archive
        itself applies filters.
        """
        self.delete((docid,))
        for phrasing, terms in phrasings:
            self._builder.add(docid, phrasing, terms, attributes.title_key(phrasing))
        if self._builder.token_count * BYTES_PER_TOKEN >= self._memory_bytes:
            self._flush()

    def _build_added(self) -> Sequence[LiveSegment]:
        builder = self._builder
        self._builder = self._make_builder()
        return list(map(LiveSegment.from_segment, builder.build())) if len(builder) else ()

    def _merge(self, segments: Sequence[LiveSegment]) -> Sequence[CommittedSegment[LiveSegment]]:
        masks = [live.live_mask for live in segments]
        merged = merge_segments([live.segment for live in segments], masks, self._layout.exact_lengths)
        return self._store(list(map(LiveSegment.from_segment, merged)))

    def _merge_key(self, segment: LiveSegment) -> int:
        return len(segment.segment.code_tf)

    def _can_merge(self, segments: Sequence[LiveSegment]) -> bool:
        postings = sum(len(s.segment.codes) * len(s.stored_fields) // len(s.own_fields) for s in segments)
        fits = postings * BYTES_PER_MERGED_POSTING <= self._memory_bytes
        return fits and can_merge([live.segment for live in segments])

    def _make_builder(self) -> SegmentBuilder:
        return SegmentBuilder(self._layout.exact_lengths, self._layout.field_count)
