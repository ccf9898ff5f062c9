"""Ranks by shared terms: a similarity over an inverted index that is kept in sync with the archive."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import numpy as np
from pydantic import AfterValidator, Field

from askalike.core import registry
from askalike.core.arrays import Docids
from askalike.core.config import FieldNames, NumberList, Settings, validate_settings
from askalike.core.errors import SettingsError
from askalike.core.filters import AllowedDocs
from askalike.core.hits import Contribution, Explanation, Span
from askalike.core.records import Answer, AnsweredQuestion, Markup, Question
from askalike.core.values import check_weights
from askalike.index.engine import ArchiveIndex, IndexEngine, IndexLocation, PreparedTerms, TermsSearcher, TermsWriter
from askalike.index.lexical.index import LexicalLayout
from askalike.index.lexical.prepared import FieldWeights, QueryTerms, TermColumns
from askalike.index.lexical.searcher import CandidateMatches, TermContributions
from askalike.index.lexical.terms import mark_terms, parse_terms
from askalike.rankers._completion import ArchiveWords
from askalike.rankers._indexed import (
    ANSWER_WEIGHT,
    TITLE_FACTOR,
    FieldSettings,
    IndexedRanker,
    add_answers,
    changed_documents,
)
from askalike.rankers._queries_and_results import Explanations, ResolvedQuery, Retrieved, Texts, is_title
from askalike.rankers._ranker import WordScores
from askalike.rankers._searcher import Searcher
from askalike.rankers._spelling import SpellingCorrector
from askalike.similarities import Similarity
from askalike.store import Snapshot, View
from askalike.store.contents import has_content
from askalike.text.analyzer import Analyzer, AnalyzerSettings
from askalike.text.language import ENGLISH, find_function_languages, mark_languages, stop_words

TermScores = Sequence[tuple[str, float]]
"""Terms that a document shares with a query, with their contributions to the score."""
FieldTerms = tuple[str, Sequence[tuple[str, int, int]]]
"""A field, and the terms found in it, each with its start and end."""
PROGRESS_EVERY = 2_000
TEXT_WEIGHT = 1.5
"""Default weight of a whole text's score next to that of its title: it finds pasted messages, and titles stay first."""


