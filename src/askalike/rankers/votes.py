"""The popularity of documents: questions with many votes are asked more often.

Query-independent evidence (Craswell, Robertson, Zaragoza and Taylor 2005), as a part of a hybrid.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from askalike.core import values
from askalike.core.arrays import Docids
from askalike.core.config import Settings, validate_settings
from askalike.core.errors import SettingsError
from askalike.core.filters import AllowedDocs
from askalike.core.hits import Contribution, Explanation
from askalike.index.rows import find_distinct
from askalike.rankers._queries_and_results import Explanations, ResolvedQuery, Retrieved, Texts
from askalike.rankers._ranker import Ranker
from askalike.rankers._searcher import Searcher
from askalike.store import Snapshot

MANY_VOTES = 100.0
"""Number of votes that gives an absolute score of 1."""


class VotesRanker(Ranker):
    """The score of a document is ln(1 + its votes), or 0 if these are not positive. It cannot retrieve."""

    name = "votes"

    @classmethod
    def from_settings(cls, name: str, values: Mapping[str, Any], archive: Path | None = None) -> Self:
        """See Ranker.from_settings; it has no settings."""
        validate_settings(Settings, values, name)
        return cls()

    @property
    def values(self) -> Mapping[str, Any]:
        return {}

    @property
    def trained_until(self) -> str | None:
        """Now: the number of votes at an earlier date is not known."""
        return values.now()

    def open(self, view: Snapshot) -> "VotesSearcher":
        return VotesSearcher(self.name, view)


class VotesSearcher(Searcher):
    """See VotesRanker."""

    proposes = False

    def retrieve(self, queries: Sequence[ResolvedQuery], k: int, allowed: AllowedDocs | None = None) -> Retrieved:
        """Raises SettingsError: votes do not depend on the query."""
        raise SettingsError(
            "votes: cannot rank by itself; use it as a part of a hybrid, as in "
            "--ranker hybrid --set parts=lm_jelinek_mercer,votes --set weights=4,1"
        )

    def score(
        self, queries: Sequence[ResolvedQuery], docids: Sequence[Docids], known: Retrieved | None = None
    ) -> Retrieved:
        distinct = find_distinct(np.concatenate([np.empty(0, np.int64), *docids]))
        votes = self.view.votes(distinct)
        every = np.log1p([max(votes.get(docid, 0), 0) for docid in distinct.tolist()])
        scores = [every[np.searchsorted(distinct, own)] for own in docids]
        return Retrieved(queries, docids, scores, [own / np.log1p(MANY_VOTES) for own in scores])

    def explain(
        self, retrieved: Retrieved, docids: Sequence[Docids], texts: Texts, *, exact: bool = False
    ) -> list[Explanations]:
        """Return the number of votes of each document that has any."""
        votes = self.view.votes({docid for own in docids for docid in own.tolist()})
        return [{docid: _explain(votes[docid]) for docid in own.tolist() if votes.get(docid, 0) > 0} for own in docids]


def _explain(votes: int) -> Explanation:
    score = float(np.log1p(votes))
    return Explanation(score, (Contribution(f"{votes:,} vote{'s' * (votes > 1)}", (), score),))
