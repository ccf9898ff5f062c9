"""The popularity of documents: questions with many votes are asked more often.

Query-independent evidence (Craswell, Robertson, Zaragoza and Taylor 2005), as a part of a hybrid.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from askalike.core import clock
from askalike.core.config import Settings, validate_settings
from askalike.core.errors import SettingsError
from askalike.core.types import AllowedDocs, Contribution, Explanation, Question, TopDocs
from askalike.index.rows import find_distinct
from askalike.rankers._queries import ResolvedQuery
from askalike.rankers._ranker import Docids, Explanations, Ranker, Scores, Searcher, SearchSession, Texts
from askalike.store import View

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
        return clock.now()

    def open(self, view: View) -> "VotesSearcher":
        return VotesSearcher(self.name, view)


class VotesSearcher(Searcher):
    """See VotesRanker."""

    def search(self, queries: Mapping[str, Question], k: int, **options: Any) -> SearchSession:
        """Raises SettingsError: votes do not depend on the query."""
        raise SettingsError(
            "votes: cannot rank by itself; use it as a part of a hybrid, as in "
            "--ranker hybrid --set parts=lm_jelinek_mercer,votes --set weights=4,1"
        )

    def prepare(self, queries: Sequence[ResolvedQuery], prefix: bool) -> int:
        """Return the number of queries."""
        return len(queries)

    def retrieve(self, prepared: int, k: int, allowed: AllowedDocs | None) -> list[TopDocs]:
        return [TopDocs(np.empty(0, np.int64), np.empty(0, np.float64)) for _ in range(prepared)]

    def score(self, prepared: int, candidates: Sequence[Docids]) -> list[Scores]:
        docids = find_distinct(np.concatenate([np.empty(0, np.int64), *candidates]))
        votes = self.view.votes(docids)
        scores = np.log1p([max(votes.get(docid, 0), 0) for docid in docids.tolist()])
        return [scores[np.searchsorted(docids, own)] for own in candidates]

    def absolute_scores(self, prepared: int, topdocs: Sequence[TopDocs]) -> list[Scores]:
        return [top.scores / np.log1p(MANY_VOTES) for top in topdocs]

    def explain(self, prepared: int, row: int, docids: Docids, texts: Texts) -> Explanations:
        """Return the number of votes of each document that has any."""
        votes = self.view.votes(docids)
        scores = {docid: (n, float(np.log1p(n))) for docid in docids.tolist() if (n := votes.get(docid, 0)) > 0}
        words = {docid: Contribution(f"{n:,} vote{'s' * (n > 1)}", (), score) for docid, (n, score) in scores.items()}
        return {docid: Explanation(word.score, (word,)) for docid, word in words.items()}
