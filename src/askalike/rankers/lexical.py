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
from askalike.archive.view import View
from askalike.config import validated
from askalike.index.postings import Layout, PostingsIndex
from askalike.index.search import Found, QueryTerms, Searcher
from askalike.rankers._indexed import Indexed
from askalike.rankers._numbered import Asked, Numbers, Scores
from askalike.rankers._paths import directory
from askalike.rankers._ranker import Progress
from askalike.similarities._similarity import Similarity
from askalike.text.analyzer import Analyzer, AnalyzerSettings
from askalike.text.language import detect
from askalike.types import Answer, Contribution, Explanation, Markup, Question, Span

PROGRESS_EVERY = 2_000
REMEMBERED = 1_024
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
class _Text:
    """A text, plain, with its terms and where each stands."""

    plain: str
    spans: Sequence[tuple[str, int, int]]
    terms: frozenset[str]


class Lexical(Indexed[PostingsIndex]):
    """Lexical ranking by a similarity."""

    GRID: ClassVar[Mapping[str, Sequence[Any]]] = {"title_weight": (1.0, 2.0, 3.0, 5.0)}
    """What tuning tries besides the similarity's settings. Each weight has an index of its own."""
    _latest: tuple[tuple[View, Asked, bool], QueryTerms] | None = None

    def __init__(self, similarity: Similarity, settings: LexicalSettings | None = None, name: str = "lexical") -> None:
        self.name = name
        self.similarity = similarity
        self.settings = settings or LexicalSettings()
        own = {key: getattr(self.settings, key) for key in AnalyzerSettings.model_fields}
        self.analyzer = Analyzer(AnalyzerSettings(**own))
        self._looked_up = lru_cache(REMEMBERED)(self._text)

    @classmethod
    def named(cls, name: str, values: Mapping[str, Any]) -> Self:
        """Ranking by the similarity of that name; the values are its settings or the index's."""
        similarity = registry.load("similarity", name)
        ours = {k: v for k, v in values.items() if k in LexicalSettings.model_fields}
        others = {k: v for k, v in values.items() if k not in ours}
        return cls(validated(similarity, others, name), validated(LexicalSettings, ours, name), name)

    @property
    def values(self) -> Mapping[str, Any]:
        """See Ranker.values."""
        return {**self.settings.model_dump(by_alias=True), **self.similarity.model_dump(by_alias=True)}

    def paths(self, view: View) -> Sequence[Path]:
        """The directory of a view's index."""
        return (directory(view, f"terms-{view.of}-{self.settings.digest}"),)

    def prepare(self, view: View, asked: Sequence[Asked], prefix: bool) -> list[QueryTerms]:
        """The queries' terms. Those of one alone are remembered, as it is explained after it was found."""
        if len(asked) != 1:
            return [self._query(view, one, prefix) for one in asked]
        key, remembered = (view, asked[0], prefix), self._latest
        if remembered is None or remembered[0] != key:
            self._latest = remembered = key, self._query(view, asked[0], prefix)
        return [remembered[1]]

    def find(self, prepared: list[QueryTerms], k: int, allowed: Numbers | None) -> list[Found]:
        """See Numbered.find. Documents that share no word with the query are not found."""
        return self._searcher().search(prepared, self.similarity, k, allowed)

    def score(self, prepared: list[QueryTerms], candidates: Sequence[Numbers]) -> list[Scores]:
        """See Numbered.score. Documents that share no word with the query score 0."""
        return self._searcher().score(prepared, self.similarity, candidates)

    def explain_asked(
        self, view: View, asked: Asked, ids: Sequence[str], prefix: bool = False
    ) -> Mapping[str, Explanation]:
        """The words that matched, in which field, and what each added; the contributions add up to the score."""
        numbers = view.numbers(ids)
        (terms,) = self.prepare(view, [asked], prefix)
        rows = self._searcher().contributions(terms, self.similarity, list(numbers.values()))
        documents = view.get(numbers) if view.of == "questions" else {}
        completed = {term: terms.prefix for _, shared in rows for term, _ in shared if terms.prefix}
        surfaces = completed | self._surfaces(asked.query, view)
        return {
            id: self._explained(documents[id], surfaces, phrasing, shared)
            for id, (phrasing, shared) in zip(numbers, rows, strict=True)
            if id in documents
        }

    def _layout(self) -> Layout:
        fingerprint = hashlib.sha256(f"{self.settings.digest} {self.analyzer.fingerprint}".encode()).hexdigest()
        return Layout(fingerprint, self.settings.lengths == "exact", self.settings.weights[2])

    def _open(self, view: View) -> PostingsIndex:
        return PostingsIndex.open(self.paths(view)[0], self._layout())

    def _searcher(self) -> Searcher:
        return self._committed().searcher

    def _follow(self, view: View, index: PostingsIndex, change: int, progress: Progress | None) -> None:
        with index.writing() as writer:
            writer.delete(view.deleted(index.change))
            total = view.changed(index.change) if progress else 0
            for done, (number, phrasings) in enumerate(self._phrasings(view, index.change), 1):
                writer.add(number, phrasings)
                if progress and (done % PROGRESS_EVERY == 0 or done == total):
                    progress(done, total)
            writer.commit(change)

    def _phrasings(self, view: View, since: int) -> Iterator[tuple[int, list[tuple[int, list[str]]]]]:
        if view.of == "answers":
            for number, answer in view.answers(since):
                yield number, [(0, self._answer_terms(answer, view.language))]
            return
        for number, question in view.questions(since):
            texts = [(0, self._terms(question, view.language))]
            if self.settings.rephrasings:
                language = question.language or view.language
                texts += [(n, self._plain(text, language)) for n, text in enumerate(question.rephrasings, 1)]
            yield number, texts

    def _plain(self, text: str, language: str | None) -> list[str]:
        return self.analyzer.tokens(self.analyzer.text(text, "text"), language)

    def _answer_terms(self, answer: Answer, language: str | None) -> list[str]:
        return self.analyzer.tokens(self.analyzer.text(answer.body, answer.markup), language)

    def _terms(self, question: Question, language: str | None) -> list[str]:
        """The terms of the fields as one text, a field's as often as its weight says."""
        title, body, _ = self.settings.weights
        terms: list[str] = []
        language = question.language or language
        if "title" in self.settings.fields and question.title:
            terms += self._plain(question.title, language) * title
        if "body" in self.settings.fields and question.body:
            terms += self.analyzer.tokens(self.analyzer.text(question.body, question.markup), language) * body
        return terms

    def _query(self, view: View, asked: Asked, prefix: bool) -> QueryTerms:
        query, skips = asked.query, (asked.skip_number, asked.skip_phrasing)
        language = self._language(view, query)
        typed = self._typed(query)
        if not prefix:
            return QueryTerms([t for text in typed for t in self.analyzer.tokens(text, language)], None, *skips)
        *earlier, last = typed or [""]
        finished, unfinished = self.analyzer.prefix(last, language)
        terms = [t for text in earlier for t in self.analyzer.tokens(text, language)] + finished
        whole = self.analyzer.tokens(unfinished, language) if unfinished else ()
        return QueryTerms(terms, unfinished, *skips, whole)

    def _typed(self, query: Question) -> list[str]:
        """The query's texts, plain: its title, and its body where bodies are searched."""
        texts = [self.analyzer.text(query.title, "text")]
        if query.body and "body" in self.settings.fields:
            texts.append(self.analyzer.text(query.body, query.markup))
        return [t for t in texts if t]

    def _language(self, view: View, query: Question) -> str | None:
        if query.language or self.settings.language != "auto" or view.language or len(view.languages) < 2:
            return query.language or view.language
        return detect(f"{query.title} {query.body}"[:1000], view.languages)

    def _surfaces(self, query: Question, view: View) -> dict[str, str]:
        """Term → the word of the query that it stands for, as typed."""
        language = self._language(view, query)
        found: dict[str, str] = {}
        for text in self._typed(query):
            for term, start, end in self.analyzer.spans(text, language):
                found.setdefault(term, text[start:end])
        return found

    def _explained(
        self, question: Question, surfaces: Mapping[str, str], phrasing: int, shared: Sequence[tuple[str, float]]
    ) -> Explanation:
        language = question.language or (self._view.language if self._view else None)
        texts = {name: self._looked_up(*raw, language) for name, raw in self._fields(question, phrasing).items()}
        terms = {term for term, _ in shared}
        contributions = [
            Contribution(surfaces.get(t, t), tuple(f for f, text in texts.items() if t in text.terms), score)
            for t, score in shared
        ]
        marks = tuple(Span(f, a, b) for f, text in texts.items() for t, a, b in text.spans if t in terms)
        ordered = tuple(sorted(contributions, key=lambda c: -c.score))
        plain = {name: text.plain for name, text in texts.items()}
        return Explanation(sum(c.score for c in contributions), ordered, marks, plain)

    def _fields(self, question: Question, phrasing: int) -> dict[str, tuple[str, Markup]]:
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

    def _text(self, raw: str, markup: Markup, language: str | None) -> _Text:
        plain = self.analyzer.text(raw, markup)
        spans = self.analyzer.spans(plain, language)
        return _Text(plain, spans, frozenset(term for term, _, _ in spans))
