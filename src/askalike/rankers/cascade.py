"""The first ranker retrieves candidates, the second re-ranks them."""

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field

from askalike.core.config import TextList
from askalike.core.errors import SettingsError
from askalike.core.types import AllowedDocs, TopDocs
from askalike.rankers._composite import CompositeRanker, CompositeSearcher, CompositeSettings
from askalike.rankers._ranker import Docids, Explanations, Ranker, Scores, Texts, top_k
from askalike.store import View


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

    def open(self, view: View) -> "CascadeSearcher":
        return CascadeSearcher(self, view)


class CascadeSearcher(CompositeSearcher):
    """See CascadeRanker."""

    @property
    def has_similarity(self) -> bool:
        return self.parts[1].has_similarity

    def similarities(self, prepared: list[Any], topdocs: Sequence[TopDocs]) -> list[Scores] | None:
        return self.parts[1].similarities(prepared[1], topdocs)

    def retrieve(self, prepared: list[Any], k: int, allowed: AllowedDocs | None) -> list[TopDocs]:
        pools = [top.docids for top in self.parts[0].retrieve(prepared[0], self.depth, allowed)]
        scores = self.parts[1].score(prepared[1], pools)
        return [top_k(pool, own, k) for pool, own in zip(pools, scores, strict=True)]

    def score(self, prepared: list[Any], candidates: Sequence[Docids]) -> list[Scores]:
        return self.parts[1].score(prepared[1], candidates)

    def absolute_scores(self, prepared: list[Any], topdocs: Sequence[TopDocs]) -> list[Scores]:
        return self.parts[1].absolute_scores(prepared[1], topdocs)

    def explain(self, prepared: list[Any], row: int, docids: Docids, texts: Texts) -> Explanations:
        return self.parts[1].explain(prepared[1], row, docids, texts)
