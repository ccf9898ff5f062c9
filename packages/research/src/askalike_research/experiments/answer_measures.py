"""Diagnostics of systems that answer: distances of right and wrong answers, generated answers."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from askalike import Answer, Question, Ranker, Split
from askalike.plugin.features import Ints
from askalike.plugin.measuring import RankingTask
from askalike.plugin.rankers import DenseRanker

MARGIN = 10.0
"""The margin of the triplet loss, as in the paper; it only suits Euclidean distances."""
SAMPLE_SIZE = 50
"""Number of generated answers that are measured and shown."""
SEED = 0
TRIPLET_LOSS, PERPLEXITY = "validation triplet loss", "perplexity"


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
    generator = random.Random(SEED)
    wrong = []
    grades = {question.id: labels.qrels.get(query, {}) for query, question in labels.queries.items()}
    for question, answer in pairs:
        right = grades[question.id]
        drawn = generator.sample(range(len(ids)), min(len(ids), len(right) + 1))
        wrong.append(next((n for n in drawn if ids[n] not in right), rows[answer.id]))
    return np.array(wrong)
