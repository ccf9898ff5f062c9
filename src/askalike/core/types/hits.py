"""Hits of a search and the reasons for their scores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from askalike.core.states import State
from askalike.core.types.questions import Question


@dataclass(frozen=True, slots=True)
class Hit:
    """The id of a retrieved document with its score; a higher score is better."""

    id: str
    score: float


class Contribution(NamedTuple):
    """The contribution of one query word to a score.

    word: as it was typed. fields: the fields of the document that it matches in.
    """

    word: str
    fields: tuple[str, ...]
    score: float


class Span(NamedTuple):
    """A matching part of a field's plain text, as character offsets [start, end)."""

    field: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a document has its score. The contributions of an additive ranker add up to the score."""

    score: float
    contributions: tuple[Contribution, ...] = ()
    spans: tuple[Span, ...] = ()
    text: Mapping[str, str] = field(default_factory=dict)
    """The plain text of each field that `spans` refers to."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """The contribution of each part of a hybrid to the score; empty for other rankers."""
    fields: Mapping[str, float] = field(default_factory=dict)
    """The contribution of each field of the document to the score: those searched, or `rephrasing`; empty if unknown.

    `text` is title and body as one text.
    """


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A similar question as it is shown to users.

    snippet: the passage of its body that matches. probability: that it asks the same; None without a calibration.
    similarity: its score from 0 to 1, on the same scale for every query; None if the probability is known.
    matched_duplicate: the matching duplicate that it is shown instead of; score and explanation are the duplicate's.
    duplicate_of: the id of its own original, if that is not in the archive.
    """

    question: Question
    score: float
    snippet: str
    probability: float | None = None
    explanation: Explanation | None = None
    similarity: float | None = None
    matched_duplicate: Question | None = None
    duplicate_of: str | None = None

    @property
    def id(self) -> str:
        """The question's id."""
        return self.question.id

    @property
    def title(self) -> str:
        """The question's title."""
        return self.question.title

    @property
    def states(self) -> tuple[State, ...]:
        """The question's states, with `duplicate` where its original is not in the archive."""
        return (*self.question.states, "duplicate") if self.duplicate_of else self.question.states

    @property
    def solution(self) -> str | None:
        """The time or release in which a problem was solved, such as `was solved in 2.1`; None if unknown."""
        question = self.question
        if question.solved_in:
            return f"was solved in {question.solved_in}"
        is_solved = question.closed_at and "answered" in question.marks
        return f"was solved on {question.closed_at[:10]}" if is_solved and question.closed_at else None

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the explanation, for JSON."""
        question, duplicate = self.question, self.matched_duplicate
        return {
            "id": question.id,
            "title": question.title,
            "url": question.url,
            "tags": list(question.tags),
            "snippet": self.snippet,
            "score": self.score,
            "probability": self.probability,
            "calibrated": self.probability is not None,
            "similarity": self.similarity,
            "states": list(self.states),
            "solution": self.solution,
            "matched_duplicate": {"id": duplicate.id, "title": duplicate.title} if duplicate else None,
            "duplicate_of": self.duplicate_of,
        }
