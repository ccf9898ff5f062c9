"""The reply to a question: stored answers, or text written by a model, always labelled as such."""

from dataclasses import dataclass
from typing import Literal

from askalike.core.types import Answer, Question, SearchHit
from askalike.text.clean import readable_text

AnswerMode = Literal["nearest", "generate", "auto"]


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """A stored answer with its question. `score` and `probability` are those of the hit; higher is better."""

    answer: Answer
    question: Question
    score: float
    probability: float | None = None

    @property
    def text(self) -> str:
        """The answer as plain text, including links and code."""
        return readable_text(self.answer.body, self.answer.markup)

    @property
    def author(self) -> str | None:
        """The author of the answer."""
        return self.answer.author

    @property
    def license(self) -> str | None:
        """The answer's licence, else its question's."""
        return self.answer.license or self.question.license

    @property
    def url(self) -> str | None:
        """The address of the answer, else of its question."""
        return self.answer.url or self.question.url


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to a question.

    `text` is the text to show: None without an answer, else the first source's text or, if `generated`, the model's.
    The `sources` of generated text are the most similar stored answers; it was not derived from them unless it is
    `grounded`.
    """

    text: str | None
    generated: bool
    sources: tuple[AnswerSource, ...]
    model: str | None = None
    """The model that wrote generated text."""
    matches: tuple[SearchHit, ...] = ()
    """The similar questions that were searched for stored answers."""
    grounded: bool = False
    """Whether each sentence of generated text cites a source, by its question's id, and is supported by it."""
    removed: int = 0
    """The number of sentences of the model that were left out, as no source that they cite supports them."""

    @property
    def abstained(self) -> bool:
        """Whether there is no answer."""
        return self.text is None
