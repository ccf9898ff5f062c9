"""Ranks by shared terms: a similarity over an inverted index that is kept in sync with the archive."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import numpy as np
from pydantic import Field

from askalike.core import registry
from askalike.core.config import Settings, validate_settings
from askalike.core.errors import SettingsError
from askalike.core.types import (
    AllowedDocs,
    Answer,
    Contribution,
    Explanation,
    Markup,
    Question,
    Span,
)
from askalike.index.engine import ArchiveIndex, IndexEngine, IndexLocation, TermsSearcher, TermsWriter
from askalike.index.lexical.index import LexicalLayout
from askalike.index.lexical.searcher import (
    QueryTerms,
    TermContributions,
)
from askalike.rankers._indexed import IndexedRanker, changed_documents
from askalike.rankers._queries import ResolvedQuery
from askalike.rankers._searcher import Docids, Explanations, Retrieved, Searcher, Texts
from askalike.rankers._spelling import SpellingCorrector
from askalike.similarities import Similarity
from askalike.store import View
from askalike.text.analyzer import Analyzer, AnalyzerSettings

TermScores = Sequence[tuple[str, float]]
"""Terms that a document shares with a query, with their contributions to the score."""
FieldTerms = tuple[str, Sequence[tuple[str, int, int]]]
"""A field, and the terms found in it, each with its start and end."""
PROGRESS_EVERY = 2_000


class LexicalSettings(AnalyzerSettings):
    """Settings of the index: the analysis of text, and the weights of fields.

    With weights, term frequency and text length are weighted before the formula is applied (as in BM25F).
    """

    fields: Literal["title", "body", "title,body"] = Field(
        "title,body", description="the fields that are searched, as one text"
    )
    title_weight: float = Field(1.0, ge=0.01, le=100, description="weight of a word in a title")
    body_weight: float = Field(1.0, ge=0.01, le=100, description="weight of a word in a body")
    rephrasings: bool = Field(True, description="whether a question is also found by its rephrasings")
    lengths: Literal["byte", "exact"] = Field(
        "byte", description="document lengths, rounded to a byte as Lucene does, or exact"
    )
    spelling: bool = Field(True, description="whether misspelt words are corrected to words of the archive")

    @property
    def weights(self) -> tuple[int, int, int]:
        """The weights of title and body as integers, and the integer that represents 1."""
        title, body = (Fraction(w).limit_denominator(100) for w in (self.title_weight, self.body_weight))
        scale = title.denominator * body.denominator // np.gcd(title.denominator, body.denominator)
        return int(title * scale), int(body * scale), int(scale)

    @property
    def digest(self) -> str:
        """A digest of these settings for the index's name: other settings have other indexes."""
        of_index = self.model_dump(exclude={"spelling"})
        return hashlib.sha256(json.dumps(of_index, sort_keys=True).encode()).hexdigest()[:12]


OwnSettings = TypeVar("OwnSettings", bound=Settings)


def split_settings(
    name: str, own_class: type[OwnSettings], values: Mapping[str, Any]
) -> tuple[OwnSettings, Similarity, LexicalSettings]:
    """Return a ranker's own settings, the similarity named by them, and the settings of its index.

    own_class: has a setting `similarity`. Raises SettingsError for an unknown similarity or setting.
    """
    own_values = {k: v for k, v in values.items() if k in own_class.model_fields}
    own = validate_settings(own_class, own_values, name)
    formula = getattr(own, "similarity")  # noqa: B009 (a setting of own_class)
    if formula not in registry.names("similarity"):
        known = ", ".join(registry.names("similarity"))
        raise SettingsError(f"{name}: no similarity is called {formula!r}; there are: {known}")
    of_index = {k: v for k, v in values.items() if k in LexicalSettings.model_fields}
    rest = {k: v for k, v in values.items() if k not in own_values and k not in of_index}
    similarity = validate_settings(registry.load("similarity", formula), rest, name)
    return own, similarity, validate_settings(LexicalSettings, of_index, name)


