"""Diagnostics of systems that answer: distances of right and wrong answers, generated answers, cited support."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from askalike.core.arrays import Ints
from askalike.core.records import Answer, Question
from askalike.core.relevance import Split
from askalike.core.values import format_count
from askalike.evaluation.intervals import bootstrap_means, percentile_interval
from askalike.experiments.measuring import RankingTask
from askalike.rankers import Ranker
from askalike.rankers.dense import DenseRanker
from askalike.search.answering.grounded import ChatEndpoint, write_grounded
from askalike.search.engine import LocalEngine

MARGIN = 10.0
"""The margin of the triplet loss, as in the paper; it only suits Euclidean distances."""
SAMPLE_SIZE = 50
"""Number of generated answers that are measured and shown."""
SEED = 0
TRIPLET_LOSS, PERPLEXITY = "validation triplet loss", "perplexity"
STORED_ANSWERS = 3
"""Number of stored answers from which a grounded answer is written."""
BOOTSTRAP_DRAWS = 10_000


@dataclass(frozen=True, slots=True)
class AnswerDiagnostics:
    """values: name → value. samples: generated answers as `question`, `written`, and the archive's `right` answer."""

    values: Mapping[str, float] = field(default_factory=dict)
    samples: Sequence[Mapping[str, str]] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the diagnostics for JSON."""
        return {"diagnostics": dict(self.values), "samples": [dict(sample) for sample in self.samples]}


def diagnose_answers(ranker: Ranker, task: RankingTask, labels: Split, validation: Split | None) -> AnswerDiagnostics:
    """Return the triplet loss of a fitted ranker on a validation split, and figures on its generated answers.

    These are the perplexity of the right answers, and fifty generated answers with their diversity.
    """
    if task.kind != "answers" or not isinstance(ranker, DenseRanker):
        return AnswerDiagnostics()
    values: dict[str, float] = {}
    if validation is not None and (loss := triplet_loss(ranker, task, validation)) is not None:
        values[TRIPLET_LOSS] = loss
    writer = ranker.encoder.generator
    if writer is None:
        return AnswerDiagnostics(values)
    pairs = relevant_pairs(task, labels)
    values[PERPLEXITY] = writer.perplexity(pairs)
    drawn = random.Random(SEED).sample(pairs, min(SAMPLE_SIZE, len(pairs)))
    samples = [{"question": q.title or q.body, "written": writer.write(q), "right": right.body} for q, right in drawn]
    for n in (1, 2):
        values[f"distinct-{n}"] = distinct_n([sample["written"] for sample in samples], n)
    return AnswerDiagnostics(values, samples)


def distinct_n(texts: Sequence[str], n: int) -> float:
    """Return the share of distinct n-grams among all n-grams of these texts (Li et al. 2016); 0 if there are none."""
    runs = [tuple(words[at : at + n]) for words in map(str.split, texts) for at in range(len(words) - n + 1)]
    return len(set(runs)) / len(runs) if runs else 0.0


def triplet_loss(ranker: DenseRanker, task: RankingTask, labels: Split) -> float | None:
    """Return the mean of [ρ(q, a+) − ρ(q, a−) + 10]+ over pairs of a query and a right answer; a− is drawn.

    None if the ranker's vectors are not compared by Euclidean distance.
    """
    pairs = relevant_pairs(task, labels)
    answers = list({answer.id: answer for _, answer in pairs}.values())
    questions = ranker.encoder.encode_queries([question for question, _ in pairs]).parts
    documents = ranker.encoder.encode_documents(answers).parts
    if len(questions) != 1 or questions[0].metric != "euclidean" or len(answers) < 2:
        return None
    rows = {answer.id: row for row, answer in enumerate(answers)}
    right = np.array([rows[answer.id] for _, answer in pairs])
    wrong = _sample_wrong_answers(pairs, [a.id for a in answers], rows, labels)
    query, document = np.asarray(questions[0].values, np.float64), np.asarray(documents[0].values, np.float64)
    distances = [np.linalg.norm(query - document[other], axis=1) for other in (right, wrong)]
    return float(np.maximum(distances[0] - distances[1] + MARGIN, 0).mean())


def relevant_pairs(task: RankingTask, labels: Split) -> list[tuple[Question, Answer]]:
    """Return each query with each of its right answers that the archive has."""
    pairs = [(query, id) for query, grades in labels.qrels.items() for id, grade in grades.items() if grade > 0]
    answers = task.documents.get_answers({id for _, id in pairs})
    return [(labels.queries[query], answers[id]) for query, id in pairs if id in answers]


def _sample_wrong_answers(
    pairs: Sequence[tuple[Question, Answer]], ids: Sequence[str], rows: Mapping[str, int], labels: Split
) -> Ints:
    """Return for each pair the row of a random answer that is wrong for its query; its own row if all are right."""
    generator, wrong = random.Random(SEED), []
    grades = {question.id: labels.qrels.get(query, {}) for query, question in labels.queries.items()}
    for question, answer in pairs:
        right = grades[question.id]
        drawn = generator.sample(range(len(ids)), min(len(ids), len(right) + 1))
        wrong.append(next((n for n in drawn if ids[n] not in right), rows[answer.id]))
    return np.array(wrong)


@dataclass(frozen=True, slots=True)
class AnswerSupport:
    """Grounded answers to some questions. share: of the sentences that a cited text supports; None without sentences.

    interval: 95 %, by bootstrap over answers. abstained: the questions without an answer.
    """

    questions: int
    abstained: int
    written: int
    supported: int
    share: float | None
    interval: tuple[float, float] | None

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        counts = f"{format_count(self.questions, 'question')}, {self.abstained} without an answer"
        if self.share is None or self.interval is None:
            return f"grounded answers: {counts}; no sentence was written"
        low, high = self.interval
        return (
            f"grounded answers: {self.share:.3f} [{low:.3f}, {high:.3f}] of {self.written} sentences are supported by "
            f"what they cite ({counts}). This is a proxy: shared words and numbers, not truth"
        )


def measure_support(engine: LocalEngine, questions: Sequence[Question], endpoint: ChatEndpoint) -> AnswerSupport:
    """Return the support of the endpoint's answers by the texts they cite; each question is asked as if typed.

    Raises EndpointError, ArchiveError if there are no answers.
    """
    replies = [
        write_grounded(q, engine.answer(q.title, "nearest", STORED_ANSWERS, body=q.body), endpoint) for q in questions
    ]
    counts = np.array([(r.supported, r.written) for r in replies if r.written], np.float64).reshape(-1, 2)
    supported, written = map(int, counts.sum(axis=0))
    abstained = sum(r.reply.abstained for r in replies)
    if not written:
        return AnswerSupport(len(replies), abstained, 0, 0, None, None)
    means = bootstrap_means(counts, BOOTSTRAP_DRAWS, SEED)
    interval = percentile_interval(means[:, 0] / means[:, 1])
    return AnswerSupport(len(replies), abstained, written, supported, supported / written, interval)
