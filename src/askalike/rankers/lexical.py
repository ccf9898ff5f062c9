"""Ranks by shared words: one of the similarities over an inverted index that follows the archive."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike import registry
from askalike.archive.view import View
from askalike.config import validated
from askalike.errors import NotFittedError
from askalike.index.postings import Layout, PostingsIndex
from askalike.index.search import QueryTerms, Searcher
from askalike.rankers._ranker import Progress
from askalike.similarities._similarity import Similarity
from askalike.text.analyzer import Analyzer, AnalyzerSettings
from askalike.text.language import detect
from askalike.types import Answer, Contribution, Explanation, Filter, Question, Run, Span

PROGRESS_EVERY = 2_000
PHRASING = re.compile("[1-9][0-9]{0,4}")


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


class Lexical:
    """Lexical ranking by a similarity."""

    GRID: ClassVar[Mapping[str, Sequence[Any]]] = {"title_weight": (1.0, 2.0, 3.0, 5.0)}
    """What tuning tries besides the similarity's settings. Each weight has an index of its own."""

    def __init__(self, similarity: Similarity, settings: LexicalSettings | None = None, name: str = "lexical") -> None:
        self.name = name
        self.similarity = similarity
        self.settings = settings or LexicalSettings()
        own = {key: getattr(self.settings, key) for key in AnalyzerSettings.model_fields}
        self.analyzer = Analyzer(AnalyzerSettings(**own))
        self._view: View | None = None
        self._index: PostingsIndex | None = None

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

    def fit(self, view: View) -> Self:
        """Nothing is learned: returns itself."""
        return self

    def index(self, view: View, progress: Progress | None = None) -> Self:
        """Opens the view's index and brings it up to the archive's last change."""
        change = view.change
        if self._index is None or self._view != view:
            self._view, self._index = view, PostingsIndex.open(self.path(view), self._layout())
        else:
            self._index.refresh()
        if self._index.change < change:
            self._follow(view, self._index, change, progress)
        return self

    def path(self, view: View) -> Path:
        """The directory of a view's index."""
        part = hashlib.sha256(f"{view.before} {view.group}".encode()).hexdigest()[:8]
        name = f"terms-{view.of}-{self.settings.digest}"
        return Path(view.archive) / "index" / (f"{name}-{part}" if view.before or view.group else name)

    def rank(
        self,
        queries: Mapping[str, Question],
        k: int,
        *,
        candidates: Mapping[str, Sequence[str]] | None = None,
        where: Filter | None = None,
        prefix: bool = False,
    ) -> Run:
        """See Ranker.rank. Documents that share no word with the query score 0 and come only as candidates."""
        view, searcher = self._opened()
        terms = self._queries(view, queries, prefix)
        if candidates is not None:
            return self._ranked(view, searcher, terms, candidates, k, where)
        allowed = view.matching(where) if where else None
        found = searcher.search(list(terms.values()), self.similarity, k, allowed)
        ids = view.ids(np.unique(np.concatenate([f.numbers for f in found])) if found else [])
        return Run(
            {
                q: ([ids[n] for n in f.numbers.tolist() if n in ids], f.scores[[n in ids for n in f.numbers.tolist()]])
                for q, f in zip(terms, found, strict=True)
            }
        )

    def explain(self, query: Question, ids: Sequence[str]) -> Mapping[str, Explanation]:
        """The words that matched, in which field, and what each added; the contributions add up to the score."""
        view, searcher = self._opened()
        terms = self._queries(view, {query.id: query}, False)[query.id]
        numbers = view.numbers(ids)
        rows = searcher.contributions(terms, self.similarity, list(numbers.values()))
        documents = view.get(numbers) if view.of == "questions" else {}
        surfaces = self._surfaces(query, view)
        return {
            id: self._explained(documents[id], surfaces, phrasing, shared)
            for id, (phrasing, shared) in zip(numbers, rows, strict=True)
            if id in documents
        }

    def _layout(self) -> Layout:
        fingerprint = hashlib.sha256(f"{self.settings.digest} {self.analyzer.fingerprint}".encode()).hexdigest()
        return Layout(fingerprint, self.settings.lengths == "exact", self.settings.weights[2])

    def _opened(self) -> tuple[View, Searcher]:
        if self._view is None or self._index is None:
            raise NotFittedError(f"{self.name}: nothing is indexed yet; call index(view) first")
        return self._view, self._index.searcher

    def _follow(self, view: View, index: PostingsIndex, change: int, progress: Progress | None) -> None:
        """Applies what has changed in the archive since the index's change number."""
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

    def _queries(self, view: View, queries: Mapping[str, Question], prefix: bool) -> dict[str, QueryTerms]:
        skips = _skips(view, queries)
        return {id: self._query(view, q, prefix, *skips.get(id, (-1, -1))) for id, q in queries.items()}

    def _query(self, view: View, query: Question, prefix: bool, number: int, phrasing: int) -> QueryTerms:
        language = self._language(view, query)
        typed = self._typed(query)
        if not prefix:
            return QueryTerms(
                [t for text in typed for t in self.analyzer.tokens(text, language)], None, number, phrasing
            )
        *earlier, last = typed or [""]
        finished, unfinished = self.analyzer.prefix(last, language)
        terms = [t for text in earlier for t in self.analyzer.tokens(text, language)] + finished
        whole = self.analyzer.tokens(unfinished, language) if unfinished else ()
        return QueryTerms(terms, unfinished, number, phrasing, whole)

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

    def _ranked(
        self,
        view: View,
        searcher: Searcher,
        terms: Mapping[str, QueryTerms],
        candidates: Mapping[str, Sequence[str]],
        k: int,
        where: Filter | None,
    ) -> Run:
        wanted = {id for q in terms for id in candidates.get(q, ())}
        numbers = view.numbers(wanted)
        if where:
            allowed = set(view.matching(where).tolist())
            numbers = {id: n for id, n in numbers.items() if n in allowed}
        pools = [_pool(candidates.get(q, ()), numbers, asked) for q, asked in terms.items()]
        rows = [np.array([numbers[id] for id in pool], np.int64) for pool in pools]
        scores = searcher.score(list(terms.values()), self.similarity, rows)
        return Run({q: _best(pool, s, k) for q, pool, s in zip(terms, pools, scores, strict=True)})

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
        texts = self._fields(question, phrasing)
        language = question.language or (self._view.language if self._view else None)
        spans = {name: self.analyzer.spans(text, language) for name, text in texts.items()}
        terms = {term for term, _ in shared}
        contributions = [
            Contribution(surfaces.get(t, t), tuple(f for f in texts if any(t == s[0] for s in spans[f])), score)
            for t, score in shared
        ]
        marks = tuple(Span(f, a, b) for f in texts for t, a, b in spans[f] if t in terms)
        ordered = tuple(sorted(contributions, key=lambda c: -c.score))
        return Explanation(sum(c.score for c in contributions), ordered, marks, texts)

    def _fields(self, question: Question, phrasing: int) -> dict[str, str]:
        if phrasing:
            if phrasing > len(question.rephrasings):  # the archive has changed since
                return {}
            return {"rephrasing": self.analyzer.text(question.rephrasings[phrasing - 1], "text")}
        texts = {}
        if "title" in self.settings.fields:
            texts["title"] = self.analyzer.text(question.title, "text")
        if "body" in self.settings.fields and question.body:
            texts["body"] = self.analyzer.text(question.body, question.markup)
        return texts


def _skips(view: View, queries: Mapping[str, Question]) -> dict[str, tuple[int, int]]:
    """What each query must not find: (its own question, −1), or (its question, its phrasing)."""
    if view.of == "answers":
        return {}
    own = view.numbers(queries)
    skips = {id: (number, -1) for id, number in own.items()}
    parts = {id: id.rpartition("#") for id in queries if id not in own}
    phrased = {id: (base, int(n)) for id, (base, _, n) in parts.items() if base and PHRASING.fullmatch(n)}
    numbers = view.numbers({base for base, _ in phrased.values()})
    return skips | {id: (numbers[base], n) for id, (base, n) in phrased.items() if base in numbers}


def _pool(candidates: Iterable[str], numbers: Mapping[str, int], query: QueryTerms) -> list[str]:
    """The candidates that are there, each once, without the question that the query itself is."""
    own = query.skip_number if query.skip_phrasing < 0 else -1
    return [id for id in dict.fromkeys(candidates) if numbers.get(id, own) != own]


def _best(ids: Sequence[str], scores: NDArray[np.float64], k: int) -> tuple[list[str], NDArray[np.float64]]:
    order = np.argsort(-scores, kind="stable")[:k]
    return [ids[i] for i in order], scores[order]