class TermExtractor:
    """Extracts the terms of documents and queries with a ranker's settings."""

    def __init__(self, settings: LexicalSettings) -> None:
        self.settings = settings
        self.analyzer = Analyzer(AnalyzerSettings(**{k: getattr(settings, k) for k in AnalyzerSettings.model_fields}))

    @property
    def fingerprint(self) -> str:
        """A digest of everything that determines the terms."""
        return hashlib.sha256(f"{self.settings.digest} {self.analyzer.fingerprint}".encode()).hexdigest()

    def phrasings(self, question: Question | Answer, language: str | None) -> list[tuple[int, list[str]]]:
        """Return the document's own terms as phrasing 0, then those of its rephrasings. language: the archive's."""
        if isinstance(question, Answer):
            return [(0, self._terms(question.body, question.markup, language))]
        language = question.language or language
        rephrasings = question.rephrasings if self.settings.rephrasings else ()
        others = (self._terms(text, "text", language) for text in rephrasings)
        return list(enumerate((self.own_terms(question, language), *others)))

    def query_texts(self, resolved: ResolvedQuery) -> list[str]:
        """Return the plain texts of a query: its title, and its body if bodies are searched."""
        query, is_plain = resolved.query, self.settings.links == "token"
        texts = [resolved.text if is_plain else self.analyzer.plain_text(query.title, "text")]
        if query.body and "body" in self.settings.fields:
            texts.append(self.analyzer.plain_text(query.body, query.markup))
        return [text for text in texts if text]

    def query_terms(self, resolved: ResolvedQuery) -> QueryTerms:
        """Return the terms of a query, whose last word may be unfinished."""
        excluded, language = (resolved.excluded_docid, resolved.excluded_phrasing), resolved.language
        texts = self.query_texts(resolved)
        if not resolved.prefix:
            return QueryTerms([t for text in texts for t in self.analyzer.analyze(text, language)], None, *excluded)
        *earlier, last = texts or [""]
        finished, unfinished = self.analyzer.split_prefix(last, language)
        terms = [t for text in earlier for t in self.analyzer.analyze(text, language)] + finished
        whole = self.analyzer.analyze(unfinished, language) if unfinished else ()
        return QueryTerms(terms, unfinished, *excluded, whole)

    def surface_forms(self, resolved: ResolvedQuery) -> dict[str, str]:
        """Return term → its word in the query, as typed."""
        forms: dict[str, str] = {}
        for text in self.query_texts(resolved):
            for term, start, end in self.analyzer.analyze_with_spans(text, resolved.language):
                forms.setdefault(term, text[start:end])
        return forms

    def phrasing_fields(self, question: Question, phrasing: int) -> dict[str, tuple[str, Markup]]:
        """Return field → the text of this phrasing of the question, with its markup."""
        if phrasing > len(question.rephrasings):  # the archive has changed since it was indexed
            return {}
        if phrasing:
            return {"rephrasing": (question.rephrasings[phrasing - 1], "text")}
        texts: dict[str, tuple[str, Markup]] = {}
        if "title" in self.settings.fields:
            texts["title"] = (question.title, "text")
        if "body" in self.settings.fields and question.body:
            texts["body"] = (question.body, question.markup)
        return texts

    def own_terms(self, question: Question, language: str | None) -> list[str]:
        """Return the terms of a question's fields as one text; each field's terms are repeated by its weight."""
        title, body, _ = self.settings.weights
        terms: list[str] = []
        if "title" in self.settings.fields and question.title:
            terms += self._terms(question.title, "text", language) * title
        if "body" in self.settings.fields and question.body:
            terms += self._terms(question.body, question.markup, language) * body
        return terms

    def _terms(self, text: str, markup: Markup, language: str | None) -> list[str]:
        return self.analyzer.analyze(self.analyzer.plain_text(text, markup), language)


