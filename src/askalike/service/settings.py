"""The settings of `askalike serve`: the archives, the address, and what is allowed."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from askalike.core.config import DateText, Settings
from askalike.core.errors import SettingsError
from askalike.core.filters import Filter, LeftOut
from askalike.core.values import is_loopback, parse_origin
from askalike.search.select import ANSWERED_FIRST
from askalike.store.retention import MAX_KEEP_DAYS


class ServiceSettings(Settings):
    """The settings of one service. Its processes pass them to each other as JSON."""

    archives: tuple[Path, ...] = Field(min_length=1, description="the archives' directories")
    host: str = Field("127.0.0.1", description="the address to listen at")
    port: int = Field(8080, ge=0, le=65535, description="the port; 0 picks a free one")
    ranker: str | None = Field(None, description="the ranker's name; by default the active one")
    engine: str | None = Field(None, description="the engine that holds the indexes, NAME+URL; by default files do")
    values: dict[str, Any] = Field(default_factory=dict, description="the ranker's settings")
    workers: int = Field(1, ge=1, le=64, description="number of worker processes")
    log_texts: bool = Field(False, description="whether the log shows the texts of questions")
    max_body_bytes: int = Field(4 << 20, ge=1, description="maximum size of a request body")
    timeout_s: float = Field(10.0, gt=0, description="time limit of a request")
    receive_s: float = Field(15.0, gt=0, description="time limit for receiving a request")
    stalled_s: float = Field(
        20.0, ge=2, description="a process that gives no sign of life for so long is killed and started again"
    )
    max_connections: int = Field(900, ge=1, description="maximum connections per worker; more are closed at once")
    max_waiting: int = Field(64, ge=1, description="maximum requests waiting for one archive; more are rejected")

    without: tuple[LeftOut, ...] = Field(
        (), description="states that no search returns: closed, locked, outdated, unanswered"
    )
    after: DateText | None = Field(None, description="no search returns questions asked before this date")
    answered_first: float = Field(
        ANSWERED_FIRST,
        ge=0,
        lt=1,
        description="closed or unanswered questions come after answered ones with a score at most this share lower",
    )

    allow_origins: tuple[Annotated[str, AfterValidator(parse_origin)], ...] = Field(
        (), description="sites whose pages may send requests, such as https://forum.example"
    )
    require_keys: bool = Field(False, description="whether loopback requires a key, too")
    public: bool = Field(False, description="whether visitors may search and read pages without a key")
    requests_per_s: float = Field(200.0, ge=0, description="maximum requests per second and caller; 0: no limit")
    burst: int = Field(400, ge=1, description="maximum requests that one caller may send at once")

    stored_per_s: float = Field(
        1.0,
        ge=0,
        description="maximum feedback and posted questions per second of a caller who may not write; 0: no limit",
    )
    stored_burst: int = Field(20, ge=1, description="maximum of these that one caller may send at once")
    max_stored: int = Field(
        1_000_000, ge=1, description="maximum queries, feedback and posted questions that an archive stores"
    )
    max_stored_bytes: int = Field(500 << 20, ge=1, description="maximum size of their texts")

    public_url: str | None = Field(
        None, pattern="^https?://[^/?#@\\s]+$", description="the public address, behind a proxy"
    )
    session_hours: float = Field(12.0, gt=0, le=8_760, description="how long people stay logged in")
    propose: float = Field(0.5, ge=0, le=0.9, description="the share of the indexer's time spent on finding duplicates")

    take_questions: bool = Field(
        False, description="whether people may post a question to the drafts when no similar one helps"
    )

    endpoint: str | None = Field(None, description="an OpenAI-compatible endpoint that writes grounded answers")
    endpoint_model: str | None = Field(None, description="name of the endpoint's model")
    keep_days: float | None = Field(
        None,
        ge=0,
        le=MAX_KEEP_DAYS,
        description="days for which queries, feedback and undecided drafts are stored; 0 stores none; by default those "
        "named before, or 90",
    )

    @model_validator(mode="after")
    def _require_whole_endpoint(self) -> Self:
        if (self.endpoint is None) != (self.endpoint_model is None):
            raise ValueError("endpoint and endpoint_model need each other; give both, or none")
        return self

    @model_validator(mode="after")
    def _require_keeping(self) -> Self:
        if self.take_questions and self.keep_days == 0:
            raise ValueError("take_questions: questions that people post are kept as drafts, but keep_days is 0")
        return self

    @classmethod
    def assignable(cls) -> Sequence[str]:
        """Return the names of the settings without a command-line option."""
        options = {"archives", "host", "port", "ranker", "engine", "values", "workers", "allow_origins"}
        return [name for name in cls.model_fields if name not in options]

    @property
    def filter(self) -> Filter:
        """The conditions on every hit of every search. Raises SettingsError."""
        return Filter(after=self.after, without=self.without)

    @property
    def keyless(self) -> bool:
        """Whether callers without a key may do everything."""
        return is_loopback(self.host) and not self.require_keys

    def without_archives(self, names: Collection[str]) -> Self:
        """Return the settings without the archives of these names."""
        rest = tuple(path for name, path in self.archive_paths().items() if name not in names)
        return self.model_copy(update={"archives": rest})

    def archive_paths(self) -> Mapping[str, Path]:
        """Return each archive's path by the name of its folder. Raises SettingsError if two have one name."""
        items = [(path.resolve().name, path) for path in self.archives]
        if duplicates := [name for name, n in Counter(name for name, _ in items).items() if n > 1]:
            name = duplicates[0]
            raise SettingsError(f"two archives are called {name!r}: the folder's name is the address; rename one")
        return dict(items)
