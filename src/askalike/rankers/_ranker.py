"""The interface of rankers: settings and what was learned; `open` returns the searcher of an archive's view."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from askalike.core.errors import SettingsError
from askalike.core.iteration import Progress
from askalike.core.model_folders import LearnedLabels
from askalike.encoders import Encoder
from askalike.index.commits import remove_index
from askalike.index.engine import ArchiveIndex
from askalike.rankers._searcher import Candidates, Searcher
from askalike.store import Snapshot, TrainingView


def candidates_needed(name: str) -> SettingsError:
    """Return the error for a ranker that needs candidates but got none."""
    return SettingsError(
        f"{name} ranks given candidates only; name some, or let another ranker propose them: "
        f"--ranker cascade --set parts=lm_jelinek_mercer,{name}"
    )


class WordScores(NamedTuple):
    """The scoring of a ranker's words as data, for what does the same elsewhere."""

    similarity: str
    """The name of its similarity; of a ranker that does more than its similarity, its own."""
    parameters: Mapping[str, Any]
    """The similarity's settings."""
    settings: Mapping[str, Any]
    """The settings of the index, see `TermExtractor.from_settings`."""


class VectorScores(NamedTuple):
    """The scoring of a ranker's vectors: the weighted mean of some fields' similarities."""

    encoder: Encoder
    fields: tuple[str, ...]
    weights: tuple[float, ...]
    min_score: float | None
    """The score below which nothing is retrieved."""


class Ranker(ABC):
    """Settings and learned parameters. A ranker holds no archive: `build` writes its index of one, `open` reads it."""

    name: str
    """The name by which it was requested."""
    parts: "Sequence[Ranker]" = ()
    """The rankers that it is composed of."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {dict(self.values)})"

    @property
    def label(self) -> str:
        """Its name in one word, with those of its parts: `hybrid(bm25,static)`."""
        return f"{self.name}({','.join(part.label for part in self.parts)})" if self.parts else self.name

    @classmethod
    @abstractmethod
    def from_settings(cls, name: str, values: Mapping[str, Any], archive: Path | None = None) -> "Ranker":
        """Return the ranker of that name with these settings. Raises SettingsError with all invalid settings.

        archive: the directory of the archive whose `models/` contain trained rankers.
        """

    @property
    @abstractmethod
    def values(self) -> Mapping[str, Any]:
        """All its settings, including defaults: `rankers.create(name, values)` returns an equal ranker."""

    @property
    def fingerprint(self) -> str:
        """A digest of its learned parameters; empty for a ranker without any."""
        return ""

    @property
    def trained_until(self) -> str | None:
        """The ISO date of the newest text or link in its training data; None if untrained.

        A replay rejects a ranker whose training data is newer than the query.
        """
        return None

    @property
    def word_scores(self) -> WordScores | None:
        """The scoring of its words; None if it has none of its own, but for those of its parts."""
        return None

    @property
    def vector_scores(self) -> VectorScores | None:
        """The scoring of its vectors; None if it has none of its own, but for those of its parts."""
        return None

    def weights_for(self, language: str | None) -> Sequence[float] | None:
        """Return its parts' weights for queries in a language, if it sums their absolute scores; else None."""
        return None

    @property
    def lexical_weight(self) -> float | None:
        """Weight of the lexical ranker in a hybrid with this one, whose weight is 1; None for a lexical ranker."""
        return None

    @property
    def lexical_power(self) -> int | None:
        """The power of a lexical score that counts by itself in a hybrid with this one; None: none does."""
        return None

    @property
    def languages(self) -> Sequence[str] | None:
        """ISO 639-1 codes of the languages that its encoder knows; None for all, as without an encoder."""
        return None

    @property
    def needs_candidates(self) -> bool:
        """Whether it only ranks given documents, and cannot retrieve."""
        return False

    def require_candidates(self, candidates: Candidates | None) -> None:
        """Raise SettingsError if it needs candidates and there are none."""
        if self.needs_candidates and candidates is None:
            raise candidates_needed(self.name)

    @property
    def learned_labels(self) -> LearnedLabels:
        """The labels in its training data, on which it must not be evaluated."""
        return LearnedLabels()

    def fit(self, view: TrainingView) -> "Ranker":
        """Return a ranker trained on the view's texts and links; itself if there is nothing to learn.

        The view must not contain held-out evaluation data, see `Archive.training_view`.
        """
        return self

    def build(self, view: Snapshot, progress: Progress | None = None) -> None:  # noqa: B027 (not every ranker has an index)
        """Write the view's index, or apply the changes of the archive since it was written.

        Raises IndexBusyError if another process is writing it.
        """

    def follow(self, view: Snapshot) -> None:
        """Apply changes to the view's index before a search, unless that is slow and `open` does not need it.

        Raises IndexBusyError if another process is writing it.
        """
        self.build(view)

    @abstractmethod
    def open(self, view: Snapshot) -> Searcher:
        """Open the view's index as last committed."""

    def index_paths(self, view: Snapshot) -> Sequence[Path]:
        """Return the directories of its indexes of a view; empty if it has none, or only in an engine."""
        return ()

    def start_rebuild(self, view: Snapshot) -> None:
        """Make the next `build` write the view's indexes from scratch.

        Raises IndexBusyError if another process is writing one, SearchIndexError if one cannot be removed.
        """
        for path in self.index_paths(view):
            remove_index(path)

    def indexes(self, view: Snapshot, *, refresh: bool = True) -> Sequence[ArchiveIndex[Any, Any]]:
        """Return its indexes of a view; empty for a ranker without one.

        refresh: read their last commits, which raises SearchIndexError for an index of another version; without it,
        nothing new is read.
        """
        return ()


@runtime_checkable
class Tunable(Protocol):
    """A ranker that declares the values of its settings to try when tuning, defaults first."""

    @property
    def grids(self) -> Sequence[Mapping[str, Sequence[Any]]]:
        """Return grids of setting → values, to be searched one after the other."""
