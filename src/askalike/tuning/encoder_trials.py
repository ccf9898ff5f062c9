"""Estimates without labels what each encoder at hand would give an archive.

Of a sample of the archive's questions, each title is typed to 60 % of its words, and each rephrasing is asked: is its
question first? The ranker that needs no encoder is measured on the same sample. Both are proxies: a new question has
fewer of the archive's words, so that an encoder gains more there.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import median

from askalike import rankers
from askalike.core.hits import TYPED_QUERY_ID
from askalike.core.records import Question
from askalike.core.relevance import Split
from askalike.labels.splits import type_titles
from askalike.rankers import Searcher
from askalike.search.retriever import ListedQuestions
from askalike.store import Archive, sample_questions
from askalike.tuning.candidates import DEFAULT_RANKER

MAX_QUESTIONS = 1_000
"""The number of questions that are sampled; encoding them takes seconds."""
MAX_QUERIES = 300
TYPED_SHARE = 0.6
SEED = 0
TIMED_QUERIES = 50


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


def try_encoders(archive: Archive, names: Sequence[str]) -> list[EncoderTrial]:
    """Return the results of the default ranker without an encoder, then of the hybrid with each encoder.

    names: of encoders of extras, or models of the archive. Raises SettingsError for one that cannot be used.
    """
    questions = list(islice(sample_questions(archive.view(), MAX_QUESTIONS, SEED), MAX_QUESTIONS))
    return [_try(archive, questions, name) for name in (None, *names)] if questions else []


def _try(archive: Archive, questions: Sequence[Question], name: str | None) -> EncoderTrial:
    settings = {"parts": [DEFAULT_RANKER, name]} if name else {}
    ranker = rankers.create("hybrid" if name else rankers.default_name(), settings, archive)
    view = ListedQuestions([replace(question, rephrasings=()) for question in questions], archive.view().language)
    _share_first(rankers.open_current(ranker, view), {questions[0].id: "a"})  # loads the model
    rankers.delete_indexes(ranker, view)
    started = time.perf_counter()
    searcher = rankers.open_current(ranker, view)
    per_s = len(questions) / (time.perf_counter() - started)
    whole = {q.id: q for q in questions[:MAX_QUERIES] if len(q.title.split()) > 1}
    titles = {id: q.title for id, q in type_titles(Split(whole, {}), TYPED_SHARE).queries.items()}
    rephrased = {q.id: q.rephrasings[n % len(q.rephrasings)] for n, q in enumerate(questions) if q.rephrasings}
    rephrasings = _share_first(searcher, dict(islice(rephrased.items(), MAX_QUERIES))) if rephrased else None
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
