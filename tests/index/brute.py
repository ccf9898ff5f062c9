"""Reference scores for the index: every live document scored in plain Python, from its Counter."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from askalike.core import registry
from askalike.core.filters import AllowedDocs
from askalike.core.hits import Collection, TopDocs
from askalike.index.lexical.builder import SegmentBuilder, round_lengths
from askalike.index.lexical.prepared import FieldWeights, QueryTerms
from askalike.index.lexical.searcher import PostingsSearcher
from askalike.index.lexical.segment import LiveSegment
from askalike.index.lexical.term_scores import MAX_REPHRASING_GAIN, TermScorer
from askalike.index.lexical.terms import field_of, mark_terms, word_of
from askalike.index.rows import Excluded
from askalike.similarities import Similarity

Documents = Mapping[int, Sequence[tuple[int, Sequence[str]]]]
"""Docid → its phrasings as (phrasing, terms)."""

SIX = [registry.load("similarity", name)() for name in registry.names("similarity")]


def variants() -> list[Similarity]:
    """Settings that stretch the six: no length normalisation, no saturation, statistics over 1."""
    return [
        registry.load("similarity", "bm25")(k1=50.0, b=0.0),
        registry.load("similarity", "tfidf")(idf_power=2.0),
        registry.load("similarity", "ib")(normalisation="none", lam="ttf"),
        registry.load("similarity", "ib")(distribution="spl", normalisation="z"),
        registry.load("similarity", "dfr")(basic_model="ine", after_effect="b", normalisation="h1"),
        registry.load("similarity", "dfr")(basic_model="if", normalisation="h3"),
        registry.load("similarity", "lm_dirichlet")(mu=3.0),
    ]


ALL = [*SIX, *variants()]


exclusions = st.none() | st.builds(Excluded, st.integers(0, 5), st.sampled_from([None, 0, 1]))


def is_excluded(excluded: Excluded | None, docid: int, phrasing: int) -> bool:
    return excluded is not None and excluded.docid == docid and excluded.phrasing in (None, phrasing)


@dataclass
class Brute:
    """Scores documents by the definition, with statistics of each field. Lengths are rounded unless exact."""

    documents: Documents
    exact: bool = False
    field_count: int = 1
    fields: FieldWeights = ()
    df: Counter[str] = field(default_factory=Counter)
    ttf: Counter[str] = field(default_factory=Counter)
    bounds: dict[tuple[str, Similarity], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        own = [terms for phrasings in self.documents.values() for phrasing, terms in phrasings if phrasing == 0]
        for terms in own:
            self.df.update(set(terms))
            self.ttf.update(terms)
        self.longest, self.collections = [], []
        for field_number in range(self.field_count):
            lengths = [self.lengths(terms)[field_number] for terms in own]
            with_words = max(sum(map(bool, lengths)), 1)
            self.longest.append(max(lengths, default=0))
            self.collections.append(Collection(with_words, float(sum(lengths) or with_words)))

    def field(self, term: str) -> int:
        return min(field_of(term), self.field_count - 1)

    def lengths(self, terms: Sequence[str]) -> list[int]:
        counts = Counter(map(self.field, terms))
        return [counts[n] for n in range(self.field_count)]

    def scores(self, query: QueryTerms, similarity: Similarity, allowed: set[int] | None = None) -> dict[int, float]:
        """The positive score of every question that the query may find, as its best phrasing's."""
        best: dict[int, float] = {}
        group = self.group(query)
        for number, phrasings in self.documents.items():
            for phrasing, terms in phrasings:
                if is_excluded(query.excluded, number, phrasing) or (allowed is not None and number not in allowed):
                    continue
                score = self.score(query, group, terms, similarity)
                if score > best.get(number, 0.0):
                    best[number] = score
        return best

    def score(
        self,
        query: QueryTerms,
        group: Sequence[str],
        terms: Sequence[str],
        similarity: Similarity,
    ) -> float:
        held, lengths = Counter(terms), self.lengths(terms)

        def part(term: str) -> float:
            length = lengths[self.field(term)]
            seen = length if self.exact else int(round_lengths(max(length, 1)))
            score = self.formula(term, similarity, held[term], seen)
            return (self.fields or [1.0] * self.field_count)[self.field(term)] * min(
                score, MAX_REPHRASING_GAIN * self.bound(term, similarity)
            )

        parts = [n * part(t) for t, n in Counter(query.terms).items() if t in held]
        best: dict[int, float] = {}
        for term in group:
            if term in held:
                best[self.field(term)] = max(best.get(self.field(term), 0.0), part(term))
        return float(np.sum(np.sort(parts))) + sum(best.values())

    def formula(self, term: str, similarity: Similarity, tf: float, length: float) -> float:
        collection = self.collections[self.field(term)]
        return float(similarity.score(tf, length, self.df[term], self.ttf[term], collection))

    def bound(self, term: str, similarity: Similarity) -> float:
        """What a word can score at most in an own text: no text holds more of it than its length, or than all do."""
        if (term, similarity) not in self.bounds:
            lengths = 2.0 ** np.arange(self.longest[self.field(term)].bit_length() + 1)
            tf = np.minimum(2 * lengths, max(self.ttf[term], 1.0))
            scores = similarity.score(tf, lengths, self.df[term], self.ttf[term], self.collections[self.field(term)])
            self.bounds[term, similarity] = float(scores.max())
        return self.bounds[term, similarity]

    def group(self, query: QueryTerms) -> list[str]:
        """What the unfinished word may stand for: itself as a whole word, and its 50 most frequent completions."""
        if not query.prefix:
            return []
        df: Counter[str] = Counter()
        for term in {t for phrasings in self.documents.values() for _, terms in phrasings for t in terms}:
            word = word_of(term) if self.field(term) else term
            df[word] = max(df[word], self.df[term])
        found = sorted((t for t in df if t.startswith(query.prefix)), key=lambda t: (-df[t], t))[:50]
        words = dict.fromkeys([*query.prefix_terms, *found])
        marked = [t for number in range(self.field_count) for t in mark_terms(words, number)]
        return [t for t in marked if t not in query.terms]