class LexicalSettings(FieldSettings, AnalyzerSettings):
    """Settings of the index: the analysis of text, the fields; and how the scores of fields are summed."""

    fields: FieldNames = Field(
        "title,text",
        description="the fields that are searched; text is title and body as one text, as in papers; "
        "answer is the accepted one",
    )
    field_weights: Annotated[NumberList, AfterValidator(check_weights)] | None = Field(
        None, description="the weight of each field's score; by default 1; with several fields, text 1.5 and answer 0.5"
    )
    rephrasings: bool = Field(True, description="whether a question is also found by its rephrasings")
    lengths: Literal["byte", "exact"] = Field(
        "byte", description="document lengths, rounded to a byte as Lucene does, or exact"
    )
    spelling: bool = Field(True, description="whether misspelt words are corrected to words of the archive")
    function_words: float = Field(
        1.0, gt=0, le=1, description="weight of function words in queries that are not in English (de, es, fr, ru)"
    )

    @property
    def weights(self) -> FieldWeights:
        """The weight of each field; empty for one field without a weight of its own."""
        if self.field_weights is not None or len(self.field_names) == 1:
            return self.field_weights or ()
        usual = {"text": TEXT_WEIGHT, "answer": ANSWER_WEIGHT}
        return tuple(usual.get(name, 1.0) for name in self.field_names)

    @property
    def digest(self) -> str:
        """A digest of the settings that the index depends on, for its name: other settings have other indexes."""
        of_index = self.model_dump(exclude={"spelling", "function_words", "field_weights", "title_factor"})
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
        self.settings, self.fields = settings, settings.field_names
        self.analyzer = Analyzer(AnalyzerSettings(**{k: getattr(settings, k) for k in AnalyzerSettings.model_fields}))
        self._light: dict[str, Mapping[str, float]] = {}
        self._reads_titles, self._reads_bodies = settings.reads("title"), settings.reads("body")

    @classmethod
    def from_settings(cls, values: Mapping[str, Any]) -> Self:
        """Return an extractor with these settings, those that are missing by default. Raises SettingsError."""
        return cls(validate_settings(LexicalSettings, values, "terms"))

    @property
    def fingerprint(self) -> str:
        """A digest of everything that determines the terms."""
        return hashlib.sha256(f"{self.settings.digest} {self.analyzer.fingerprint}".encode()).hexdigest()

    def phrasings(self, document: Question | Answer, language: str | None) -> list[tuple[int, list[str]]]:
        """Return the terms of the document's fields as phrasing 0, then those of its rephrasings.

        A rephrasing has the fields of a question without body and answer. language: the archive's.
        """
        if isinstance(document, Answer):
            return [(0, self._terms(document.body, document.markup, language))]
        language = document.language or language
        rephrasings = document.rephrasings if self.settings.rephrasings else ()
        others = (self._rephrasing_terms(self._terms(text, "text", language)) for text in rephrasings)
        return list(enumerate((self.own_terms(document, language), *others)))

    def own_terms(self, question: Question, language: str | None) -> list[str]:
        """Return the terms of a question's fields."""
        texts = {name: self._terms(*text, language) for name, text in self._own_texts(question).items()}
        terms = {name: texts.get(name, []) for name in ("title", "body", "answer")}
        return _mark_fields(self.fields, terms | {"text": terms["title"] + terms["body"]})

    def _rephrasing_terms(self, terms: list[str]) -> list[str]:
        """Return the terms of a rephrasing's fields: those of a question with that title; alone a body is replaced."""
        body = terms if self.fields == ("body",) else []
        return _mark_fields(self.fields, {"title": terms, "body": body, "text": terms, "answer": []})

    def query_texts(self, resolved: ResolvedQuery) -> list[str]:
        """Return the plain texts of a query: its title, and its body if more than titles are searched."""
        query = resolved.query
        is_plain = self.settings.links == "token"
        texts = [resolved.text if is_plain else self.analyzer.plain_text(query.title, "text")]
        if query.body and self.fields != ("title",):
            texts.append(self.analyzer.plain_text(query.body, query.markup))
        return texts

    def query_terms(self, resolved: ResolvedQuery, kind: str) -> QueryTerms:
        """Return the terms of a query in each field, whose last word may be unfinished. kind: of the view searched.

        The title of a document is compared with the title of the query, other fields with all of it.
        """
        language = resolved.language
        texts = self.query_texts(resolved)
        unfinished = None
        weights: Mapping[str, float] = {}
        terms = list[list[str]]()
        for number, text in enumerate(texts, 1):
            if resolved.prefix and text and not any(texts[number:]):
                finished, unfinished = self.analyzer.split_prefix(text, language)
                weights = resolved.completions if number == 1 else {}
                terms.append(finished)
            else:
                terms.append(self.analyzer.analyze(text, language))
        every = [term for own in terms for term in own]
        fields = self.fields if kind == "questions" else ("text",)
        of_fields = [terms[0] if field == "title" else every for field in fields]
        marked = [term for number, own in enumerate(of_fields) for term in mark_terms(own, number)]
        factors = tuple(self.settings.title_factor if field == "title" else 1.0 for field in fields)
        if len(fields) == 1 or is_title(resolved.query):
            factors = ()
        whole = list(weights) or self.analyzer.analyze(unfinished, language) if unfinished else ()
        light = self.light_words(language) if self.settings.function_words < 1 else {}
        return QueryTerms(
            marked, unfinished, resolved.excluded, whole, completion_weights=weights, field_factors=factors,
            word_factors=light,
        )  # fmt: skip

    def many_query_terms(self, queries: Sequence[ResolvedQuery], kind: str) -> Sequence[QueryTerms]:
        """Return the `query_terms` of each query; of many without unfinished words all at once."""
        if len(queries) == 1 or self.settings.function_words < 1 or any(one.prefix for one in queries):
            return [self.query_terms(one, kind) for one in queries]
        fields = self.fields if kind == "questions" else ("text",)
        texts = [text for one in queries for text in (*self.query_texts(one), "")[:2]]
        terms = self.analyzer.number_terms(texts, [one.language for one in queries for _ in range(2)])
        factors = None
        is_whole = [len(fields) > 1 and not is_title(one.query) for one in queries]
        if any(is_whole):
            factors = np.ones((len(queries), len(fields)))
            factors[is_whole] = [self.settings.title_factor if field == "title" else 1.0 for field in fields]
        excluded = [one.excluded for one in queries]
        return TermColumns.of_texts(terms, [field != "title" for field in fields], excluded, factors)

    def light_words(self, language: str | None) -> Mapping[str, float]:
        """Return the term of each function word → its weight; none for English, where all words weigh 1."""
        code = language or ENGLISH
        if code not in self._light:
            words = " ".join(sorted(stop_words(code))) if code != ENGLISH else ""
            self._light[code] = dict.fromkeys(self.analyzer.analyze(words, code), self.settings.function_words)
        return self._light[code]

    def surface_forms(self, resolved: ResolvedQuery) -> dict[str, str]:
        """Return term → its word in the query, as typed."""
        forms: dict[str, str] = {}
        for text in reversed(self.query_texts(resolved)):
            forms |= self.analyzer.first_forms(text, resolved.language)
        return forms

    def plain_fields(self, question: Question, phrasing: int) -> dict[str, str]:
        """Return field → the plain text of this phrasing of the question."""
        if phrasing > len(question.rephrasings):  # the archive has changed since it was indexed
            return {}
        texts = self._own_texts(question)
        if phrasing:
            texts = {"rephrasing": (question.rephrasings[phrasing - 1], "text")}
        return {name: self.analyzer.plain_text(*text) for name, text in texts.items()}

    def _own_texts(self, question: Question) -> dict[str, tuple[str, Markup]]:
        """Return the texts of a question that its fields are made of, with their markup."""
        texts: dict[str, tuple[str, Markup]] = {}
        if self._reads_titles:
            texts["title"] = (question.title, "text")
        if self._reads_bodies and question.body:
            texts["body"] = (question.body, question.markup)
        if "answer" in self.fields and isinstance(question, AnsweredQuestion) and question.answer:
            texts["answer"] = (question.answer.body, question.answer.markup)
        return texts

    def _terms(self, text: str, markup: Markup, language: str | None) -> list[str]:
        return self.analyzer.analyze(self.analyzer.plain_text(text, markup), language)


