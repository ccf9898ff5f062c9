"""What is told of a system beside its ranking of answers: how far apart right and wrong ones are, what it writes."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askalike.experiments.task import RankingTask
from askalike.rankers import Ranker
from askalike.rankers.dense import DenseRanker
from askalike.types import Answer, Question, Split

MARGIN = 10.0
"""The paper's. Only Euclidean distances are held to it."""
SAMPLE_SIZE, SEED = 50, 0
TRIPLET_LOSS, PERPLEXITY = "validation triplet loss", "perplexity"


@dataclass(frozen=True, slots=True)
class AnswerDiagnostics:
    """Name → value, and written answers: `question`, `written`, and the `right` one of the archive."""

    values: Mapping[str, float] = field(default_factory=dict)
    samples: Sequence[Mapping[str, str]] = ()


def diagnose_answers(ranker: Ranker, task: RankingTask, labels: Split, validation: Split | None) -> AnswerDiagnostics:
    """Of a ranker that has learned: the triplet loss on a validation split, what it writes to measured queries."""
    if task.kind != "answers" or not isinstance(ranker, DenseRanker):
        return AnswerDiagnostics()
    values: dict[str, float] = {}
    if validation is not None and (loss := triplet_loss(ranker, task, validation)) is not None:
        values[TRIPLET_LOSS] = loss
    return _diagnose_generation(ranker, task, labels, values)


def triplet_loss(ranker: DenseRanker, task: RankingTask, labels: Split) -> float | None:
    """The mean of [ρ(q, a+) − ρ(q, a−) + 10]+ over pairs of a query and a right answer; a− is any other, by lot.

    None where the ranker's vectors are not compared by Euclidean distance.
    """
    pairs = relevant_pairs(task, labels)
    answers = list({answer.id: answer for _, answer in pairs}.values())
    questions = ranker.encoder.encode([question for question, _ in pairs], "query").parts
    found = ranker.encoder.encode(answers, "document").parts
    if len(questions) != 1 or questions[0].metric != "euclidean" or len(answers) < 2:
        return None
    places = {answer.id: place for place, answer in enumerate(answers)}
    right = np.array([places[answer.id] for _, answer in pairs])
    wrong = _sample_wrong_answers(
        right, [set(labels.qrels[question.id]) for question, _ in pairs], [a.id for a in answers]
    )
    query, document = np.asarray(questions[0].values, np.float64), np.asarray(found[0].values, np.float64)
    apart = _distance(query, document[right]) - _distance(query, document[wrong])
    return float(np.maximum(apart + MARGIN, 0).mean())


def relevant_pairs(task: RankingTask, labels: Split) -> list[tuple[Question, Answer]]:
    """Each query with each of its right answers that are there."""
    wanted = {id for grades in labels.qrels.values() for id, grade in grades.items() if grade > 0}
    answers = task.documents.get_answers(wanted)
    return [
        (labels.queries[query], answers[id])
        for query, grades in labels.qrels.items()
        for id, grade in grades.items()
        if grade > 0 and id in answers
    ]


def _distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.linalg.norm(one - other, axis=1)  # type: ignore[no-any-return]


def _sample_wrong_answers(
    relevant: NDArray[np.int64], relevant_ids: Sequence[set[str]], ids: Sequence[str]
) -> NDArray[np.int64]:
    """For each pair an answer that is not right for its query, drawn with the seed; its own where all are right."""
    chance = random.Random(SEED)
    found = []
    for own, known in zip(relevant.tolist(), relevant_ids, strict=True):
        drawn = chance.sample(range(len(ids)), min(len(ids), len(known) + 1))
        found.append(next((n for n in drawn if ids[n] not in known), own))
    return np.array(found)


def _diagnose_generation(
    ranker: DenseRanker, task: RankingTask, labels: Split, values: dict[str, float]
) -> AnswerDiagnostics:
    """Perplexity on the measured pairs, and fifty written answers with how varied they are, if it writes."""
    if not getattr(ranker.encoder, "can_write_answers", False):
        return AnswerDiagnostics(values)
    from askalike.answering.generate import Generator, distinct_n  # torch, which is loaded already

    writer, pairs = Generator.from_encoder(ranker.encoder, ranker.name), relevant_pairs(task, labels)
    values[PERPLEXITY] = writer.perplexity(pairs)
    drawn = random.Random(SEED).sample(pairs, min(SAMPLE_SIZE, len(pairs)))
    samples = [_sample_dict(question, writer.write(question), answer) for question, answer in drawn]
    texts = [sample["written"] for sample in samples]
    for n in (1, 2):
        values[f"distinct-{n}"] = distinct_n(texts, n)
    return AnswerDiagnostics(values, samples)


def _sample_dict(question: Question, written: str, right: Answer) -> dict[str, str]:
    return {"question": question.title or question.body, "written": written, "right": right.body}


def as_dict(diagnostics: AnswerDiagnostics) -> dict[str, Any]:
    """For JSON."""
    return {"beside": dict(diagnostics.values), "samples": [dict(sample) for sample in diagnostics.samples]}