class LexicalRanker(IndexedRanker[TermsSearcher, TermsWriter]):
    """Lexical ranking by a similarity."""

    def __init__(self, similarity: Similarity, settings: LexicalSettings | None = None, name: str = "lexical") -> None:
        self.name, self.similarity, self.settings = name, similarity, settings or LexicalSettings()
        self.extractor, self._digest = TermExtractor(self.settings), self.settings.digest
        self._corrector: tuple[View, TermsSearcher, SpellingCorrector] | None = None

    @classmethod
    def from_settings(cls, name: str, values: Mapping[str, Any], archive: Path | None = None) -> Self:
        """See Ranker.from_settings; the name is a similarity's, the values are its settings or the index's."""
        similarity = registry.load("similarity", name)
        ours = {k: v for k, v in values.items() if k in LexicalSettings.model_fields}
        others = {k: v for k, v in values.items() if k not in ours}
        return cls(validate_settings(similarity, others, name), validate_settings(LexicalSettings, ours, name), name)

    @property
    def values(self) -> Mapping[str, Any]:
        return {**self.settings.model_dump(by_alias=True), **self.similarity.model_dump(by_alias=True)}

    @staticmethod
    def text_grid(view: View, fields: str) -> Mapping[str, Sequence[Any]]:
        """Return the values to tune in addition to the similarity's settings, if they matter for the archive's texts.

        Each combination needs its own index.
        """
        grid: dict[str, Sequence[Any]] = {}
        if fields == "title,body" and view.has_bodies:
            grid["title_weight"] = (1.0, 2.0, 3.0, 5.0)
        if "body" in fields and view.has_code:
            grid["code"] = ("keep", "drop")
        return grid

    def open(self, view: View) -> "LexicalSearcher":
        return LexicalSearcher(self, view, self._built_index(view).searcher)

    def corrector(self, view: View, postings: TermsSearcher) -> SpellingCorrector:
        """Return the spelling corrector of queries, which caches words until the view or its index changes."""
        kept = self._corrector  # another thread may replace it
        if kept is None or kept[:2] != (view, postings):
            self._corrector = kept = (
                view,
                postings,
                SpellingCorrector(view, postings, self.extractor.analyzer, self.settings.spelling),
            )
        return kept[2]

    def _index_name(self, view: View) -> str:
        return f"terms-{view.kind}-{self._digest}"

    def _open_index(
        self, engine: IndexEngine, location: IndexLocation, view: View
    ) -> ArchiveIndex[TermsSearcher, TermsWriter]:
        exact_lengths = self.settings.lengths == "exact"
        layout = LexicalLayout(self.extractor.fingerprint, exact_lengths, self.settings.weights[2])
        return engine.lexical(location, layout, self.similarity)

    def _write_documents(self, view: View, writer: TermsWriter) -> Iterator[int]:
        done, sent_docid, language = 0, writer.sent_docid, view.language
        for done, (docid, document, attributes) in enumerate(changed_documents(view, writer.change), 1):
            if docid > sent_docid:
                writer.add(docid, self.extractor.phrasings(document, language), attributes)
            if done % PROGRESS_EVERY == 0:
                yield done
        if done % PROGRESS_EVERY:
            yield done


