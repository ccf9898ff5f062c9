"""The types that all components share: what an archive holds, what a search shows, ranked documents, vectors."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from functools import partial
from operator import itemgetter
from typing import Any, Final, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

from askalike.core.errors import SettingsError

Mark = Literal["answered", "closed", "locked", "outdated"]
"""The mark of a question by its source. answered: it is solved, whether or not an answer is accepted."""
State = Literal["open", "answered", "closed", "locked", "outdated", "duplicate"]

MARKS: Final[tuple[Mark, ...]] = get_args(Mark)
LogCallback = Callable[[str], None]
"""Called with a line of progress text."""
Progress = Callable[[int, int], None]
"""Called during work, with the number of rows done and the total."""
OpenBar = Callable[[str], AbstractContextManager[Progress | None]]
"""Opens a progress bar with a description; bars may be nested."""

Markup = Literal["text", "html"]
LinkKind = Literal["duplicate", "related"]
DocumentKind = Literal["questions", "answers"]

TYPED_QUERY_ID: Final = " typed "
"""The id of a typed question: no question of an archive has it."""

Qrels = Mapping[str, Mapping[str, int]]
"""Query id → document id → relevance (0 = judged not relevant)."""
Floats = NDArray[np.float64]
RESERVED: Final = 2
"""Token ids below this are reserved: 0 for padding, 1 for the unknown word."""

Metric = Literal["cosine", "dot", "euclidean"]


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
    """A row of a file that cannot be imported, with its place, the reason, and the row as it is in the file."""

    path: str
    line: int
    reason: str
    row: str = ""


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

    @classmethod
    def of_rows(cls, rows: Iterable[tuple[str, tuple[str, ...], float]]) -> tuple[Self, ...]:
        """Return the contributions with these values, the highest score first; faster than one by one."""
        return tuple(map(partial(tuple.__new__, cls), sorted(rows, key=itemgetter(2), reverse=True)))


class Span(NamedTuple):
    """A matching part of a field's plain text, as character offsets [start, end)."""

    field: str
    start: int
    end: int

    @classmethod
    def of_rows(cls, rows: Iterable[tuple[str, int, int]]) -> tuple[Self, ...]:
        """Return the spans with these values; faster than one by one."""
        return tuple(map(partial(tuple.__new__, cls), rows))


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


@dataclass(frozen=True, slots=True, repr=False)
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

    def __repr__(self) -> str:
        probability = "" if self.probability is None else f", probability={self.probability:.2f}"
        return f"SearchHit({self.id!r}, {self.title!r}, score={self.score:.3g}{probability})"

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


class Collection(NamedTuple):
    """Statistics of an index: the number of documents with the field, and the sum of all term frequencies in it."""

    documents: int
    total: float

    @property
    def average(self) -> float:
        """The average document length."""
        return self.total / max(self.documents, 1)


@dataclass(frozen=True, slots=True)
class TopDocs:
    """The best documents of one query, best first, ties by ascending docid.

    docids: int64 (n), the documents' numbers in the archive. scores: float64 (n), higher is better.
    """

    docids: NDArray[np.int64]
    scores: Floats


Columns = tuple[Sequence[str], Floats]
"""One query's document ids and scores, best first."""


class Run(Mapping[str, Sequence[Hit]]):
    """The ranked documents of many queries: query id → hits, best first, which are created when they are read.

    columns: query id → document ids and their scores (float64), both best first and of the same length.
    """

    def __init__(self, columns: Mapping[str, Columns]) -> None:
        self._columns = dict(columns)

    def __repr__(self) -> str:
        return f"Run(queries={len(self)})"

    def columns(self, query_id: str) -> Columns:
        """Return the document ids and scores of one query, best first."""
        return self._columns[query_id]

    @classmethod
    def from_frame(cls, frame: Any) -> Self:
        """Return the run in a pandas data frame with the columns qid (query_id), docno (doc_id) and score."""
        frame = frame.rename(columns={"query_id": "qid", "doc_id": "docno"})
        if missing := [name for name in ("qid", "docno", "score") if name not in frame.columns]:
            raise SettingsError(f"a run's frame has no column {', '.join(missing)}; it has {', '.join(frame.columns)}")
        groups = frame.sort_values("score", ascending=False, kind="stable").groupby(frame["qid"].astype(str))
        return cls({q: (rows["docno"].astype(str).tolist(), rows["score"].to_numpy(np.float64)) for q, rows in groups})

    def to_frame(self) -> Any:
        """Return a pandas data frame with PyTerrier's columns: qid, docno, rank (from 0) and score, best first."""
        import pandas  # type: ignore[import-untyped, unused-ignore]

        rows = [(query, hit.id, rank, hit.score) for query in self for rank, hit in enumerate(self[query])]
        return pandas.DataFrame(rows, columns=["qid", "docno", "rank", "score"])

    def __getitem__(self, query_id: str) -> Sequence[Hit]:
        ids, scores = self._columns[query_id]
        return [Hit(i, s) for i, s in zip(ids, scores.tolist(), strict=True)]

    def __contains__(self, query_id: object) -> bool:  # Mapping's own method would build every hit
        return query_id in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


@dataclass(frozen=True, slots=True)
class VectorPart:
    """One part of the vectors of n texts.

    values: float32 (n, dim), a dense array or a scipy CSR array. metric: the part's score of two texts: their cosine,
    their dot product, or minus their Euclidean distance. weight: the factor of the part's score.
    """

    values: Any
    metric: Metric = "cosine"
    weight: float = 1.0

    @property
    def is_sparse(self) -> bool:
        """Whether the values are a CSR array."""
        return not isinstance(self.values, np.ndarray)

    def __len__(self) -> int:
        return int(self.values.shape[0])


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of n texts, in one or more parts of n rows each; a score is the weighted sum over the parts."""

    parts: tuple[VectorPart, ...]

    def __len__(self) -> int:
        return len(self.parts[0])
