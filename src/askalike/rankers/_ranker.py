"""What every ranker does."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self

from askalike.archive.view import View
from askalike.types import Explanation, Filter, Question, Run

Progress = Callable[[int, int], None]
"""Called with how many rows are done, and of how many."""


class Ranker(Protocol):
    """Ranks the questions (or answers) of a view for queries."""

    @property
    def name(self) -> str:
        """The name it was asked for by."""

    def fit(self, view: View) -> Self:
        """Learns from the view's texts and links. A ranker that has nothing to learn returns itself at once."""

    def index(self, view: View, progress: Progress | None = None) -> Self:
        """Makes the view searchable: builds its index, or applies what has changed since. Needed before `rank`."""

    def paths(self, view: View) -> Sequence[Path]:
        """The directories of its indexes of a view."""

    def rank(
        self,
        queries: Mapping[str, Question],
        k: int,
        *,
        candidates: Mapping[str, Sequence[str]] | None = None,
        where: Filter | None = None,
        prefix: bool = False,
    ) -> Run:
        """The k best documents of each query: best first, ties in the archive's order, none that matches nothing.

        candidates: the documents to rank for each query; all of them are ranked then, ties in the order given.
        where: only documents that satisfy it are ranked; as many are found as without it.
        prefix: the query's last word may be unfinished.
        A query whose id is a question's finds neither it nor its rephrasings; one whose id is that of a rephrasing
        (QUESTION#2) finds its question by its other phrasings.
        """

    def explain(self, query: Question, ids: Sequence[str]) -> Mapping[str, Explanation]:
        """Why each of these documents has its score for the query."""
