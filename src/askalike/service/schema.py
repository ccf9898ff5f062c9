"""The shapes of requests and responses that more than one route or page uses."""

from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, computed_field, model_validator
from pydantic.config import JsonDict
from starlette.convertors import PathConvertor, register_url_convertor

from askalike.core.errors import SettingsError
from askalike.core.filters import LEFT_OUT, Filter, LeftOut
from askalike.core.hits import Explain, Explanation, Grade, SearchHit
from askalike.core.records import MARKS, Answer, Link, Mark, Question, State
from askalike.core.values import ISO_639_1, parse_language, parse_limit, parse_tag, parse_utc, safe_url
from askalike.readers import read_question
from askalike.search.archive_retriever import SearchRequest
from askalike.search.explain import found_words, main_words
from askalike.store.editing import MAX_RECORDS
from askalike.store.query_log import FeedbackVerdict
from askalike.text.clean import normalised_length, replace_forbidden

MAX_RESULTS = 100
MAX_TITLE_LENGTH = 1_000
MAX_BODY_LENGTH = 100_000
MAX_FIELDS = 50
RecordNumber = Annotated[int, Field(ge=0, le=2**53)]
"""The number of a draft or a proposal: JavaScript holds it exactly, SQLite as an integer."""


class _IdConvertor(PathConvertor):
    """An id at the end of a path, which may contain slashes: `{id:id}`."""

    regex = ".+"


register_url_convertor("id", _IdConvertor())
Id = Annotated[str, Field(min_length=1, max_length=300), AfterValidator(replace_forbidden)]
Title = Annotated[str, Field(max_length=MAX_TITLE_LENGTH, description="the question as typed so far")]


def _limit_normalised(text: str) -> str:
    """Return the text. Raises ValueError if NFKC, which a search applies, makes it too long."""
    if (length := normalised_length(text)) > MAX_BODY_LENGTH:
        raise ValueError(
            f"expected at most {MAX_BODY_LENGTH:,} characters; signs that stand for several count as these: {length:,}"
        )
    return text


Body = Annotated[
    str,
    Field(max_length=MAX_BODY_LENGTH, description="more of the question, as plain text"),
    AfterValidator(_limit_normalised),
]
FindTitle = Annotated[
    bool, Field(description="without a title: the body is a message, of which the first question is the title")
]
ResultCount = Annotated[int, Field(ge=1, le=MAX_RESULTS, description="number of results")]
Tag = Annotated[str, Field(json_schema_extra={"pattern": r"\S"}), AfterValidator(parse_tag)]
LimitDate = Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"}), AfterValidator(parse_limit)]
BeforeDate = Annotated[LimitDate | None, Field(description="only questions asked before this ISO date, in UTC")]
AfterDate = Annotated[LimitDate | None, Field(description="only questions asked on or after this ISO date, in UTC")]
MinProbability = Annotated[
    float | None, Field(ge=0, le=1, description="minimum probability; returns 422 if the ranker is not calibrated")
]
MinSimilarity = Annotated[
    float | None,
    Field(ge=0, le=1, description="minimum similarity for an uncalibrated ranker; 0 shows all that it finds"),
]
Text = Annotated[str, Field(max_length=MAX_BODY_LENGTH), AfterValidator(replace_forbidden)]
ShortText = Annotated[str, Field(max_length=MAX_TITLE_LENGTH), AfterValidator(replace_forbidden)]
QuestionTitle = Annotated[str, Field(min_length=1, max_length=MAX_TITLE_LENGTH), AfterValidator(replace_forbidden)]
"""The title of a question that is written here; an imported one may be empty."""
DATE_TYPE = {"type": "string", "format": "date-time", "maxLength": 40}
DATE_SCHEMA = WithJsonSchema(DATE_TYPE | {"description": "ISO 8601; in UTC without an offset"}, mode="validation")
Date = Annotated[str, Field(max_length=40), AfterValidator(parse_utc), DATE_SCHEMA]
"""A date with an offset or without one; stored without, in UTC."""
WebAddress = Annotated[str, Field(max_length=2_000, pattern="^https?://[^\\s\\u0000-\\u0020\\u007f-\\u00a0]+$")]
LANGUAGE_PATTERN = f"^({'|'.join(sorted(ISO_639_1))}|[a-z]{{3}})$"
Language = Annotated[
    str, Field(pattern="^[a-z]{2,3}$", json_schema_extra={"pattern": LANGUAGE_PATTERN}), AfterValidator(parse_language)
]
Votes = Annotated[int, Field(ge=-(2**53), le=2**53)]

FEEDBACK_SCHEMA: JsonDict = {
    "anyOf": [
        {"properties": {"title": {"minLength": 1}}},
        {"required": ["body", "find_title"], "properties": {"body": {"minLength": 1}, "find_title": {"const": True}}},
    ],
    "if": {"properties": {"verdict": {"enum": ["accept", "reject"]}}},
    "then": {"required": ["chosen_id"], "properties": {"chosen_id": {"type": "string"}}},
    "else": {"properties": {"chosen_id": {"type": "null"}}},
}
"""In the OpenAPI description: a title, or a body to find it in, and `chosen_id` for verdicts on one question."""


