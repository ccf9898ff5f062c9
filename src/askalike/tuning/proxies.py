"""Proxy queries, made from an archive's own texts, for archives without labels."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from askalike.errors import ArchiveError
from askalike.store import Archive, sample_questions, shuffle_names
from askalike.text.clean import plain_text
from askalike.types import Question, Split

MAX_SAMPLED = 5_000
"""The number of questions that queries may be made of."""
MAX_QUERIES = 1_000
MIN_QUERIES = 40
ANSWER_WORDS = 25
"""A query made of an answer has so many of its first words."""
KEPT_TITLE_SHARE = 0.6
"""The share of a title's words that a query made of it keeps."""


@dataclass(frozen=True, slots=True)
class ProxyTask:
    """A task without labels. fixed: the settings that keep a query from being found by its own text."""

    name: str
    dev: Split
    test: Split
    fixed: Mapping[str, Any] = field(default_factory=dict)


def make_proxy_task(archive: Archive, seed: int = 0) -> ProxyTask:
    """Return the first of three tasks that the archive has enough texts for; half of the queries choose, half measure.

    An answer's first words find its question; a title finds its body; a title without some of its words finds itself.
    Raises ArchiveError for an archive with too few texts.
    """
    questions = list(sample_questions(archive.view(), MAX_SAMPLED, seed))
    for name, pairs, fixed in (
        ("an answer's first words → its question", _queries_from_answers(archive, questions), {}),
        ("a title → its body", _queries_from_titles(questions), {"fields": "body"}),
        ("a title without some of its words → its question", _queries_from_shortened_titles(questions, seed), {}),
    ):
        queries = dict(pairs)
        drawn = shuffle_names(queries, seed)[:MAX_QUERIES]
        if len(drawn) >= MIN_QUERIES:
            half = len(drawn) // 2
            return ProxyTask(name, _make_split(drawn[:half], queries), _make_split(drawn[half:], queries), fixed)
    raise ArchiveError(
        f"{archive.path}: nothing to tune on: no labels, and fewer than {MIN_QUERIES} questions with an answer, a body "
        "or a title of several words"
    )


def _queries_from_answers(archive: Archive, questions: list[Question]) -> Iterator[tuple[str, Question]]:
    """Yield the id of a question with the first words of its first answer, unless those come twice."""
    answers = archive.view().get_answers_to(q.id for q in questions)
    firsts = {id: of_question[0] for id, of_question in answers.items() if of_question}
    texts = {id: " ".join(islice(plain_text(a.body, a.markup).split(), ANSWER_WORDS)) for id, a in firsts.items()}
    counts = Counter(texts.values())
    for question in questions:
        text = texts.get(question.id, "")
        if counts[text] == 1 and len(text.split()) > 3:
            yield question.id, _proxy_query(question, text)


def _queries_from_titles(questions: list[Question]) -> Iterator[tuple[str, Question]]:
    for question in questions:
        if question.title.strip() and question.body.strip():
            yield question.id, _proxy_query(question, question.title)


def _queries_from_shortened_titles(questions: list[Question], seed: int) -> Iterator[tuple[str, Question]]:
    random = np.random.default_rng(seed)
    for question in questions:
        words = question.title.split()
        if len(words) > 3:
            positions = np.sort(random.permutation(len(words))[: max(2, round(KEPT_TITLE_SHARE * len(words)))])
            yield question.id, _proxy_query(question, " ".join(words[n] for n in positions))


def _proxy_query(question: Question, text: str) -> Question:
    """Return a query with an id of its own: a query never finds the question with its own id."""
    return Question(f"{question.id} proxy", text, language=question.language)


def _make_split(ids: list[str], queries: Mapping[str, Question]) -> Split:
    return Split({queries[id].id: queries[id] for id in ids}, {queries[id].id: {id: 1} for id in ids})
