"""What every ranker does."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from askalike.store.view import View
from askalike.types import Explanation, Filter, Progress, Question, Run


class Ranker(Protocol):
    """Ranks the questions (or answers) of a view for queries."""

    @property
    def name(self) -> str:
        """The name it was asked for by."""

    @property
    def values(self) -> Mapping[str, Any]:
        """All its settings, the defaults too: `build(name, values)` makes the same ranker."""

    def fit(self, view: View) -> Self:
        """Learns from the view's texts and links. A ranker that has nothing to learn returns itself at once."""

    def build(self, view: View, progress: Progress | None = None) -> Self:
        """Makes the view searchable: builds its index, or applies what has changed since. Needed before `rank`."""

    def index_paths(self, view: View) -> Sequence[Path]:
        """The directories of its indexes of a view."""

    def rank(
        self,
        queries: Mapping[str, Question],
        k: int,
        *,
        candidates: Mapping[str, Sequence[str]] | None = None,
        filter: Filter | None = None,
        prefix: bool = False,
    ) -> Run:
        """The k best documents of each query: best first, ties in the archive's order, none that matches nothing.

        candidates: the documents to rank for each query; all of them are ranked then, ties in the order given.
        where: only documents that satisfy it are ranked; as many are found as without it.
        prefix: the query's last word may be unfinished.
        A query whose id is a question's finds neither it nor its rephrasings; one whose id is that of a rephrasing
        (QUESTION#2) finds its question by its other phrasings.
        """

    def explain(self, query: Question, ids: Sequence[str], *, prefix: bool = False) -> Mapping[str, Explanation]:
        """Why each of these documents has its score for the query. prefix: as for `rank`."""

    def similarities(
        self, queries: Mapping[str, Question], run: Run, *, prefix: bool = False
    ) -> Mapping[str, NDArray[np.float64]] | None:
        """How alike each query and its hits in a run of this ranker are, as they come, each (hits,).

        That depends on nothing else: neither on what else was found nor on how long the query is. None where the
        ranker's scores do not tell. prefix: as for `rank`.
        """


@runtime_checkable
class Tunable(Protocol):
    """A ranker that knows which of its settings are worth trying, the defaults first."""

    @property
    def grids(self) -> Sequence[Mapping[str, Sequence[Any]]]:
        """Setting → values; several grids are tried one after the other."""


@runtime_checkable
class TrainedRanker(Protocol):
    """A ranker that has learned from texts or links with dates, and says of when the latest of them are.

    What it knows must not be later than the moment that it is asked at: a replay refuses it before that.
    """

    @property
    def trained_until(self) -> str | None:
        """The ISO date of the latest thing it has learned from; None where it has learned nothing."""
