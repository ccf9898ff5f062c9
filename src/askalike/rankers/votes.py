"""How popular documents are, whatever is asked: what many have voted for is what more will ask.

Evidence that does not depend on the query (Craswell, Robertson, Zaragoza and Taylor 2005), as a part of a hybrid.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from askalike import clock, config
from askalike.errors import SettingsError
from askalike.rankers._numbered import DocidRanker, Docids, ResolvedQuery, Scores
from askalike.store.view import View
from askalike.types import Contribution, Explanation, Filter, Progress, Question, Run, TopDocs


class VotesRanker(DocidRanker):
    """The score of a document is ln(1 + its votes), 0 where it has none or fewer. It proposes nothing by itself."""

    name = "votes"

    @classmethod
    def from_settings(cls, name: str, values: Mapping[str, Any]) -> Self:
        """It has no settings."""
        config.validate_settings(config.Settings, values, name)
        return cls()

    @property
    def values(self) -> Mapping[str, Any]:
        """None."""
        return {}

    @property
    def trained_until(self) -> str | None:
        """See Dated: nobody knows what votes a document had at an earlier date."""
        return clock.now()

    def index_paths(self, view: View) -> Sequence[Path]:
        """None: the archive itself is read."""
        return ()

    def build(self, view: View, progress: Progress | None = None) -> Self:
        """Nothing is to be done."""
        self._view = view
        return self

    def rank(
        self,
        queries: Mapping[str, Question],
        k: int,
        *,
        candidates: Mapping[str, Sequence[str]] | None = None,
        filter: Filter | None = None,
        prefix: bool = False,
    ) -> Run:
        """Raises SettingsError: there is nothing to find by."""
        raise SettingsError(
            "votes: finds nothing by itself; expected it among a hybrid's parts, as in "
            "--ranker hybrid --set parts=lm_jelinek_mercer,votes --set weights=4,1"
        )

    def prepare(self, view: View, queries: Sequence[ResolvedQuery], prefix: bool) -> int:
        """How many queries there are."""
        return len(queries)

    def retrieve(self, prepared: int, k: int, allowed: Docids | None) -> list[TopDocs]:
        """See Numbered.find: nothing."""
        return [TopDocs(np.empty(0, np.int64), np.empty(0, np.float64)) for _ in range(prepared)]

    def score(self, prepared: int, candidates: Sequence[Docids]) -> list[Scores]:
        """See Numbered.score."""
        wanted = np.unique(np.concatenate([np.empty(0, np.int64), *candidates]))
        votes = self._require_view().votes(wanted)
        of = np.log1p([max(votes.get(n, 0), 0) for n in wanted.tolist()])
        return [of[np.searchsorted(wanted, numbers)] for numbers in candidates]

    def explain_resolved(
        self, view: View, resolved: ResolvedQuery, ids: Sequence[str], prefix: bool = False
    ) -> Mapping[str, Explanation]:
        """The number of votes."""
        numbers = view.docids(ids)
        votes = view.votes(numbers.values())
        return {id: _explain_votes(votes[number]) for id, number in numbers.items() if votes.get(number, 0) > 0}


def _explain_votes(votes: int) -> Explanation:
    score = float(np.log1p(votes))
    return Explanation(score, (Contribution(f"{votes:,} vote{'s' * (votes > 1)}", (), score),))
