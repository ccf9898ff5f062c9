"""Words and sentences per question and per answer, the reason for hierarchical models where answers are long."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from askalike.store.archive import Archive
from askalike.store.samples import sample_answers, sample_questions
from askalike.text.analyzer import Analyzer
from askalike.text.sentences import split_sentences


@dataclass(frozen=True, slots=True)
class LengthDistribution:
    """How a length is distributed; all 0 where there is no text."""

    median: float
    mean: float
    p90: float


@dataclass(frozen=True, slots=True)
class LengthStatistics:
    """Words (the analyzer's tokens) and sentences per text, of `n` texts: all, or a sample of at most 20,000."""

    n: int
    sampled: bool
    words: LengthDistribution
    sentences: LengthDistribution


def question_lengths(archive: Archive, analyzer: Analyzer) -> LengthStatistics:
    """Lengths of questions, title and body together."""
    view = archive.view()
    texts = (([q.title, analyzer.plain_text(q.body, q.markup)], q.language) for q in sample_questions(view))
    return _measure_lengths(texts, len(view), analyzer, view.language)


def answer_lengths(archive: Archive, analyzer: Analyzer) -> LengthStatistics:
    """Lengths of answers."""
    view = archive.view("answers")
    texts = (([analyzer.plain_text(a.body, a.markup)], None) for a in sample_answers(view))
    return _measure_lengths(texts, len(view), analyzer, view.language)


def _measure_lengths(
    texts: Iterable[tuple[Sequence[str], str | None]], total: int, analyzer: Analyzer, language: str | None
) -> LengthStatistics:
    words: list[int] = []
    parts: list[int] = []
    for fields, own in texts:
        words.append(sum(len(analyzer.analyze(field, own or language)) for field in fields))
        parts.append(sum(len(split_sentences(field)) for field in fields))
    return LengthStatistics(
        len(words), len(words) < total, _summarise_distribution(words), _summarise_distribution(parts)
    )


def _summarise_distribution(values: Sequence[int]) -> LengthDistribution:
    if not values:
        return LengthDistribution(0.0, 0.0, 0.0)
    return LengthDistribution(
        float(np.median(values)), round(float(np.mean(values)), 2), round(float(np.quantile(values, 0.9)), 2)
    )
