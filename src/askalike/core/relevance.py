"""What is known to match: relevance judgements, the splits that measure a ranker, the pairs that train one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from askalike.core.records import Answer, Question

Qrels = Mapping[str, Mapping[str, int]]
"""Query id → document id → relevance (0 = judged not relevant)."""


@dataclass(frozen=True, slots=True)
class Split:
    """Queries with their relevant documents. candidates: query id → the ids to rank for it; None for all documents.

    has_labels: whether the judgements are labels that a model can learn; not those of a question's own title.
    """

    queries: Mapping[str, Question]
    qrels: Qrels
    candidates: Mapping[str, Sequence[str]] | None = None
    has_labels: bool = True


@dataclass(frozen=True, slots=True)
class TrainingPair:
    """Two texts and whether they match (`relevant`). Texts of their clusters are never used as negatives."""

    query: Question
    positive: Question | Answer
    cluster: str
    signal: str
    relevant: bool = True
    query_cluster: str = ""  # if it differs from `cluster`, that of the positive