class LexicalRanker(IndexedRanker[TermsSearcher, TermsWriter]):
    """Lexical ranking by a similarity."""

    def __init__(self, similarity: Similarity, settings: LexicalSettings | None = None, name: str = "lexical") -> None:
        self.name, self.similarity, self.settings = name, similarity, settings or LexicalSettings()
        self.extractor, self._digest = TermExtractor(self.settings), self.settings.digest
        self._corrector: tuple[Snapshot, TermsSearcher, ArchiveWords, SpellingCorrector] | None = None

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

    @property
    def word_scores(self) -> WordScores:
        parameters = self.similarity.model_dump(by_alias=True)
        settings = self.settings.model_dump(by_alias=True)
        return WordScores(self.name, parameters, settings)

    @staticmethod
    def text_grid(view: View, fields: str | None) -> Mapping[str, Sequence[Any]]:
        """Return the values to tune in addition to the similarity's settings, if they matter for the archive's texts.

        fields: those that are searched; None for the default. Some values need an index of their own.
        """
        grid: dict[str, Sequence[Any]] = {}
        fields = fields or LexicalSettings().fields
        names = fields.split(",")
        if len(names) == 2 and has_content(view, "bodies"):
            grid["field_weights"] = ((1.0, TEXT_WEIGHT), (1.0, 1.0), (1.0, 3.0), (2.0, 1.0))
            grid["title_factor"] = (TITLE_FACTOR, 0.3)
        if fields != "title" and has_content(view, "code"):
            grid["code"] = ("keep", "drop")
        return grid

    def open(self, view: Snapshot) -> "LexicalSearcher":
        return LexicalSearcher(self, view, self._built_index(view).searcher)

    def corrector(self, view: Snapshot, postings: TermsSearcher) -> SpellingCorrector:
        """Return the spelling corrector of queries, which caches words until the view or its index changes."""
        kept = self._corrector  # another thread may replace it
        words = kept[2] if kept and not kept[2].are_old(view) else ArchiveWords(view, self.extractor.analyzer)
        if kept is None or kept[:3] != (view, postings, words):
            corrector = SpellingCorrector(view, postings, self.extractor.analyzer, self.settings.spelling, words)
            self._corrector = kept = view, postings, words, corrector
        return kept[3]

    def _index_name(self, view: Snapshot) -> str:
        return f"terms-{view.kind}-{self._digest}"

    def _open_index(
        self, engine: IndexEngine, location: IndexLocation, view: Snapshot
    ) -> ArchiveIndex[TermsSearcher, TermsWriter]:
        fields = len(self.extractor.fields) if view.kind == "questions" else 1
        layout = LexicalLayout(self.extractor.fingerprint, self.settings.lengths == "exact", fields)
        return engine.lexical(location, layout, self.similarity)

    def _write_documents(self, view: Snapshot, writer: TermsWriter) -> Iterator[int]:
        done, sent_docid, language = 0, writer.sent_docid, view.language
        for done, (docid, document, attributes) in enumerate(changed_documents(view, writer.change, self.settings), 1):
            if docid > sent_docid:
                writer.add(docid, self.extractor.phrasings(document, language), attributes)
            if done % PROGRESS_EVERY == 0:
                yield done
        if done % PROGRESS_EVERY:
            yield done


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RetrievedByWords(Retrieved):
    """prepared: the queries' terms as the index knows them. matches: those of each document, once they are scored."""

    prepared: PreparedTerms
    matches: CandidateMatches | None = None