class LexicalSearcher(Searcher):
    """See LexicalRanker."""

    def __init__(self, ranker: LexicalRanker, view: View, postings: TermsSearcher) -> None:
        super().__init__(ranker.name, view)
        self._ranker, self._extractor = ranker, ranker.extractor
        self._postings = postings
        self.correctors = (ranker.corrector(view, postings),) if view.kind == "questions" else ()
        self.detects_language = ranker.settings.language == "auto"

    def retrieve(self, queries: Sequence[ResolvedQuery], k: int, allowed: AllowedDocs | None = None) -> Retrieved:
        """See Searcher.retrieve. Documents that share no word with the query are not retrieved."""
        encoded = self._look_up(queries)
        tops = self._postings.search(encoded, k, allowed)
        return Retrieved(queries, [top.docids for top in tops], [top.scores for top in tops], encoded=encoded)

    def score(
        self, queries: Sequence[ResolvedQuery], docids: Sequence[Docids], known: Retrieved | None = None
    ) -> Retrieved:
        """See Searcher.score. Documents that share no word with the query score 0.

        The absolute score is the mean of two ratios: score to the query's self-score, and matched to total idf.
        """
        encoded = known.encoded if known else self._look_up(queries)
        matches = self._postings.match(encoded, docids, known.topdocs if known else None)
        rows = zip(matches.scores, self._postings.self_scores(encoded), matches.coverage, strict=True)
        absolute = [(scores / (unit or 1.0) + share) / 2 for scores, unit, share in rows]
        return Retrieved(queries, docids, matches.scores, absolute, encoded=encoded, matches=matches)

    def explain(self, retrieved: Retrieved, docids: Sequence[Docids], texts: Texts) -> list[Explanations]:
        """Return the matching words with their fields and contributions, which add up to the score."""
        matches = self._postings.contributions(retrieved.encoded, docids, retrieved.matches)
        terms = retrieved.encoded.queries
        return [self._explain_query(*own, texts) for own in zip(retrieved.queries, terms, docids, matches, strict=True)]

    def _look_up(self, queries: Sequence[ResolvedQuery]) -> Any:
        """Return the queries' terms as the index knows them."""
        return self._postings.prepare(self._extract_terms(queries), self._ranker.similarity)

    def _extract_terms(self, queries: Sequence[ResolvedQuery]) -> list[QueryTerms]:
        return list(map(self._extractor.query_terms, queries))

    def _explain_query(
        self, one: ResolvedQuery, terms: QueryTerms, docids: Docids, matches: Sequence[TermContributions], texts: Texts
    ) -> Explanations:
        shared = {term for match in matches for term, _ in match.scores}
        completed = dict.fromkeys(shared, terms.prefix) if terms.prefix else {}
        forms = completed | self._extractor.surface_forms(one)
        questions = [texts[docid] for docid in docids.tolist()]
        fields = [self._plain_fields(q, match.phrasing) for q, match in zip(questions, matches, strict=True)]
        spans = self._find_terms(questions, fields, shared)
        reasons = [_explain_match(forms, *own) for own in zip(matches, fields, spans, strict=True)]
        return dict(zip(docids.tolist(), reasons, strict=True))

    def _plain_fields(self, question: Question, phrasing: int) -> dict[str, str]:
        fields = self._extractor.phrasing_fields(question, phrasing)
        analyzer = self._extractor.analyzer
        return {name: analyzer.plain_text(text, markup) for name, (text, markup) in fields.items()}

    def _find_terms(
        self, questions: Sequence[Question], fields: Sequence[Mapping[str, str]], terms: Collection[str]
    ) -> Sequence[Sequence[FieldTerms]]:
        """Return the terms in the plain fields of each question, analysed together per language."""
        languages = [question.language or self.view.language for question in questions]
        found: list[list[FieldTerms]] = [[] for _ in questions]
        for language in dict.fromkeys(languages):
            places = [(n, name) for n, own in enumerate(languages) if own == language for name in fields[n]]
            plain = [fields[n][name] for n, name in places]
            spans = self._extractor.analyzer.find_terms(plain, terms, language)
            for (n, name), own in zip(places, spans, strict=True):
                found[n].append((name, own))
        return found

    def score_terms(self, retrieved: Retrieved) -> Sequence[Sequence[TermScores]]:
        """Return the contribution of each term to the score of each query's documents."""
        matches = self._postings.contributions(retrieved.encoded, retrieved.docids, retrieved.matches)
        return [[match.scores for match in own] for own in matches]


def _explain_match(
    forms: Mapping[str, str], match: TermContributions, plain: Mapping[str, str], found: Sequence[FieldTerms]
) -> Explanation:
    """forms: term → the query's word. plain: the document's fields. found: terms in these, also of other matches."""
    names: dict[str, dict[str, None]] = {term: {} for term, _ in match.scores}
    spans = []
    for name, own in found:
        for term, start, end in own:
            if term in names:
                names[term][name] = None
                spans.append(Span(name, start, end))
    rows = [Contribution(forms.get(term, term), tuple(names[term]), score) for term, score in match.scores]
    ordered = tuple(sorted(rows, key=lambda c: -c.score))
    return Explanation(sum(score for _, score in match.scores), ordered, tuple(spans), plain)
