"""How popular documents are, whatever is asked: what many have voted for is what more will ask.

Evidence that does not depend on the query (Craswell, Robertson, Zaragoza and Taylor 2005), as a part of a hybrid.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from askalike import clock, config
from askalike.archive.view import View
from askalike.errors import SettingsError
from askalike.index.search import Found
from askalike.rankers._numbered import Asked, Numbered, Numbers, Scores
from askalike.rankers._ranker import Progress
from askalike.types import Contribution, Explanation, Filter, Question, Run


class Votes(Numbered):
    """The score of a document is ln(1 + its votes), 0 where it has none or fewer. It proposes nothing by itself."""

    name = "votes"

    @classmethod
    def named(cls, name: str, values: Mapping[str, Any]) -> Self:
        """It has no settings."""
        config.validated(config.Settings, values, name)
        return cls()

    @property
    def values(self) -> Mapping[str, Any]:
        """None."""
        return {}

    @property
    def knows_until(self) -> str | None:
        """See Dated: nobody knows what votes a document had at an earlier date."""
        return clock.now()

    def paths(self, view: View) -> Sequence[Path]:
        """None: the archive itself is read."""
        return ()

    def index(self, view: View, progress: Progress | None = None) -> Self:
        """Nothing is to be done."""
        self._view = view
        return self

    def rank(
        self,
        queries: Mapping[str, Question],
        k: int,
        *,
        candidates: Mapping[str, Sequence[str]] | None = None,
        where: Filter | None = None,
        prefix: bool = False,
    ) -> Run:
        """Raises SettingsError: there is nothing to find by."""
        raise SettingsError(
            "votes: finds nothing by itself; expected it among a hybrid's parts, as in "
            "--ranker hybrid --set parts=lm_jelinek_mercer,votes --set weights=4,1"
        )

    def prepare(self, view: View, asked: Sequence[Asked], prefix: bool) -> int:
        """How many queries there are."""
        return len(asked)

    def find(self, prepared: int, k: int, allowed: Numbers | None) -> list[Found]:
        """See Numbered.find: nothing."""
        return [Found(np.empty(0, np.int64), np.empty(0, np.float64)) for _ in range(prepared)]

    def score(self, prepared: int, candidates: Sequence[Numbers]) -> list[Scores]:
        """See Numbered.score."""
        wanted = np.unique(np.concatenate([np.empty(0, np.int64), *candidates]))
        votes = self._opened().votes(wanted)
        of = np.log1p([max(votes.get(n, 0), 0) for n in wanted.tolist()])
        return [of[np.searchsorted(wanted, numbers)] for numbers in candidates]

    def explain_asked(
        self, view: View, asked: Asked, ids: Sequence[str], prefix: bool = False
    ) -> Mapping[str, Explanation]:
        """The number of votes."""
        numbers = view.numbers(ids)
        votes = view.votes(numbers.values())
        return {id: _counted(votes[number]) for id, number in numbers.items() if votes.get(number, 0) > 0}


def _counted(votes: int) -> Explanation:
    score = float(np.log1p(votes))
    return Explanation(score, (Contribution(f"{votes:,} vote{'s' * (votes > 1)}", (), score),))
