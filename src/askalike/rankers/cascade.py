"""The first ranker proposes documents, the second puts them into order."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from askalike.archive.view import View
from askalike.errors import SettingsError
from askalike.index.search import Found
from askalike.rankers._numbered import Asked, Numbered, Numbers, Scores, best
from askalike.rankers._parts import Composed, Names, PartsSettings
from askalike.types import Explanation


class CascadeSettings(PartsSettings):
    """Who proposes, who re-ranks, and how many documents."""

    parts: Names = Field(("lm_jelinek_mercer", "static"), description="the ranker that proposes, the one that re-ranks")
    depth: int = Field(100, ge=1, description="how many documents are proposed, whatever k is")


class Cascade(Composed):
    """One ranker behind another. Scores are the second's."""

    Settings: ClassVar[type[PartsSettings]] = CascadeSettings

    def __init__(self, parts: Sequence[Numbered], settings: PartsSettings, name: str = "cascade") -> None:
        super().__init__(parts, settings, name)
        if len(parts) != 2:
            raise SettingsError(
                f"{name}: expected two parts, one that proposes and one that re-ranks, not {len(parts)}"
            )

    @property
    def tells_likeness(self) -> bool:
        """Whether the second's scores do."""
        return self.parts[1].tells_likeness

    def prepare(self, view: View, asked: Sequence[Asked], prefix: bool) -> list[Any]:
        """The queries as each part knows them."""
        return [part.prepare(view, asked, prefix) for part in self.parts]

    def find(self, prepared: list[Any], k: int, allowed: Numbers | None) -> list[Found]:
        """See Numbered.find. Only what the first proposes is found."""
        pools = [f.numbers for f in self.parts[0].find(prepared[0], self.settings.depth, allowed)]
        return [best(pool, s, k) for pool, s in zip(pools, self.parts[1].score(prepared[1], pools), strict=True)]

    def score(self, prepared: list[Any], candidates: Sequence[Numbers]) -> list[Scores]:
        """See Numbered.score: the second's scores."""
        return self.parts[1].score(prepared[1], candidates)

    def explain_asked(
        self, view: View, asked: Asked, ids: Sequence[str], prefix: bool = False
    ) -> Mapping[str, Explanation]:
        """The second's explanation."""
        return self.parts[1].explain_asked(view, asked, ids, prefix)
