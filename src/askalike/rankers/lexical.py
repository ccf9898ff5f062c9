"""Ranks by shared words: one of the similarities over an inverted index that follows the archive."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from askalike import registry
from askalike.config import validate_settings
from askalike.index.lexical.index import PostingsIndex, PostingsLayout
from askalike.index.lexical.searcher import PostingsSearcher, PreparedQueries, QueryTerms, TermContributions
from askalike.rankers._indexed import IndexedRanker
from askalike.rankers._numbered import Docids, ResolvedQuery, Scores
from askalike.rankers._paths import index_directory
from askalike.similarities._similarity import Similarity
from askalike.store.view import View
from askalike.text.analyzer import Analyzer, AnalyzerSettings
from askalike.text.language import detect_language
from askalike.types import Answer, Contribution, Explanation, Markup, Progress, Question, Span, TopDocs

PROGRESS_EVERY = 2_000
CACHED_TEXTS = 1_024
"""So many texts are remembered with their terms: while somebody types the same questions are found again and again."""


class LexicalSettings(AnalyzerSettings):
    """What decides about the index: how text becomes terms, and which texts count how much.

    With weights, a word's frequency and the text's length are weighted before the formula (as BM25F does).
    """

    fields: Literal["title", "body", "title,body"] = Field("title,body", description="what is searched, as one text")
    title_weight: float = Field(1.0, ge=0.01, le=100, description="how often a title's word counts")
    body_weight: float = Field(1.0, ge=0.01, le=100, description="how often a body's word counts")
    rephrasings: bool = Field(True, description="whether a question is found by its rephrasings too")
    lengths: Literal["byte", "exact"] = Field("byte", description="document lengths as Lucene rounds them, or exact")

    @property
    def weights(self) -> tuple[int, int, int]:
        """The weights of title and body in whole units, and how many units make 1."""
        title, body = (Fraction(w).limit_denominator(100) for w in (self.title_weight, self.body_weight))
        scale = title.denominator * body.denominator // np.gcd(title.denominator, body.denominator)
        return int(title * scale), int(body * scale), int(scale)

    @property
    def digest(self) -> str:
        """A short name for these settings: indexes of other settings stand beside this one."""
        return hashlib.sha256(json.dumps(self.model_dump(), sort_keys=True).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class _AnalyzedText:
    """A text, plain, with its terms and where each stands."""

    plain: str
    spans: Sequence[tuple[str, int, int]]
    terms: frozenset[str]


class LexicalRanker(IndexedRanker[PostingsIndex]):
    """Lexical ranking by a similarity."""

    GRID: ClassVar[Mapping[str, Sequence[Any]]] = {"title_weight": (1.0, 2.0, 3.0, 5.0)}
    """What tuning tries besides the similarity's settings. Each weight has an index of its own."""
    _cached: tuple[tuple[View, ResolvedQuery, bool, PostingsSearcher], PreparedQueries] | None = None

    def __init__(self, similarity: Similarity, settings: LexicalSettings | None = None, name: str = "lexical") -> None:
        self.name = name
        self.similarity = similarity
        self.settings = settings or LexicalSettings()
        own = {key: getattr(self.settings, key) for key in AnalyzerSettings.model_fields}
        self.analyzer = Analyzer(AnalyzerSettings(**own))
        self._analyze_cached = lru_cache(CACHED_TEXTS)(self._analyze)

    @classmethod
    def from_settings(cls, name: str, values: Mapping[str, Any]) -> Self:
        """Ranking by the similarity of that name; the values are its settings or the index's."""
        similarity = registry.load("similarity", name)
        ours = {k: v for k, v in values.items() if k in LexicalSettings.model_fields}
        others = {k: v for k, v in values.items() if k not in ours}
        return cls(validate_settings(similarity, others, name), validate_settings(LexicalSettings, ours, name), name)

    @property
    def values(self) -> Mapping[str, Any]:
        """See Ranker.values."""
        return {**self.settings.model_dump(by_alias=True), **self.similarity.model_dump(by_alias=True)}

    def index_paths(self, view: View) -> Sequence[Path]:
        """The directory of a view's index."""
        return (index_directory(view, f"terms-{view.kind}-{self.settings.digest}"),)

    def prepare(self, view: View, queries: Sequence[ResolvedQuery], prefix: bool) -> PreparedQueries:
        """The queries' terms. Those of one alone are remembered, as it is explained after it was found."""
        searcher = self._searcher()
        if len(queries) == 1 and self._cached and self._cached[0] == (view, queries[0], prefix, searcher):
            return self._cached[1]
        prepared = searcher.prepare([self._query_terms(view, one, prefix) for one in queries], self.similarity)
        if len(queries) == 1:
            self._cached = (view, queries[0], prefix, searcher), prepared
        return prepared

    def retrieve(self, prepared: PreparedQueries, k: int, allowed: Docids | None) -> list[TopDocs]:
        """See Numbered.find. Documents that share no word with the query are not found."""
        return self._searcher().search(prepared, k, allowed)

    def score(self, prepared: PreparedQueries, candidates: Sequence[Docids]) -> list[Scores]:
        """See Numbered.score. Documents that share no word with the query score 0."""
        return self._searcher().score(prepared, candidates)

    def explain_resolved(
        self, view: View, resolved: ResolvedQuery, ids: Sequence[str], prefix: bool = False
    ) -> Mapping[str, Explanation]:
        """The words that matched, in which field, and what each added; the contributions add up to the score."""
        numbers = view.docids(ids)
        prepared = self.prepare(view, [resolved], prefix)
        (terms,) = prepared.queries
        (rows,) = self._searcher().contributions(prepared, [np.array(list(numbers.values()), np.int64)])
        documents = view.get_questions(numbers) if view.kind == "questions" else {}
        completed = {term: terms.prefix for row in rows for term, _ in row.scores if terms.prefix}
        surfaces = completed | self._surface_forms(resolved.query, view)
        return {
            id: self._explain_document(documents[id], surfaces, row)
            for id, row in zip(numbers, rows, strict=True)
            if id in documents
        }

    def _layout(self) -> PostingsLayout:
        fingerprint = hashlib.sha256(f"{self.settings.digest} {self.analyzer.fingerprint}".encode()).hexdigest()
        return PostingsLayout(fingerprint, self.settings.lengths == "exact", self.settings.weights[2])

    def _open_index(self, view: View) -> PostingsIndex:
        return PostingsIndex.open(self.index_paths(view)[0], self._layout())

    def _searcher(self) -> PostingsSearcher:
        return self._require_index().searcher

    def _apply_changes(self, view: View, index: PostingsIndex, change: int, progress: Progress | None) -> None:
        with index.writer() as writer:
            writer.delete(view.deleted_docids(index.change))
            total = view.count_changed(index.change) if progress else 0
            for done, (number, phrasings) in enumerate(self._phrasings(view, index.change), 1):
                writer.add(number, phrasings)
                if progress and (done % PROGRESS_EVERY == 0 or done == total):
                    progress(done, total)
            writer.commit(change)

    def _phrasings(self, view: View, since: int) -> Iterator[tuple[int, list[tuple[int, list[str]]]]]:
        if view.kind == "answers":
            for number, answer in view.answers(since):
                yield number, [(0, self._answer_terms(answer, view.language))]
            return
        for number, question in view.questions(since):
            texts = [(0, self._question_terms(question, view.language))]
            if self.settings.rephrasings:
                language = question.language or view.language
                texts += [(n, self._plain_terms(text, language)) for n, text in enumerate(question.rephrasings, 1)]
            yield number, texts

    def _plain_terms(self, text: str, language: str | None) -> list[str]:
        return self.analyzer.analyze(self.analyzer.plain_text(text, "text"), language)

    def _answer_terms(self, answer: Answer, language: str | None) -> list[str]:
        return self.analyzer.analyze(self.analyzer.plain_text(answer.body, answer.markup), language)

    def _question_terms(self, question: Question, language: str | None) -> list[str]:
        """The terms of the fields as one text, a field's as often as its weight says."""
        title, body, _ = self.settings.weights
        terms: list[str] = []
        language = question.language or language
        if "title" in self.settings.fields and question.title:
            terms += self._plain_terms(question.title, language) * title
        if "body" in self.settings.fields and question.body:
            terms += self.analyzer.analyze(self.analyzer.plain_text(question.body, question.markup), language) * body
        return terms

    def _query_terms(self, view: View, resolved: ResolvedQuery, prefix: bool) -> QueryTerms:
        query, skips = resolved.query, (resolved.excluded_docid, resolved.excluded_phrasing)
        language = self._query_language(view, query)
        typed = self._query_texts(query)
        if not prefix:
            return QueryTerms([t for text in typed for t in self.analyzer.analyze(text, language)], None, *skips)
        *earlier, last = typed or [""]
        finished, unfinished = self.analyzer.split_prefix(last, language)
        terms = [t for text in earlier for t in self.analyzer.analyze(text, language)] + finished
        whole = self.analyzer.analyze(unfinished, language) if unfinished else ()
        return QueryTerms(terms, unfinished, *skips, whole)

    def _query_texts(self, query: Question) -> list[str]:
        """The query's texts, plain: its title, and its body where bodies are searched."""
        texts = [self.analyzer.plain_text(query.title, "text")]
        if query.body and "body" in self.settings.fields:
            texts.append(self.analyzer.plain_text(query.body, query.markup))
        return [t for t in texts if t]

    def _query_language(self, view: View, query: Question) -> str | None:
        if query.language or self.settings.language != "auto" or view.language or len(view.languages) < 2:
            return query.language or view.language
        return detect_language(f"{query.title} {query.body}"[:1000], view.languages)

    def _surface_forms(self, query: Question, view: View) -> dict[str, str]:
        """Term → the word of the query that it stands for, as typed."""
        language = self._query_language(view, query)
        found: dict[str, str] = {}
        for text in self._query_texts(query):
            for term, start, end in self.analyzer.analyze_with_spans(text, language):
                found.setdefault(term, text[start:end])
        return found

    def _explain_document(self, question: Question, surfaces: Mapping[str, str], row: TermContributions) -> Explanation:
        language = question.language or (self._view.language if self._view else None)
        texts = {
            name: self._analyze_cached(*raw, language)
            for name, raw in self._phrasing_fields(question, row.phrasing).items()
        }
        terms = {term for term, _ in row.scores}
        contributions = [
            Contribution(surfaces.get(t, t), tuple(f for f, text in texts.items() if t in text.terms), score)
            for t, score in row.scores
        ]
        marks = tuple(Span(f, a, b) for f, text in texts.items() for t, a, b in text.spans if t in terms)
        ordered = tuple(sorted(contributions, key=lambda c: -c.score))
        plain = {name: text.plain for name, text in texts.items()}
        return Explanation(sum(c.score for c in contributions), ordered, marks, plain)

    def _phrasing_fields(self, question: Question, phrasing: int) -> dict[str, tuple[str, Markup]]:
        """The texts that the phrasing has, with their markup."""
        if phrasing:
            known = phrasing <= len(question.rephrasings)  # else the archive has changed since
            return {"rephrasing": (question.rephrasings[phrasing - 1], "text")} if known else {}
        texts: dict[str, tuple[str, Markup]] = {}
        if "title" in self.settings.fields:
            texts["title"] = (question.title, "text")
        if "body" in self.settings.fields and question.body:
            texts["body"] = (question.body, question.markup)
        return texts

    def _analyze(self, raw: str, markup: Markup, language: str | None) -> _AnalyzedText:
        plain = self.analyzer.plain_text(raw, markup)
        spans = self.analyzer.analyze_with_spans(plain, language)
        return _AnalyzedText(plain, spans, frozenset(term for term, _, _ in spans))
