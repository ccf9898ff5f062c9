"""One ranker's hits, each question once: of those that are known to ask the same, the best stands for all."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field

from askalike.archive.view import View
from askalike.errors import SettingsError
from askalike.index.search import Found
from askalike.rankers._numbered import Asked, Numbered, Numbers, Scores
from askalike.rankers._parts import Composed, Names, PartsSettings
from askalike.rankers._ranker import Progress
from askalike.types import Explanation, Question, Run

DEEPER = 4
"""So many times deeper is looked where too many hits ask the same."""


class DistinctSettings(PartsSettings):
    """Who ranks, and how many of its hits are looked at first."""

    parts: Names = Field(("lm_jelinek_mercer",), description="the ranker")


class Distinct(Composed):
    """A ranker whose hits are all different questions, as far as the view knows. Scores are the ranker's.

    What hidden splits know is not used. Given candidates are all ranked, the same or not.
    """

    Settings: ClassVar[type[PartsSettings]] = DistinctSettings
    _known: tuple[int, int] | None = None
    _numbers: Numbers = np.empty(0, np.int64)
    _cluster: Numbers = np.empty(0, np.int64)

    def __init__(self, parts: Sequence[Numbered], settings: PartsSettings, name: str = "distinct") -> None:
        super().__init__(parts, settings, name)
        if len(parts) != 1:
            raise SettingsError(f"{name}: expected one part, the ranker, not {len(parts)}")
        self.part = parts[0]

    def index(self, view: View, progress: Progress | None = None) -> Self:
        """See Composed.index. Who asks the same is read again once there are more labels, or fewer."""
        known = view.labels
        if self._view != view or self._known != known:
            self._known = known
            self._numbers, self._cluster = _clusters(view)
        return super().index(view, progress)

    @property
    def tells_likeness(self) -> bool:
        """Whether the ranker's scores do."""
        return self.part.tells_likeness

    def likenesses(
        self, queries: Mapping[str, Question], run: Run, *, prefix: bool = False
    ) -> Mapping[str, Scores] | None:
        """See Ranker.likenesses: the ranker's."""
        return self.part.likenesses(queries, run, prefix=prefix)

    def prepare(self, view: View, asked: Sequence[Asked], prefix: bool) -> Any:
        """The queries as the ranker knows them."""
        return self.part.prepare(view, asked, prefix)

    def find(self, prepared: Any, k: int, allowed: Numbers | None) -> list[Found]:
        """See Numbered.find."""
        depth = max(self.settings.depth, k)
        while True:
            found = self.part.find(prepared, depth, allowed)
            distinct = [self._distinct(one, k) for one in found]
            short = any(
                len(few.numbers) < k and len(all.numbers) == depth for few, all in zip(distinct, found, strict=True)
            )
            if not short:
                return distinct
            depth *= DEEPER

    def score(self, prepared: Any, candidates: Sequence[Numbers]) -> list[Scores]:
        """See Numbered.score: the ranker's."""
        return self.part.score(prepared, candidates)

    def explain_asked(
        self, view: View, asked: Asked, ids: Sequence[str], prefix: bool = False
    ) -> Mapping[str, Explanation]:
        """The ranker's explanation."""
        return self.part.explain_asked(view, asked, ids, prefix)

    def _distinct(self, found: Found, k: int) -> Found:
        """The k best documents of different clusters."""
        if not len(self._numbers):
            return Found(found.numbers[:k], found.scores[:k])
        at = np.searchsorted(self._numbers, found.numbers).clip(max=len(self._numbers) - 1)
        cluster = np.where(self._numbers[at] == found.numbers, self._cluster[at], found.numbers)
        first = np.sort(np.unique(cluster, return_index=True)[1])[:k]
        return Found(found.numbers[first], found.scores[first])


def _clusters(view: View) -> tuple[Numbers, Numbers]:
    """The numbers of all that is known to ask the same as something else, rising, and one of each's cluster."""
    names = view.clusters().known
    numbers = sorted((number, names[id]) for id, number in view.numbers(names).items())
    first: dict[str, int] = {}
    clusters = [first.setdefault(name, number) for number, name in numbers]
    return np.array([number for number, _ in numbers], np.int64), np.array(clusters, np.int64)