class RequestModel(BaseModel):
    """The base of request models: an unknown field is an error, and many of them are a single one."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _count_fields(cls, value: Any) -> Any:
        if isinstance(value, dict) and len(value) > MAX_FIELDS:
            raise ValueError(f"{len(value)} fields; expected at most {MAX_FIELDS}")
        return value


class PosedQuestion(RequestModel):
    """A question: its title and body, or the message in which it is asked."""

    title: Title = ""
    body: Body = ""
    find_title: FindTitle = False

    def read(self) -> tuple[str, str] | None:
        """Return title and body; None for a message that asks nothing."""
        return read_question(self.body) if self.find_title and not self.title else (self.title, self.body)


class SimilarRequest(PosedQuestion):
    """A question that is being asked, and the conditions on its hits."""

    k: ResultCount = 5
    tags: Annotated[list[Tag], Field(max_length=50, description="only questions that have all of these tags")] = []
    before: BeforeDate = None
    after: AfterDate = None
    without: Annotated[
        list[LeftOut],
        Field(
            max_length=len(LEFT_OUT), description="leave out questions in these states: closed, locked, … or unanswered"
        ),
    ] = []
    min_probability: MinProbability = None
    min_similarity: MinSimilarity = None
    explain: Explain = Field(
        False, description="show where each word matched and how much it contributed; full: exactly, which takes longer"
    )
    prefix: bool = Field(False, description="the last word may be unfinished")
    count_shown: bool = Field(False, description="count a page view that shows similar questions; send once per view")

    @property
    def filter(self) -> Filter:
        """The conditions on its hits. Raises SettingsError if the dates exclude each other."""
        return Filter(tuple(self.tags), self.after, self.before, tuple(self.without))

    def to_search_request(self) -> SearchRequest | None:
        """Return the request for a search; None for a message that asks nothing."""
        if (question := self.read()) is None:
            return None
        minima = self.min_probability, self.min_similarity
        return SearchRequest(*question, self.k, self.filter, self.prefix, *minima, self.explain or True)

    @model_validator(mode="after")
    def _check_filter(self) -> Self:
        try:
            self.filter  # noqa: B018
        except SettingsError as error:
            raise ValueError(str(error)) from None
        return self


class QuestionText(RequestModel):
    """A question in its final wording."""

    title: Annotated[Title, Field(min_length=1)]
    body: Body = ""


class FeedbackRequest(PosedQuestion):
    """A verdict on the questions that were shown: on a chosen one, or on all of them."""

    model_config = ConfigDict(json_schema_extra=FEEDBACK_SCHEMA)

    title: Title
    shown_ids: Annotated[list[Id], Field(max_length=100)]
    verdict: FeedbackVerdict
    chosen_id: Id | None = None
    opened: bool = Field(
        False,
        description="whether a hit was opened or accepted earlier in the same page view; for the usage counts",
    )

    @model_validator(mode="after")
    def _require_question(self) -> Self:
        if not self.title and not (self.find_title and self.body):
            raise ValueError("title: expected at least 1 character, or find_title and a body")
        return self


@dataclass(slots=True)
class MatchedWord:
    """A word of the question, the fields that it was found in, and its contribution to the score."""

    word: str
    fields: tuple[str, ...]
    score: float


@dataclass(slots=True)
class DuplicateRef:
    """A duplicate that matched; its original is shown instead."""

    id: str
    title: str


@dataclass(slots=True)
class SimilarQuestion:
    """A similar question. `probability` is null and `calibrated` is false if the ranker is not calibrated."""

    id: str
    title: str
    url: str | None
    tags: tuple[str, ...]
    snippet: str
    score: float
    probability: float | None
    calibrated: bool
    confidence: Annotated[str, Field(description='for people: "87%", or "uncalibrated"')]
    states: Annotated[
        tuple[State, ...],
        Field(description="open, answered, closed, locked, outdated; duplicate of one that is absent"),
    ]
    grade: Annotated[
        Grade | None,
        Field(description="same: probably asks the same; related: has to do with it; null: shown on demand"),
    ]
    solution: Annotated[str | None, Field(description="the release or date of the solution, for a solved problem")]
    matched_duplicate: Annotated[
        DuplicateRef | None, Field(description="the duplicate that matched; this hit is its original")
    ]
    duplicate_of: Annotated[str | None, Field(description="the id of its original, if that is not in the archive")]
    similarity: Annotated[
        float | None,
        Field(description="without a calibration: a score from 0 to 1 on the same scale for every query"),
    ]
    matched_words: Annotated[
        list[str],
        Field(description="the question's words that are found in it; `bike ≈ bicycle` for one of similar meaning"),
    ]
    main_words: Annotated[
        list[str] | None, Field(description="at most three of these that contribute most, if `explain` is set")
    ]
    contributions: Annotated[
        list[MatchedWord] | None, Field(description="the contributions of words, if `explain` is set")
    ]
    fields: Annotated[
        dict[str, float] | None,
        Field(description="the contribution of each field to the score, if `explain` is set; text is title and body"),
    ]

    @classmethod
    def from_hit(cls, hit: SearchHit, explain: Explain = False) -> Self:
        """Return a hit as the API shows it, with the contributions of its words if `explain` is set."""
        contributions: list[MatchedWord] | None = None
        fields: dict[str, float] | None = None
        question, duplicate = hit.question, hit.matched_duplicate
        if explain:
            reason = hit.explanation or Explanation(hit.score)
            contributions = [MatchedWord(c.word, c.fields, c.score) for c in reason.contributions]
            fields = dict(reason.fields)
        return cls(
            question.id, question.title, safe_url(question.url), question.tags, hit.snippet, hit.score,
            hit.probability, hit.probability is not None, format_confidence(hit.probability), hit.states,
            hit.grade, hit.solution, DuplicateRef(duplicate.id, duplicate.title) if duplicate else None,
            hit.duplicate_of, hit.similarity, found_words(hit), main_words(hit) if explain else None,
            contributions, fields,
        )  # fmt: skip


class FieldError(BaseModel):
    """An error in a request: where it is, and what is wrong."""

    location: str
    detail: str


class Problem(BaseModel):
    """An error (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    instance: str
    request_id: str
    errors: list[FieldError]

    @computed_field(description="the same as `detail`, where clients of OpenAI's API expect it")  # type: ignore[prop-decorator]
    @property
    def message(self) -> str:
        """The same as `detail`."""
        return self.detail


def format_confidence(probability: float | None) -> str:
    """Return a probability as shown to people, such as "87%"."""
    return "uncalibrated" if probability is None else f"{probability:.0%}"


class QuestionFields(RequestModel):
    """A question without its id. A missing field other than the title is empty: all of it is replaced."""

    title: QuestionTitle
    body: Text = ""
    markup: Literal["text", "html"] = "text"
    tags: Annotated[tuple[ShortText, ...], Field(max_length=50)] = ()
    category: ShortText | None = None
    language: Language | None = None
    created_at: Date | None = None
    closed_at: Date | None = None
    author: ShortText | None = None
    url: WebAddress | None = None
    license: ShortText | None = None
    votes: Votes | None = None
    accepted_answer_id: Id | None = None
    rephrasings: Annotated[tuple[ShortText, ...], Field(max_length=100)] = ()
    marks: Annotated[tuple[Mark, ...], Field(max_length=len(MARKS))] = ()
    solved_in: ShortText | None = None

    def to_question(self, id: str) -> Question:
        """Return the question with that id."""
        return Question(id, **self.model_dump(exclude={"id"}))


class AnswerFields(RequestModel):
    """An answer without its id. Which answer is accepted is a field of the question."""

    question_id: Id
    body: Text
    markup: Literal["text", "html"] = "text"
    created_at: Date | None = None
    author: ShortText | None = None
    url: WebAddress | None = None
    license: ShortText | None = None
    votes: Votes | None = None

    def to_answer(self, id: str) -> Answer:
        """Return the answer with that id."""
        return Answer(id, **self.model_dump(exclude={"id"}))


class LinkFields(RequestModel):
    """`source` was closed as a duplicate of `target`, or is related to it."""

    source: Id
    target: Id
    kind: Literal["duplicate", "related"] = "duplicate"
    created_at: Date | None = None

    def to_link(self) -> Link:
        """Return the link."""
        return Link(**self.model_dump())


class NewLink(LinkFields):
    """A link between two questions."""

    @model_validator(mode="after")
    def _require_two_questions(self) -> Self:
        if self.source == self.target:
            raise ValueError("source and target are the same; expected two questions")
        return self


class QuestionRecord(QuestionFields):
    """A question with its id."""

    id: Id


class AnswerRecord(AnswerFields):
    """An answer with its id."""

    id: Id
    accepted: bool = False

    @classmethod
    def from_answer(cls, answer: Answer) -> "AnswerRecord":
        """Return a stored answer without validation: an imported one may be longer than the service would accept."""
        return cls.model_construct(None, **{key: getattr(answer, key) for key in cls.model_fields})


RecordT = TypeVar("RecordT")


class RecordBatch(RequestModel, Generic[RecordT]):
    """Records of one kind, all committed together or none."""

    items: Annotated[list[RecordT], Field(min_length=1, max_length=MAX_RECORDS)]


class StoredQuestion(QuestionRecord):
    """A stored question with its answers, the accepted one first, and its links in both directions.

    imported_from: the name of the source that it was imported from; null if it was added over HTTP or on the pages.
    """

    imported_from: str | None
    answers: list[AnswerRecord]
    links: list[LinkFields]


class CommitResponse(BaseModel):
    """A commit to disk. `change`: the archive's change number; `created`: how many records are new."""

    change: int
    created: int
