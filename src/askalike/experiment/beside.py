"""What is told of a system beside its ranking of answers: how far apart right and wrong ones are, what it writes."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askalike.experiment.task import Task
from askalike.rankers import Ranker
from askalike.rankers.dense import Dense
from askalike.types import Answer, Question, Split

MARGIN = 10.0
"""The paper's. Only Euclidean distances are held to it."""
SAMPLES, SEED = 50, 0
TRIPLET, PERPLEXITY = "validation triplet loss", "perplexity"


@dataclass(frozen=True, slots=True)
class Beside:
    """Name → value, and written answers: `question`, `written`, and the `right` one of the archive."""

    values: Mapping[str, float] = field(default_factory=dict)
    samples: Sequence[Mapping[str, str]] = ()


def beside(ranker: Ranker, task: Task, measured: Split, validation: Split | None) -> Beside:
    """Of a ranker that has learned: the triplet loss on a validation split, what it writes to measured queries."""
    if task.of != "answers" or not isinstance(ranker, Dense):
        return Beside()
    values: dict[str, float] = {}
    if validation is not None and (loss := triplet_loss(ranker, task, validation)) is not None:
        values[TRIPLET] = loss
    return _written(ranker, task, measured, values)


def triplet_loss(ranker: Dense, task: Task, labels: Split) -> float | None:
    """The mean of [ρ(q, a+) − ρ(q, a−) + 10]+ over pairs of a query and a right answer; a− is any other, by lot.

    None where the ranker's vectors are not compared by Euclidean distance.
    """
    pairs = right_pairs(task, labels)
    answers = list({answer.id: answer for _, answer in pairs}.values())
    questions = ranker.encoder.encode([question for question, _ in pairs], "query").parts
    found = ranker.encoder.encode(answers, "document").parts
    if len(questions) != 1 or questions[0].metric != "euclidean" or len(answers) < 2:
        return None
    places = {answer.id: place for place, answer in enumerate(answers)}
    right = np.array([places[answer.id] for _, answer in pairs])
    wrong = _others(right, [set(labels.qrels[question.id]) for question, _ in pairs], [a.id for a in answers])
    query, document = np.asarray(questions[0].values, np.float64), np.asarray(found[0].values, np.float64)
    apart = _distance(query, document[right]) - _distance(query, document[wrong])
    return float(np.maximum(apart + MARGIN, 0).mean())


def right_pairs(task: Task, labels: Split) -> list[tuple[Question, Answer]]:
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


def _others(right: NDArray[np.int64], taken: Sequence[set[str]], ids: Sequence[str]) -> NDArray[np.int64]:
    """For each pair an answer that is not right for its query, drawn with the seed; its own where all are right."""
    chance = random.Random(SEED)
    found = []
    for own, known in zip(right.tolist(), taken, strict=True):
        drawn = chance.sample(range(len(ids)), min(len(ids), len(known) + 1))
        found.append(next((n for n in drawn if ids[n] not in known), own))
    return np.array(found)


def _written(ranker: Dense, task: Task, labels: Split, values: dict[str, float]) -> Beside:
    """Perplexity on the measured pairs, and fifty written answers with how varied they are, if it writes."""
    if not getattr(ranker.encoder, "writes", False):
        return Beside(values)
    from askalike.answering.generate import Generator, distinct  # torch, which is loaded already

    writer, pairs = Generator.of(ranker.encoder, ranker.name), right_pairs(task, labels)
    values[PERPLEXITY] = writer.perplexity(pairs)
    drawn = random.Random(SEED).sample(pairs, min(SAMPLES, len(pairs)))
    samples = [_sample(question, writer.write(question), answer) for question, answer in drawn]
    texts = [sample["written"] for sample in samples]
    for n in (1, 2):
        values[f"distinct-{n}"] = distinct(texts, n)
    return Beside(values, samples)


def _sample(question: Question, written: str, right: Answer) -> dict[str, str]:
    return {"question": question.title or question.body, "written": written, "right": right.body}


def as_dict(found: Beside) -> dict[str, Any]:
    """For JSON."""
    return {"beside": dict(found.values), "samples": [dict(sample) for sample in found.samples]}
