"""askalike evaluate-answers: the share of the sentences of grounded answers that the texts they cite support."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
from typer import Option

from askalike import Archive, ArchiveRetriever, Question, load_split
from askalike.plugin import commands as options
from askalike.plugin.commands import format_count, to_json
from askalike.plugin.measuring import (
    ChatEndpoint,
    bootstrap_means,
    document_kind,
    evaluation_split,
    named_endpoint,
    percentile_interval,
    write_grounded,
)

STORED_ANSWERS = 3
"""Number of stored answers from which a grounded answer is written."""
DRAWS = 10_000
SEED = 0


def evaluate_answers_command(
    directory: options.Directory,
    endpoint: Annotated[str, options.url("An OpenAI-compatible endpoint; its key is in ASKALIKE_ENDPOINT_KEY.")],
    model: Annotated[str, options.value("NAME", "The endpoint's model.")],
    ranker: options.RankerName = None,
    settings: options.Assignments = None,
    fields: options.Fields = None,
    split: Annotated[str | None, options.value("SPLIT", "The split with the queries.", "test, else the first")] = None,
    queries: Annotated[int, Option(min=1, metavar="N", help="Answer the first N queries.")] = 100,
    json: options.Json = False,
) -> None:
    """Let an endpoint write grounded answers, and measure how well their sources support them.

    The check compares words, numbers and negations: it shows how much a model invents, not whether it is right.

    Examples:

    ```
    askalike evaluate-answers DIR --endpoint http://127.0.0.1:11434/v1 --model llama3.1
    ```
    """
    writer = named_endpoint(endpoint, model)
    with Archive.open(directory) as archive:
        built = options.build_ranker(archive, ranker, settings, fields)
        name = split or evaluation_split(archive, built)
        labels = load_split(archive, name, document_kind(archive, name))
        support = measure_support(ArchiveRetriever(archive, built), list(labels.queries.values())[:queries], writer)
    print(to_json({"ranker": built.name, "split": name, **support.as_dict()}) if json else support)


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
