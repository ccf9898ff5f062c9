"""The share of the sentences of grounded answers that the texts they cite support."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from askalike.core.records import Question
from askalike.core.values import format_count
from askalike.evaluation.intervals import bootstrap_means, percentile_interval
from askalike.search.answering.grounded import ChatEndpoint, write_grounded
from askalike.search.archive_retriever import ArchiveRetriever

STORED_ANSWERS = 3
"""Number of stored answers from which a grounded answer is written."""
DRAWS = 10_000
SEED = 0


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


def measure_support(
    retriever: ArchiveRetriever, questions: Sequence[Question], endpoint: ChatEndpoint
) -> AnswerSupport:
    """Return the support of the endpoint's answers by the texts they cite; each question is asked as if typed.

    Raises EndpointError, ArchiveError if there are no answers.
    """
    replies = [
        write_grounded(q, retriever.answer(q.title, "nearest", STORED_ANSWERS, body=q.body), endpoint)
        for q in questions
    ]
    counts = np.array([(r.supported, r.written) for r in replies if r.written], np.float64).reshape(-1, 2)
    supported, written = map(int, counts.sum(axis=0))
    abstained = sum(r.reply.abstained for r in replies)
    if not written:
        return AnswerSupport(len(replies), abstained, 0, 0, None, None)
    means = bootstrap_means(counts, DRAWS, SEED)
    interval = percentile_interval(means[:, 0] / means[:, 1])
    return AnswerSupport(len(replies), abstained, written, supported, supported / written, interval)