def fresh(documents: Documents, exact: bool = False, field_count: int = 1) -> PostingsSearcher:
    """A search over an index that was built of these documents at once."""
    builder = SegmentBuilder(exact, field_count)
    for number in sorted(documents):
        for phrasing, terms in documents[number]:
            builder.add(number, phrasing, terms)
    segments = builder.build() if len(builder) else []
    return PostingsSearcher([LiveSegment.from_segment(segment) for segment in segments], field_count)


def search(
    searcher: PostingsSearcher,
    queries: Sequence[QueryTerms],
    similarity: TermScorer,
    k: int,
    allowed: np.ndarray | None = None,
    fields: FieldWeights = (),
) -> list[TopDocs]:
    """The k best documents of queries that are prepared and searched at once."""
    return searcher.search(
        searcher.prepare(queries, similarity, fields), k, None if allowed is None else AllowedDocs(lambda: allowed)
    )


def score(
    searcher: PostingsSearcher,
    queries: Sequence[QueryTerms],
    similarity: TermScorer,
    pools: Sequence[np.ndarray],
    fields: FieldWeights = (),
) -> list[np.ndarray]:
    """The scores of each query's pool, for queries that are prepared and scored at once."""
    return searcher.match(searcher.prepare(queries, similarity, fields), pools).scores


def assert_agrees(numbers: Sequence[int], scores: Sequence[float], truth: Mapping[int, float], k: int) -> None:
    """Best first, ties by number, the scores as they should be, and nothing better left out (to 1e-6)."""
    pairs = list(zip(numbers, scores, strict=True))
    assert pairs == sorted(pairs, key=lambda p: (-p[1], p[0]))
    assert len(set(numbers)) == len(numbers) <= k
    # Scores are whole numbers over a scale of the query's: they keep the promised 1e-6 down to very small ones.
    np.testing.assert_allclose(scores, [truth.get(n, 0.0) for n in numbers], rtol=1e-6, atol=1e-7)
    near = 1e-6 * max(truth.values(), default=0.0) + 1e-7
    least = scores[-1] if len(scores) == k else 0.0
    assert not {n for n, s in truth.items() if s > least + near} - set(numbers)
    if np.count_nonzero(np.fromiter(truth.values(), np.float64, len(truth)) > near) >= k:
        assert len(numbers) == k
