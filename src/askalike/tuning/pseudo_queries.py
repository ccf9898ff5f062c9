"""Pseudo-queries: queries made from an archive's own texts and links, for choosing without labels.

A ranker is chosen with them, and they estimate what each encoder at hand would give an archive. For that, each title of
a sample is typed to 60 % of its words, and each rephrasing is asked: is its question first? The ranker that needs no
encoder is measured on the same sample. Both are proxies: a new question has fewer of the archive's words, so that an
encoder gains more there.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from statistics import median
from typing import Any

from askalike import rankers
from askalike.core.hits import TYPED_QUERY_ID
from askalike.core.iteration import Progress
from askalike.core.records import Qrels, Question, Split
from askalike.labels.splits import type_titles
from askalike.rankers import Searcher
from askalike.search.retriever import ListedQuestions
from askalike.store import Archive, sample_questions, shuffle_names
from askalike.text.clean import plain_text
from askalike.text.passages import split_sentences
from askalike.tuning.candidates import DEFAULT_RANKER

MAX_SAMPLED = 5_000
"""Maximum number of questions that queries are made from."""
MAX_QUERIES = 1_000
MIN_QUERIES = 40
ANSWER_WORDS = 25
"""Number of first words of an answer that form a query."""
MIN_WORDS = 4
"""Minimum number of words of a text that makes a query."""
KEPT_TITLE_SHARE = 0.6
"""The share of a title's words kept in a query made from it."""
Pairs = Iterator[tuple[str, Question]]
MAX_ENCODED = 1_000
"""The number of questions that encoders are tried on; encoding them takes seconds."""
MAX_TRIED = 300
"""The number of queries that they are tried with."""
SEED = 0
TIMED_QUESTIONS, TIMED_QUERIES = 50, 50
"""The number of questions and of queries whose time is measured."""


@dataclass(frozen=True, slots=True)
class PseudoQuerySource:
    """A way to make queries: pairs of the id of the relevant question and the query.

    fixed: settings of every ranker while it is tried on these queries.
    """

    name: str
    make: Callable[[Archive, Sequence[Question], int], Pairs]
    fixed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PseudoQueries:
    """The queries of a source: half of them for choosing, half for measuring. fixed: see PseudoQuerySource."""

    name: str
    dev: Split
    test: Split
    fixed: Mapping[str, Any]


def make_pseudo_queries(archive: Archive, seed: int) -> Iterator[PseudoQueries]:
    """Yield the queries of each source for which the archive has enough texts, in the order of SOURCES."""
    questions = list(sample_questions(archive.view(), MAX_SAMPLED, seed))
    for source in SOURCES:
        queries: dict[str, Question] = {}
        relevant: dict[str, dict[str, int]] = defaultdict(dict)
        for id, query in source.make(archive, questions, seed):
            queries[query.id] = query
            relevant[query.id][id] = 1
        drawn = shuffle_names(queries, seed)[:MAX_QUERIES]
        if len(drawn) >= MIN_QUERIES:
            half = len(drawn) // 2
            dev, test = (_make_split(ids, queries, relevant) for ids in (drawn[:half], drawn[half:]))
            yield PseudoQueries(source.name, dev, test, source.fixed)


def _queries_from_related_links(archive: Archive, questions: Sequence[Question], seed: int) -> Pairs:
    """Yield each question that is linked to another one as related, with that one's id."""
    links = list(archive.view().links("related"))
    linking = archive.view().get_questions({link.source for link in links})
    for link in links:
        if link.source in linking:
            yield link.target, linking[link.source]


def _queries_from_answers(archive: Archive, questions: Sequence[Question], seed: int) -> Pairs:
    """Yield the id of a question with the first words of its first answer, unless they are repeated elsewhere."""
    answers = archive.view().get_answers_to(q.id for q in questions)
    firsts = [(id, own[0]) for id, own in answers.items() if own]
    texts = {id: " ".join(plain_text(a.body, a.markup).split()[:ANSWER_WORDS]) for id, a in firsts}
    counts = Counter(texts.values())
    for question in questions:
        text = texts.get(question.id, "")
        if counts[text] == 1 and len(text.split()) >= MIN_WORDS:
            yield question.id, _make_query(question, text)


def _queries_from_titles(archive: Archive, questions: Sequence[Question], seed: int) -> Pairs:
    """Yield the title of each question that has a body as the body of a query, for rankers that search only bodies."""
    for question in questions:
        if question.title.strip() and question.body.strip():
            yield question.id, Question(_query_id(question), "", question.title, language=question.language)


def _queries_from_first_sentences(archive: Archive, questions: Sequence[Question], seed: int) -> Pairs:
    """Yield the first sentence of each body, if it is not the title."""
    for question in questions:
        sentences = split_sentences(plain_text(question.body, question.markup))
        text = sentences[0] if sentences else ""
        if len(text.split()) >= MIN_WORDS and text.strip() != question.title.strip():
            yield question.id, _make_query(question, text)


