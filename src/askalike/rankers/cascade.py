"""The first ranker proposes documents, the second puts them into order."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from askalike.errors import SettingsError
from askalike.rankers._numbered import DocidRanker, Docids, ResolvedQuery, Scores, top_k
from askalike.rankers._parts import CompositeRanker, CompositeSettings, PartNames
from askalike.store.view import View
from askalike.types import Explanation, TopDocs


class CascadeSettings(CompositeSettings):
    """Who proposes, who re-ranks, and how many documents."""

    parts: PartNames = Field(
        ("lm_jelinek_mercer", "static"), description="the ranker that proposes, the one that re-ranks"
    )
    depth: int = Field(100, ge=1, description="how many documents are proposed, whatever k is")


class CascadeRanker(CompositeRanker):
    """One ranker behind another. Scores are the second's."""

    Settings: ClassVar[type[CompositeSettings]] = CascadeSettings

    def __init__(self, parts: Sequence[DocidRanker], settings: CompositeSettings, name: str = "cascade") -> None:
        super().__init__(parts, settings, name)
        if len(parts) != 2:
            raise SettingsError(
                f"{name}: expected two parts, one that proposes and one that re-ranks, not {len(parts)}"
            )

    @property
    def has_similarity(self) -> bool:
        """Whether the second's scores do."""
        return self.parts[1].has_similarity

    def prepare(self, view: View, queries: Sequence[ResolvedQuery], prefix: bool) -> list[Any]:
        """The queries as each part knows them."""
        return [part.prepare(view, queries, prefix) for part in self.parts]

    def retrieve(self, prepared: list[Any], k: int, allowed: Docids | None) -> list[TopDocs]:
        """See Numbered.find. Only what the first proposes is found."""
        pools = [f.docids for f in self.parts[0].retrieve(prepared[0], self.settings.depth, allowed)]
        return [top_k(pool, s, k) for pool, s in zip(pools, self.parts[1].score(prepared[1], pools), strict=True)]

    def score(self, prepared: list[Any], candidates: Sequence[Docids]) -> list[Scores]:
        """See Numbered.score: the second's scores."""
        return self.parts[1].score(prepared[1], candidates)

    def explain_resolved(
        self, view: View, resolved: ResolvedQuery, ids: Sequence[str], prefix: bool = False
    ) -> Mapping[str, Explanation]:
        """The second's explanation."""
        return self.parts[1].explain_resolved(view, resolved, ids, prefix)
