"""Lexical ranking with pseudo-relevance feedback by RM3: the query is expanded with words of its top hits.

The relevance model (RM1: Lavrenko and Croft 2001) is P(w|R) ∝ Σ_d P(w|d) · P(q|d) over the top documents d. RM3
(Abdul-Jaleel et al. 2004) mixes its best words with the query: P'(w) = α · P(w|q) + (1 − α) · P(w|R). As in Anserini,
P(w|d) is a word's share of d, P(q|d) is d's share of the scores, and words in over a tenth of all documents are left
out.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field

from askalike.core.config import Settings
from askalike.core.errors import SettingsError
from askalike.core.types import TopDocs
from askalike.index.lexical.searcher import QueryTerms
from askalike.rankers._queries import ResolvedQuery
from askalike.rankers.lexical import LexicalRanker, LexicalSearcher, LexicalSettings, PreparedTerms, split_settings
from askalike.similarities import Similarity
from askalike.store import View

if TYPE_CHECKING:
    from askalike.opensearch.connection import OpenSearchConnection
    from askalike.opensearch.lexical import OpenSearchLexicalIndex

MAX_DOCUMENT_SHARE = 0.1
"""Words in more than this share of the documents are not used for expansion."""


class Rm3Settings(Settings):
    """Settings of the feedback. The defaults are Anserini's."""

    similarity: str = Field("bm25", description="the similarity; its settings and those of lexical are accepted, too")
    feedback_documents: int = Field(10, ge=1, description="number of first documents that new words are taken from")
    feedback_terms: int = Field(10, ge=1, description="number of words that are added to the query")
    original_weight: float = Field(0.5, ge=0, le=1, description="α, the weight of the query's own words")


class Rm3Ranker(LexicalRanker):
    """Two searches: one with the query, one with the query expanded by words of the first one's documents."""

    def __init__(
        self, similarity: Similarity, settings: LexicalSettings | None = None, feedback: Rm3Settings | None = None
    ) -> None:
        super().__init__(similarity, settings, "rm3")
        self.feedback = feedback or Rm3Settings()

    @classmethod
    def from_settings(cls, name: str, values: Mapping[str, Any], archive: Path | None = None) -> Self:
        """See Ranker.from_settings; the values are those of Rm3Settings, of its similarity or of the index."""
        feedback, similarity, index = split_settings(name, Rm3Settings, values)
        return cls(similarity, index, feedback)

    @property
    def values(self) -> Mapping[str, Any]:
        return {**super().values, **self.feedback.model_dump()}

    @property
    def grids(self) -> Sequence[Mapping[str, Sequence[Any]]]:
        """Return the numbers of documents and words to try, and the weights of the query's own words."""
        return ({"feedback_documents": (10, 3, 5), "feedback_terms": (10, 5, 20), "original_weight": (0.5, 0.7, 0.9)},)

    def open(self, view: View) -> "Rm3Searcher":
        if view.kind == "answers":
            raise SettingsError(f"rm3: ranks questions only; for answers, use {self.feedback.similarity}")
        return Rm3Searcher(self, view, self._built_index(view).searcher)

    def _open_cluster_index(self, cluster: "OpenSearchConnection", name: str, view: View) -> "OpenSearchLexicalIndex":
        raise SettingsError("rm3: a cluster's index cannot weight the words of a query; leave out engine")


class Rm3Searcher(LexicalSearcher):
    """See Rm3Ranker."""

    def __init__(self, ranker: Rm3Ranker, view: View, postings: Any) -> None:
        super().__init__(ranker, view, postings)
        self._feedback = ranker.feedback

    def prepare(self, queries: Sequence[ResolvedQuery], prefix: bool) -> PreparedTerms:
        """See Searcher.prepare; the first search is part of it."""
        first = super().prepare(queries, prefix)
        tops = super().retrieve(first, self._feedback.feedback_documents, None)
        documents = self._read_terms({docid for top in tops for docid in top.docids.tolist()})
        rows = zip(first.terms.queries, tops, strict=True)
        expanded = [self._expand(terms, top, documents) for terms, top in rows]
        return PreparedTerms(queries, first.languages, self._postings.prepare(expanded, self._ranker.similarity))

    def _read_terms(self, docids: Iterable[int]) -> Mapping[int, Sequence[str]]:
        """Return docid → the terms of that question's own text."""
        questions = self.view.questions_by_docid(sorted(docids))
        return {docid: self.own_terms(question) for docid, question in questions.items()}

    def _expand(self, query: QueryTerms, top: TopDocs, documents: Mapping[int, Sequence[str]]) -> QueryTerms:
        relevance = self._relevance_model(top, documents)
        if not relevance or not query.terms:
            return query
        alpha, total = self._feedback.original_weight, len(query.terms)
        weights: dict[str, float] = defaultdict(float)
        for term in query.terms:
            weights[term] += alpha / total
        for term, share in relevance.items():
            weights[term] += (1 - alpha) * share
        # Weights that sum to the number of the query's words keep scores at about the same level.
        return replace(query, weights={term: weight * total for term, weight in weights.items() if weight > 0})

    def _relevance_model(self, top: TopDocs, documents: Mapping[int, Sequence[str]]) -> dict[str, float]:
        """Return the best words of the documents with their probabilities P(w|R), which sum to 1."""
        shares: dict[str, float] = defaultdict(float)
        for docid, score in zip(top.docids.tolist(), top.scores.tolist(), strict=True):
            terms = documents.get(docid, ())
            for term in terms:
                shares[term] += score / len(terms)
        names = sorted(shares)
        frequencies = self._postings.term_frequencies(names)
        rare = frequencies.df / frequencies.collection.documents <= MAX_DOCUMENT_SHARE
        best = sorted(compress(names, rare), key=lambda name: -shares[name])[: self._feedback.feedback_terms]
        total = sum(shares[name] for name in best)
        return {name: shares[name] / total for name in best}