class LexicalSearcher(Searcher):
    """See LexicalRanker."""

    def __init__(self, ranker: LexicalRanker, view: Snapshot, postings: TermsSearcher) -> None:
        super().__init__(ranker.name, view)
        self._ranker, self._extractor = ranker, ranker.extractor
        self._postings, self.titles = postings, postings if ranker.settings.finds_titles else None
        self._field_weights = ranker.settings.weights if view.kind == "questions" else ()
        self.correctors = (ranker.corrector(view, postings),) if view.kind == "questions" else ()
        self.detects_language = ranker.settings.language == "auto"

    def retrieve(self, queries: Sequence[ResolvedQuery], k: int, allowed: AllowedDocs | None = None) -> Retrieved:
        """See Searcher.retrieve. Documents that share no word with the query are not retrieved."""
        prepared = self._prepare(queries)
        tops = self._postings.search(prepared, k, allowed)
        docids, scores = [top.docids for top in tops], [top.scores for top in tops]
        return RetrievedByWords(queries, docids, scores, prepared=prepared)

    def score(
        self, queries: Sequence[ResolvedQuery], docids: Sequence[Docids], known: Retrieved | None = None
    ) -> Retrieved:
        """See Searcher.score. Documents that share no word with the query score 0.

        For the absolute score see CandidateMatches.
        """
        prepared = known.prepared if isinstance(known, RetrievedByWords) else self._prepare(queries)
        matches = self._postings.match(prepared, docids, known.topdocs if known else None)
        return RetrievedByWords(queries, docids, matches.scores, matches.absolute, prepared=prepared, matches=matches)

    def explain(
        self, retrieved: Retrieved, docids: Sequence[Docids], texts: Texts, *, exact: bool = False
    ) -> list[Explanations]:
        """Return the matching words with their contributions, which add up to the score, and fields: see Searcher."""
        if "answer" in self._extractor.fields:
            texts = add_answers(self.view, texts)
        assert isinstance(retrieved, RetrievedByWords)
        matches = self._postings.contributions(retrieved.prepared, docids, retrieved.matches)
        terms = retrieved.prepared.queries
        rows = zip(retrieved.queries, terms, docids, matches, strict=True)
        return [self._explain_query(*row, texts, exact) for row in rows]

    def _prepare(self, queries: Sequence[ResolvedQuery]) -> PreparedTerms:
        """Return the queries' terms as the index knows them."""
        terms = self._extractor.many_query_terms(queries, self.view.kind)
        return self._postings.prepare(terms, self._ranker.similarity, self._field_weights)

    def _explain_query(
        self, one: ResolvedQuery, terms: QueryTerms, docids: Docids, matches: Sequence[TermContributions],
        texts: Texts, exact: bool,
    ) -> Explanations:  # fmt: skip
        parsed = parse_terms({term for match in matches for term, _ in match.scores})
        shared = {word for word, _ in parsed.values()}
        completed = dict.fromkeys(shared, terms.prefix) if terms.prefix else {}
        forms = completed | self._extractor.surface_forms(one)
        questions = [texts[docid] for docid in docids.tolist()]
        read_fields = self._extractor.plain_fields
        fields = [read_fields(question, match.phrasing) for question, match in zip(questions, matches, strict=True)]
        unnamed = 0 if exact else mark_languages([one.language])
        named = {word for word in shared if not find_function_languages(forms.get(word, word)) & unnamed}
        spans = self._find_terms(questions, fields, named)
        explain = partial(_explain_match, forms, parsed, self._extractor.fields)
        return dict(zip(docids.tolist(), map(explain, matches, fields, spans), strict=True))

    def _find_terms(
        self, questions: Sequence[Question], fields: Sequence[Mapping[str, str]], terms: Collection[str]
    ) -> Sequence[Sequence[FieldTerms]]:
        """Return the terms in the plain fields of each question, analysed together per language."""
        languages = [question.language or self.language for question in questions]
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
        assert isinstance(retrieved, RetrievedByWords)
        matches = self._postings.contributions(retrieved.prepared, retrieved.docids, retrieved.matches)
        return [[match.scores for match in own] for own in matches]


