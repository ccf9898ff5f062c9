"""Words and sentences per question and per answer, the reason for hierarchical models where answers are long."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from askalike.archive.sample import sampled_answers, sampled_questions
from askalike.archive.store import Archive
from askalike.text.analyzer import Analyzer
from askalike.text.sentences import sentences


@dataclass(frozen=True, slots=True)
class Spread:
    """How a length is distributed; all 0 where there is no text."""

    median: float
    mean: float
    p90: float


@dataclass(frozen=True, slots=True)
class Lengths:
    """Words (the analyzer's tokens) and sentences per text, of `n` texts: all, or a sample of at most 20,000."""

    n: int
    sampled: bool
    words: Spread
    sentences: Spread


def question_lengths(archive: Archive, analyzer: Analyzer) -> Lengths:
    """Lengths of questions, title and body together."""
    view = archive.view()
    texts = (([q.title, analyzer.text(q.body, q.markup)], q.language) for q in sampled_questions(view))
    return _lengths(texts, len(view), analyzer, view.language)


def answer_lengths(archive: Archive, analyzer: Analyzer) -> Lengths:
    """Lengths of answers."""
    view = archive.view("answers")
    texts = (([analyzer.text(a.body, a.markup)], None) for a in sampled_answers(view))
    return _lengths(texts, len(view), analyzer, view.language)


def _lengths(
    texts: Iterable[tuple[Sequence[str], str | None]], total: int, analyzer: Analyzer, language: str | None
) -> Lengths:
    words: list[int] = []
    parts: list[int] = []
    for fields, own in texts:
        words.append(sum(len(analyzer.tokens(field, own or language)) for field in fields))
        parts.append(sum(len(sentences(field)) for field in fields))
    return Lengths(len(words), len(words) < total, _spread(words), _spread(parts))


def _spread(values: Sequence[int]) -> Spread:
    if not values:
        return Spread(0.0, 0.0, 0.0)
    return Spread(float(np.median(values)), round(float(np.mean(values)), 2), round(float(np.quantile(values, 0.9)), 2))