def _queries_from_unfinished_titles(archive: Archive, questions: Sequence[Question], seed: int) -> Pairs:
    """Yield the first words of each title of four words or more, as the split `known@60`."""
    titles = {q.id: _make_query(q, q.title) for q in questions if len(q.title.split()) >= MIN_WORDS}
    yield from type_titles(Split(titles, {}), KEPT_TITLE_SHARE).queries.items()


# Those that always agreed with labels come first (five archives with 6 to 1,249 queries; commit bf8d6fb0).
SOURCES = (
    PseudoQuerySource("an answer's first words → its question", _queries_from_answers),
    PseudoQuerySource("a body's first sentence → its title", _queries_from_first_sentences, {"fields": "title"}),
    PseudoQuerySource("a question → one that it is linked to as related", _queries_from_related_links),
    PseudoQuerySource("a title → its body", _queries_from_titles, {"fields": "body"}),
    PseudoQuerySource("the first words of a title → its question", _queries_from_unfinished_titles),
)


def _make_query(question: Question, text: str) -> Question:
    return Question(_query_id(question), text, language=question.language)


def _query_id(question: Question) -> str:
    """Return a new id for a query, as a query never finds the question with its own id."""
    return f"{question.id} proxy"


def _make_split(ids: Sequence[str], queries: Mapping[str, Question], relevant: Qrels) -> Split:
    return Split({id: queries[id] for id in ids}, {id: relevant[id] for id in ids})


@dataclass(frozen=True, slots=True)
class EncoderTrial:
    """The result of a ranker: the share of questions that are first for 60 % of their title, and for a rephrasing.

    encoder: None for the default ranker without an encoder. rephrasings: None if the sample has none. query_ms: the
    median time of a search, in milliseconds; questions_per_s: read when they are indexed.
    """

    encoder: str | None
    typed_titles: float
    rephrasings: float | None
    query_ms: float
    questions_per_s: float
    questions: int


def try_encoders(archive: Archive, names: Sequence[str], progress: Progress | None = None) -> list[EncoderTrial]:
    """Return the results of the default ranker without an encoder, then of the hybrid with each encoder.

    names: of encoders of extras, or models of the archive. progress: called while each reads the questions; vectors
    that the archive has are not computed again. Raises SettingsError for an encoder that cannot be used.
    """
    questions = list(islice(sample_questions(archive.view(), MAX_ENCODED, SEED), MAX_ENCODED))
    return [_try(archive, questions, name, progress) for name in (None, *names)] if questions else []


def _try(
    archive: Archive, questions: Sequence[Question], name: str | None, progress: Progress | None
) -> EncoderTrial:  # fmt: skip
    settings = {"parts": [DEFAULT_RANKER, name]} if name else {}
    ranker = rankers.create("hybrid" if name else rankers.DEFAULT_NAME, settings, archive)
    view = ListedQuestions([replace(question, rephrasings=()) for question in questions], archive.view().language)
    few = ListedQuestions(questions[:TIMED_QUESTIONS], archive.view().language)
    _share_first(rankers.open_current(ranker, few), {questions[0].id: "a"})  # loads the model
    rankers.delete_indexes(ranker, few)
    started = time.perf_counter()
    rankers.open_current(ranker, few)
    per_s = len(few) / (time.perf_counter() - started)
    rankers.delete_indexes(ranker, few)
    for part in ranker.parts:
        if part.vector_scores:
            part.vector_scores.encoder.share_vectors(archive.path, len(archive.view()))
    searcher = rankers.open_current(ranker, view, progress)
    whole = {q.id: q for q in questions[:MAX_TRIED] if len(q.title.split()) > 1}
    titles = {id: q.title for id, q in type_titles(Split(whole, {}), KEPT_TITLE_SHARE).queries.items()}
    rephrased = {q.id: q.rephrasings[n % len(q.rephrasings)] for n, q in enumerate(questions) if q.rephrasings}
    rephrasings = _share_first(searcher, dict(islice(rephrased.items(), MAX_TRIED))) if rephrased else None
    query_ms = median(_search_ms(searcher, text) for text in islice(titles.values(), TIMED_QUERIES)) if titles else 0.0
    return EncoderTrial(name, _share_first(searcher, titles), rephrasings, query_ms, per_s, len(questions))


def _share_first(searcher: Searcher, texts: Mapping[str, str]) -> float:
    """Return the share of questions that are the first hit for their text. texts: id of a question → text."""
    queries = {f"{TYPED_QUERY_ID}{n}": Question(f"{TYPED_QUERY_ID}{n}", text) for n, text in enumerate(texts.values())}
    retrieved = rankers.search(searcher, queries, 1)
    wanted = searcher.view.docids(texts)
    pairs = zip(texts, retrieved.docids, strict=True)
    first = [docids[:1].tolist() == [wanted[id]] for id, docids in pairs]
    return sum(map(bool, first)) / max(1, len(first))


def _search_ms(searcher: Searcher, text: str) -> float:
    started = time.perf_counter()
    rankers.search(searcher, {TYPED_QUERY_ID: Question(TYPED_QUERY_ID, text)}, 1)
    return 1000 * (time.perf_counter() - started)
