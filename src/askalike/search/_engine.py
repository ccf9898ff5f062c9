"""The interface of engines: requests in, results out."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, overload

from askalike.core.errors import SettingsError
from askalike.core.filters import Filter
from askalike.core.types import SearchHit


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A typed question and the options of its search. Raises SettingsError for invalid ones."""

    title: str
    body: str = ""
    k: int = 5
    """Maximum number of hits."""
    filter: Filter | None = None
    """The condition that every hit must satisfy."""
    prefix: bool = False
    """Whether the last word may be unfinished."""
    min_probability: float | None = None
    """Minimum probability of hits; None for the calibration's threshold."""
    min_similarity: float | None = None
    """Minimum absolute score of hits without a calibration; None for the archive's threshold."""
    explain: bool = True
    """Whether each hit has an explanation."""

    def __post_init__(self) -> None:
        if self.k < 1:
            raise SettingsError(f"k must be at least 1, got {self.k}")
        for name in ("min_probability", "min_similarity"):
            if (value := getattr(self, name)) is not None and not 0 <= value <= 1:
                raise SettingsError(f"{name} must be between 0 and 1, got {value}")

    @property
    def options(self) -> Hashable:
        """Everything but the texts: requests with equal options can be searched as one batch."""
        return self.k, self.filter, self.prefix, self.min_probability, self.min_similarity, self.explain


@dataclass(frozen=True, slots=True)
class SearchResult(Sequence[SearchHit]):
    """The hits of one request, best first; empty if the engine abstained because nothing is similar enough."""

    hits: Sequence[SearchHit]
    took_ms: float
    """Duration of the search, together with the others of its batch."""

    @property
    def abstained(self) -> bool:
        """Whether there are no hits."""
        return not self.hits

    @overload
    def __getitem__(self, place: int) -> SearchHit: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[SearchHit]: ...
    def __getitem__(self, place: int | slice) -> SearchHit | Sequence[SearchHit]:
        return self.hits[place]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[SearchHit]:
        return iter(self.hits)


class Engine(Protocol):
    """Searches one archive with one ranker."""

    def search_batch(self, requests: Sequence[SearchRequest]) -> list[SearchResult]:
        """Return the result of each request, all from one state of the archive.

        Raises SettingsError for a `min_probability` outside [0, 1], or if there are no probabilities.
        """

    def close(self) -> None:
        """Release the engine's resources."""
