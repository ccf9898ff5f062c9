"""The shapes of requests and responses that more than one route or page uses."""

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, computed_field, model_validator
from pydantic.config import JsonDict

from askalike.core.errors import SettingsError
from askalike.core.filters import LEFT_OUT, Filter, LeftOut
from askalike.core.types import Explanation, SearchHit, State
from askalike.core.values import parse_limit, parse_tag, safe_url
from askalike.search.engine import SearchRequest
from askalike.search.explain import found_words
from askalike.store.query_log import FeedbackVerdict
from askalike.text.clean import replace_forbidden

MAX_RESULTS = 100
MAX_TITLE_LENGTH = 1_000
MAX_BODY_LENGTH = 100_000
MAX_FIELDS = 50
RecordNumber = Annotated[int, Field(ge=0, le=2**53)]
"""The number of a draft or a proposal: JavaScript holds it exactly, SQLite as an integer."""

Id = Annotated[str, Field(min_length=1, max_length=300), AfterValidator(replace_forbidden)]
Title = Annotated[str, Field(max_length=MAX_TITLE_LENGTH, description="the question as typed so far")]
Body = Annotated[str, Field(max_length=MAX_BODY_LENGTH, description="more of the question, as plain text")]
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

FEEDBACK_SCHEMA: JsonDict = {
    "if": {"properties": {"verdict": {"enum": ["accept", "reject"]}}},
    "then": {"required": ["chosen_id"], "properties": {"chosen_id": {"type": "string"}}},
    "else": {"properties": {"chosen_id": {"type": "null"}}},
}
"""In the OpenAPI description: `chosen_id` is required for verdicts on one question."""


class RequestModel(BaseModel):
    """The base of request models: an unknown field is an error, and many of them are a single one."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _count_fields(cls, value: Any) -> Any:
        if isinstance(value, dict) and len(value) > MAX_FIELDS:
            raise ValueError(f"{len(value)} fields; expected at most {MAX_FIELDS}")
        return value


class SimilarRequest(RequestModel):
    """A question that is being asked, and the conditions on its hits."""

    title: Title = ""
    body: Body = ""
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
    explain: bool = Field(False, description="show where each word matched and how much it contributed")
    prefix: bool = Field(False, description="the last word may be unfinished")
    count_shown: bool = Field(False, description="count a page view that shows similar questions; send once per view")

    @property
    def filter(self) -> Filter:
        """The conditions on its hits. Raises SettingsError if the dates exclude each other."""
        return Filter(tuple(self.tags), self.after, self.before, tuple(self.without))

    def to_search_request(self) -> SearchRequest:
        """Return the request for the engine."""
        return SearchRequest(
            self.title, self.body, self.k, self.filter, self.prefix, self.min_probability, self.min_similarity
        )

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


class FeedbackRequest(QuestionText):
    """A verdict on the questions that were shown: on a chosen one, or on all of them."""

    model_config = ConfigDict(json_schema_extra=FEEDBACK_SCHEMA)

    shown_ids: Annotated[list[Id], Field(max_length=100)]
    verdict: FeedbackVerdict
    chosen_id: Id | None = None
    opened: bool = Field(
        False,
        description="whether a hit was opened or accepted earlier in the same page view; for the usage counts",
    )


class MatchedWord(BaseModel):
    """A word of the question, the fields that it was found in, and its contribution to the score."""

    word: str
    fields: list[str]
    score: float


class DuplicateRef(BaseModel):
    """A duplicate that matched; its original is shown instead."""

    id: str
    title: str


class SimilarQuestion(BaseModel):
    """A similar question. `probability` is null and `calibrated` is false if the ranker is not calibrated."""

    id: str
    title: str
    url: str | None
    tags: list[str]
    snippet: str
    score: float
    probability: float | None
    calibrated: bool
    confidence: str = Field(description='for people: "87%", or "uncalibrated"')
    states: list[State] = Field(description="open, answered, closed, locked, outdated; duplicate of one that is absent")
    solution: str | None = Field(description="the release or date of the solution, for a solved problem")
    matched_duplicate: DuplicateRef | None = Field(description="the duplicate that matched; this hit is its original")
    duplicate_of: str | None = Field(description="the id of its original, if that is not in the archive")
    similarity: float | None = Field(
        description="without a calibration: a score from 0 to 1 on the same scale for every query"
    )
    matched_words: list[str] = Field(description="the words of the question that were found in it")
    contributions: list[MatchedWord] | None = Field(description="details of these words, if `explain` is true")
    fields: dict[str, float] | None = Field(
        description="the contribution of each field to the score, if `explain` is true; text is title and body"
    )

    @classmethod
    def from_hit(cls, hit: SearchHit, explain: bool = False) -> Self:
        """Return a hit as the API shows it, with its matched words if `explain` is true."""
        contributions, fields = None, None
        if explain:
            reason = hit.explanation or Explanation(hit.score)
            listed, fields = reason.contributions, dict(reason.fields)
            contributions = [MatchedWord(word=c.word, fields=list(c.fields), score=c.score) for c in listed]
        shown = {"url": safe_url(hit.question.url), "confidence": format_confidence(hit.probability)}
        values = hit.as_dict() | shown | {"matched_words": found_words(hit)}
        return cls(**values, contributions=contributions, fields=fields)


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