def _mark_fields(fields: Sequence[str], terms: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the terms of all fields, each marked with its field. terms: field → its terms."""
    return [term for number, field in enumerate(fields) for term in mark_terms(terms[field], number)]


def _explain_match(
    forms: Mapping[str, str], parsed: Mapping[str, tuple[str, int]], fields: Sequence[str], match: TermContributions,
    plain: Mapping[str, str], found: Sequence[FieldTerms],
) -> Explanation:  # fmt: skip
    """Return why a document was found.

    forms: word's term → the word in the query. parsed: see `parse_terms`. fields: their names. plain: the document's
    texts. found: words in these, also of other matches.
    """
    totals: dict[str, float] = {}
    of_fields: dict[str, float] = {}
    for term, score in match.scores:
        word, number = parsed[term]
        field = "rephrasing" if match.phrasing else fields[number]
        totals[word] = totals[word] + score if word in totals else score
        of_fields[field] = of_fields[field] + score if field in of_fields else score
    names: dict[str, dict[str, None]] = {word: {} for word in totals}
    spans = []
    for name, own in found:
        for word, start, end in own:
            if word in names:
                names[word][name] = None
                spans.append((name, start, end))
    rows = Contribution.of_rows([(forms.get(word, word), tuple(names[word]), score) for word, score in totals.items()])
    return Explanation(sum(totals.values()), rows, Span.of_rows(spans), plain, fields=of_fields)
