"""What an archive holds: questions, answers, links, judgements, rejected rows; and what is known of it to match."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, NamedTuple, Self, get_args

Mark = Literal["answered", "closed", "locked", "outdated"]
"""The mark of a question by its source. answered: it is solved, whether or not an answer is accepted."""
State = Literal["open", "answered", "closed", "locked", "outdated", "duplicate"]
MARKS: Final[tuple[Mark, ...]] = get_args(Mark)
Markup = Literal["text", "html"]
LinkKind = Literal["duplicate", "related"]
DocumentKind = Literal["questions", "answers"]
Qrels = Mapping[str, Mapping[str, int]]
"""Query id → document id → relevance (0 = judged not relevant)."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question as a person wrote it.

    Dates are ISO 8601 in UTC. language: an ISO 639-1 code; None if unknown. rephrasings: other wordings of the same
    question. marks: what its source marks it as. solved_in: the release in which it was solved.
    """

    id: str
    title: str
    body: str = ""
    markup: Markup = "text"
    tags: tuple[str, ...] = ()
    category: str | None = None
    language: str | None = None
    created_at: str | None = None
    closed_at: str | None = None
    author: str | None = None
    url: str | None = None
    license: str | None = None
    votes: int | None = None
    accepted_answer_id: str | None = None
    rephrasings: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    solved_in: str | None = None

    @property
    def states(self) -> tuple[State, ...]:
        """Its states: `open`, or one or more of answered, closed, locked and outdated.

        A closing date means closed only without marks. Marks give the reason for closing: an issue that was closed
        because it is solved is answered, not closed.
        """
        states: set[State] = set(self.marks)
        if self.closed_at and not self.marks:
            states.add("closed")
        if self.accepted_answer_id:
            states.add("answered")
        return tuple(mark for mark in MARKS if mark in states) or ("open",)

    @property
    def is_settled(self) -> bool:
        """Whether it is answered, and neither closed nor outdated."""
        return "answered" in self.states and {"closed", "outdated"}.isdisjoint(self.states)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to the question `question_id`.

    accepted: whether the question's `accepted_answer_id` names it; only that id is stored. label: a data set's own
    judgement of it (SemEval: Good, Bad, …).
    """

    id: str
    question_id: str
    body: str
    markup: Markup = "text"
    accepted: bool = False
    created_at: str | None = None
    author: str | None = None
    url: str | None = None
    license: str | None = None
    votes: int | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class AnsweredQuestion(Question):
    """A question with its accepted answer, None without one, as rankers read it that search answers as a field."""

    answer: Answer | None = None

    @classmethod
    def of_question(cls, question: Question, answer: Answer | None) -> Self:
        """Return a question with its accepted answer."""
        values: dict[str, Any] = {field.name: getattr(question, field.name) for field in fields(Question)}
        return cls(**values, answer=answer)


@dataclass(frozen=True, slots=True)
class Link:
    """A link from a duplicate to its original, or from a question to a related one."""

    source: str
    target: str
    kind: LinkKind = "duplicate"
    created_at: str | None = None


@dataclass(frozen=True, slots=True)
class EvaluationQuery:
    """A query of an imported evaluation set, with its split (train, dev or test). Its id is the one in that set."""

    split: str
    question: Question


@dataclass(frozen=True, slots=True)
class Judgement:
    """A document of an imported evaluation set that is a candidate for a query, or judged for it, or both.

    relevance: None for a candidate without a judgement (a test set without labels). position: its place among the
    query's candidates; None if it is not a candidate (BEIR). record_type: whether the document is a question or an
    answer.
    """

    split: str
    query_id: str
    document_id: str
    relevance: int | None
    position: int | None = None
    record_type: DocumentKind = "questions"


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A row of a file that cannot be imported: its place, the reason, and its text, or what was read of it."""

    path: str
    line: int
    reason: str
    row: object = ""


class Place(NamedTuple):
    """The place of a record in its files. Lines count from 1; 0 is the whole file.

    source: in an exported archive, the name of the source that the record came from; None if it was written there.
    ids_are_given: whether the file contains the ids, so that a repeated one is an error; ids derived from the content
    may repeat.
    """

    path: str
    line: int = 0
    source: str | None = None
    ids_are_given: bool = True

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}" if self.line else self.path


Record = Question | Answer | Link | EvaluationQuery | Judgement | RejectedRow
LocatedRecord = tuple[Record, Place]
"""The records that readers yield."""


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
