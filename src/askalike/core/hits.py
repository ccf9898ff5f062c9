"""What a search returns: ranked documents, the reasons for their scores, and hits as users see them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Any, Final, Literal, NamedTuple, Self, TypeVar

import numpy as np

from askalike.core.arrays import Floats, Ints
from askalike.core.errors import SettingsError
from askalike.core.iteration import lazy_property
from askalike.core.records import Question, State

Grade = Literal["same", "related"]
Explain = bool | Literal["full"]
"""Whether hits are explained; full: exactly, with function words."""
KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")
PAIR: Final = " ≈ "
"""Between a word of the query and the most similar word of the document, as in `bike ≈ bicycle`."""
CORRECTED: Final = " → "
"""Between a word as it was typed and as it was read."""
TYPED_QUERY_ID: Final = " typed "
"""The id of a typed question: no question of an archive has it."""


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

    docids: Ints
    scores: Floats


@dataclass(frozen=True, slots=True)
class Hit:
    """The id of a retrieved document with its score; a higher score is better."""

    id: str
    score: float


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


class Contribution(NamedTuple):
    """The contribution of one query word to a score.

    word: as it was typed, with PAIR and CORRECTED. fields: the fields of the document that it matches in.
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


class LazyMapping(Mapping[KeyT, ValueT]):
    """A mapping that is computed when it is first read: of many explanations only a few are shown in full."""

    def __init__(self, compute: Callable[[], Mapping[KeyT, ValueT]]) -> None:
        self._compute = compute

    @lazy_property
    def _computed(self) -> Mapping[KeyT, ValueT]:
        return self._compute()

    def __getitem__(self, name: KeyT) -> ValueT:
        return self._computed[name]

    def __iter__(self) -> Iterator[KeyT]:
        return iter(self._computed)

    def __len__(self) -> int:
        return len(self._computed)


@dataclass(frozen=True, slots=True, repr=False)
class SearchHit:
    """A similar question as it is shown to users.

    snippet: the passage of its body that matches. probability: that it asks the same; None without a calibration.
    similarity: its score from 0 to 1, on the same scale for every query; None if the probability is known.
    matched_duplicate: the matching duplicate that it is shown instead of; score and explanation are the duplicate's.
    duplicate_of: the id of its own original, if that is not in the archive.
    grade: `same` if it probably asks the same, `related` if it has to do with the query; None if neither, but a lower
    minimum was asked for.
    """

    question: Question
    score: float
    snippet: str
    probability: float | None = None
    explanation: Explanation | None = None
    similarity: float | None = None
    matched_duplicate: Question | None = None
    duplicate_of: str | None = None
    grade: Grade | None = None

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
            "grade": self.grade,
        }
