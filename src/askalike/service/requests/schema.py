"""The shapes that the service takes and gives."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from askalike.clock import parse_utc

MAX_RESULTS = 100
MAX_TITLE_LENGTH = 1_000
MAX_BODY_LENGTH = 100_000

Title = Annotated[str, Field(max_length=MAX_TITLE_LENGTH, description="the question, as far as it is typed")]
Body = Annotated[str, Field(max_length=MAX_BODY_LENGTH, description="more of the question, as plain text")]
ResultCount = Annotated[int, Field(ge=1, le=MAX_RESULTS, description="how many are wanted")]
Tags = Annotated[list[str], Field(max_length=50, description="only questions that have all of these")]
BeforeDate = Annotated[
    Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"}), AfterValidator(parse_utc)] | None,
    Field(description="only questions asked before this ISO date, in UTC"),
]
MinProbability = Annotated[
    float | None, Field(ge=0, le=1, description="only what is as probable; refused where nothing is calibrated")
]
Explain = Annotated[bool, Field(description="say where each word matched and how much it counted")]
Prefix = Annotated[bool, Field(description="the last word may be unfinished")]


class RequestModel(BaseModel):
    """The base of what comes in: what is not known is an error."""

    model_config = ConfigDict(extra="forbid")


class SimilarRequest(RequestModel):
    """A question that is being asked, and what may be found for it."""

    title: Title = ""
    body: Body = ""
    k: ResultCount = 5
    tags: Tags = []
    before: BeforeDate = None
    min_probability: MinProbability = None
    explain: Explain = False
    prefix: Prefix = False


class MatchedWord(BaseModel):
    """A word of what was asked, the fields that it was found in, and how much of the score it is."""

    word: str
    fields: list[str]
    score: float


class SimilarQuestion(BaseModel):
    """A similar question. `probability` is null where the ranker is not calibrated, and `calibrated` says so."""

    id: str
    title: str
    url: str | None
    tags: list[str]
    snippet: str
    score: float
    probability: float | None
    calibrated: bool
    confidence: str = Field(description='for people: "87 %", or "uncalibrated"')
    words: list[str] = Field(description="the words of what was asked that were found in it")
    matched: list[MatchedWord] | None = Field(description="more on these words, where it was asked for")


class SimilarResponse(BaseModel):
    """What was found, best first; `abstained` where nothing is."""

    results: list[SimilarQuestion]
    abstained: bool
    model: str
    took_ms: float


class FieldError(BaseModel):
    """One thing that is wrong with a request: where it stands, and what it is."""

    where: str
    what: str


class Problem(BaseModel):
    """An error (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    instance: str
    request_id: str
    errors: list[FieldError]


class Health(BaseModel):
    """Whether the service is alive, or ready."""

    status: str
    archives: list[str]


class IndexLag(BaseModel):
    """How many changes of an archive cannot be searched yet, and how long the oldest of them has waited."""

    behind: int
    lag_s: float


class Readiness(Health):
    """That every archive answers, and how far its index is."""

    index: dict[str, IndexLag]
