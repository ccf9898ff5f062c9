"""The first ranker retrieves candidates, the second re-ranks them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from askalike.core.config import TextList
from askalike.core.errors import SettingsError
from askalike.core.filters import AllowedDocs
from askalike.rankers._composite import CompositeRanker, CompositeSearcher, CompositeSettings
from askalike.rankers._queries_and_results import ResolvedQuery, Retrieved
from askalike.rankers._ranker import Ranker
from askalike.store import Snapshot


class CascadeSettings(CompositeSettings):
    """The ranker that retrieves, the ranker that re-ranks, and the number of candidates."""

    parts: TextList = Field(
        ("lm_jelinek_mercer", "static"),
        description="the ranker that proposes candidates and the ranker that re-ranks them",
    )
    depth: int = Field(100, ge=1, description="number of proposed documents, whatever k is")


class CascadeRanker(CompositeRanker):
    """Re-ranks one ranker's candidates with another, whose scores are returned."""

    settings_class: ClassVar[type[CompositeSettings]] = CascadeSettings

    def __init__(self, parts: Sequence[Ranker], settings: CompositeSettings, name: str = "cascade") -> None:
        super().__init__(parts, settings, name)
        if len(parts) != 2:
            raise SettingsError(f"{name}: expected a part that proposes and one that re-ranks, got {len(parts)}")

    @property
    def needs_candidates(self) -> bool:
        return self.parts[0].needs_candidates

    def open(self, view: Snapshot) -> "CascadeSearcher":
        return CascadeSearcher(self, view)


class CascadeSearcher(CompositeSearcher):
    """See CascadeRanker."""

    def __init__(self, ranker: CascadeRanker, view: Snapshot) -> None:
        super().__init__(ranker, view)
        self.has_similarity = self.parts[1].has_similarity

    def retrieve(self, queries: Sequence[ResolvedQuery], k: int, allowed: AllowedDocs | None = None) -> Retrieved:
        first = self.parts[0].retrieve(queries, self.depth, allowed)
        ranked = self.parts[1].score(queries, first.docids).best(k)
        return ranked if first.vectors is None else replace(ranked, vectors=first.vectors)
