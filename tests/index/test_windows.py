"""Archives of several windows with long lists: every path of the search finds what scoring everything finds."""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pytest
from brute import ALL, assert_agrees, search

from askalike.core.hits import Collection
from askalike.index.lexical.builder import SegmentBuilder, round_lengths
from askalike.index.lexical.maxscore import WINDOW
from askalike.index.lexical.prepared import QueryTerms
from askalike.index.lexical.searcher import PostingsSearcher
from askalike.index.lexical.segment import LiveSegment
from askalike.index.rows import Excluded
from askalike.similarities import Similarity
from random_examples import LONG

DOCUMENTS = 2 * WINDOW + 9_000
SHARES = [0.6, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.004, 0.001, 0.0005, 0.0002, 0.0001, 0.00005]
WORDS = [f"w{i}" for i in range(len(SHARES))]


@dataclass
class Table:
    """Documents as rows of word counts: all are scored at once."""

    counts: np.ndarray
    numbers: np.ndarray
    phrasings: np.ndarray

    @cached_property
    def statistics(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, Collection]:
        """Df and ttf of each word, the length of each row, and the collection."""
        own = self.counts[self.phrasings == 0]
        lengths = round_lengths(self.counts.sum(1))
        return (own > 0).sum(0), own.sum(0), lengths, Collection(len(own), float(own.sum()))

    def truth(self, query: QueryTerms, similarity: Similarity, allowed: np.ndarray | None = None) -> dict[int, float]:
        df, ttf, lengths, collection = self.statistics
        scores = np.zeros(len(self.counts))
        for word in query.terms:
            tf, v = self.counts[:, WORDS.index(word)], WORDS.index(word)
            rows = np.flatnonzero(tf)
            scores[rows] += similarity.score(tf[rows], lengths[rows], df[v], ttf[v], collection)
        if query.excluded:
            docid, phrasing = query.excluded
            scores[(self.numbers == docid) & (self.phrasings == phrasing if phrasing is not None else True)] = 0
        if allowed is not None:
            scores[~np.isin(self.numbers, allowed)] = 0
        best = np.zeros(self.numbers.max() + 1)
        np.maximum.at(best, self.numbers, scores)
        docids = np.flatnonzero(best)
        return dict(zip(docids.tolist(), best[docids].tolist(), strict=True))

    def searcher(self, cuts: list[int]) -> PostingsSearcher:
        """Over one segment per stretch of rows."""
        segments = []
        for rows in np.split(np.arange(len(self.counts)), cuts):
            builder = SegmentBuilder()
            for row in rows:
                terms = [WORDS[v] for v in np.flatnonzero(self.counts[row]) for _ in range(self.counts[row, v])]
                builder.add(int(self.numbers[row]), int(self.phrasings[row]), terms)
            segments += map(LiveSegment.from_segment, builder.build())
        return PostingsSearcher(segments)


def table(rephrased: bool) -> Table:
    """Common words come in runs, so that some windows lack them and others are full of them."""
    random = np.random.default_rng(1)
    wave = 0.5 + 0.5 * np.sin(np.arange(DOCUMENTS)[:, None] / 3_000 + np.arange(len(SHARES)))
    counts = (random.random((DOCUMENTS, len(SHARES))) < np.array(SHARES) * 2 * wave).astype(np.int64)
    counts *= random.geometric(0.7, counts.shape)
    counts[np.arange(DOCUMENTS), random.integers(0, 3, DOCUMENTS)] += 1
    numbers = np.arange(DOCUMENTS)
    if rephrased:
        numbers = np.sort(random.integers(0, DOCUMENTS // 2, DOCUMENTS))
    phrasings = np.arange(DOCUMENTS) - np.searchsorted(numbers, numbers)
    return Table(counts, numbers, phrasings)


def make_queries(count: int) -> list[QueryTerms]:
    random = np.random.default_rng(2)
    sizes = random.integers(1, 7, count)
    return [
        QueryTerms(
            [WORDS[v] for v in random.choice(len(WORDS) if i % 2 else 6, n, replace=False)],
            None, Excluded(int(random.integers(DOCUMENTS // 4)), (None, 0, 1)[random.integers(3)]),
        )
        for i, n in enumerate(sizes)
    ]  # fmt: skip


@cache
def archive(kind: str) -> tuple[Table, PostingsSearcher]:
    """plain, rephrased, or plain in four segments."""
    documents = table(kind == "rephrased")
    return documents, documents.searcher([100, 5_000, DOCUMENTS - WINDOW - 500] if kind == "in four segments" else [])


@pytest.mark.parametrize("kind", ["plain", "rephrased", "in four segments"])
def test_the_archives_have_what_is_to_be_tested(kind):
    largest = archive(kind)[1].segments[0].segment
    assert len(largest.docids) > WINDOW
    assert 0 < np.count_nonzero(largest.bitmap_of >= 0) < len(largest.df)


@pytest.mark.parametrize("kind", ["plain", "rephrased"])
def test_finds_what_scoring_everything_finds(kind):
    truth, searcher = archive(kind)
    queries = make_queries(8 if LONG else 4)
    assert queries
    for similarity in ALL:
        expected = [truth.truth(q, similarity) for q in queries]
        for k in (1, 10, 300):
            for found, scores in zip(search(searcher, queries, similarity, k), expected, strict=True):
                assert_agrees(found.docids.tolist(), found.scores.tolist(), scores, k)


@pytest.mark.parametrize("similarity", ALL[:6] if LONG else ALL[:6:3])
@pytest.mark.parametrize("share", [0.0, 0.0002, 0.05, 0.9])
def test_a_filter_comes_before_the_ranking(similarity, share):
    truth, searcher = archive("rephrased")
    numbers = np.unique(truth.numbers)
    allowed = numbers[np.random.default_rng(3).random(len(numbers)) < share]
    queries = make_queries(5)
    assert queries
    for query, found in zip(queries, search(searcher, queries, similarity, 10, allowed), strict=True):
        expected = truth.truth(query, similarity, allowed)
        assert_agrees(found.docids.tolist(), found.scores.tolist(), expected, 10)
        assert len(found.docids) == min(10, len(expected))


def test_segments_do_not_change_a_result():
    queries = make_queries(60)
    assert len(queries) == 60
    for similarity in ALL:
        one, four = (search(archive(kind)[1], queries, similarity, 20) for kind in ("plain", "in four segments"))
        for a, b in zip(one, four, strict=True):
            assert a.docids.tolist() == b.docids.tolist()
            assert a.scores.tolist() == b.scores.tolist()


def test_completions_in_a_large_archive_match_the_best():
    searcher = archive("in four segments")[1]
    assert searcher.complete("w1")[:2] == ["w1", "w10"]
    similarity = ALL[0]
    singles = [search(searcher, [QueryTerms([w])], similarity, DOCUMENTS)[0] for w in searcher.complete("w1")]
    best: dict[int, float] = {}
    for found in singles:
        for number, score in zip(found.docids.tolist(), found.scores.tolist(), strict=True):
            best[number] = max(best.get(number, 0.0), score)
    for k in (1, 50):
        found = search(searcher, [QueryTerms([], "w1")], similarity, k)[0]
        assert_agrees(found.docids.tolist(), found.scores.tolist(), best, k)
