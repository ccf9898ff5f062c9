"""The types that all components share: what an archive holds, what a search shows, ranked documents, vectors."""

from collections.abc import Callable

from askalike.core.types.hits import Contribution, Explanation, Hit, SearchHit, Span
from askalike.core.types.questions import (
    TYPED_QUERY_ID,
    Answer,
    AnsweredQuestion,
    DocumentKind,
    EvaluationQuery,
    Judgement,
    Link,
    LinkKind,
    LocatedRecord,
    Markup,
    Place,
    Qrels,
    Question,
    Record,
    RejectedRow,
    Split,
    TrainingPair,
)
from askalike.core.types.topdocs import AllowedDocs, Collection, Columns, Floats, Run, TopDocs
from askalike.core.types.vectors import RESERVED, Metric, VectorPart, Vectors

__all__ = [
    "RESERVED", "TYPED_QUERY_ID", "AllowedDocs", "Answer", "AnsweredQuestion", "Collection", "Columns",
    "Contribution", "DocumentKind", "EvaluationQuery", "Explanation", "Floats", "Hit", "Judgement", "Link",
    "LinkKind", "LocatedRecord", "LogCallback", "Markup", "Metric", "Place", "Progress", "Qrels", "Question",
    "Record", "RejectedRow", "Run", "SearchHit", "Span", "Split", "TopDocs", "TrainingPair", "VectorPart",
    "Vectors",
]  # fmt: skip

LogCallback = Callable[[str], None]
"""Called with a line of progress text."""
Progress = Callable[[int, int], None]
"""Called during work, with the number of rows done and the total."""
