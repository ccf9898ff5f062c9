"""One ranker's hits, each question once: of those that are known to ask the same, the best stands for all."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field

from askalike.errors import SettingsError
from askalike.rankers._numbered import DocidRanker, Docids, ResolvedQuery, Scores
from askalike.rankers._parts import CompositeRanker, CompositeSettings, PartNames
from askalike.store.view import View
from askalike.types import Explanation, Progress, Question, Run, TopDocs

DEPTH_FACTOR = 4
"""So many times deeper is looked where too many hits ask the same."""


class DistinctSettings(CompositeSettings):
    """Who ranks, and how many of its hits are looked at first."""

    parts: PartNames = Field(("lm_jelinek_mercer",), description="the ranker")


class DistinctRanker(CompositeRanker):
    """A ranker whose hits are all different questions, as far as the view knows. Scores are the ranker's.

    What hidden splits know is not used. Given candidates are all ranked, the same or not.
    """

    Settings: ClassVar[type[CompositeSettings]] = DistinctSettings
    _label_state: tuple[int, int] | None = None
    _docids: Docids = np.empty(0, np.int64)
    _cluster_ids: Docids = np.empty(0, np.int64)

    def __init__(self, parts: Sequence[DocidRanker], settings: CompositeSettings, name: str = "distinct") -> None:
        super().__init__(parts, settings, name)
        if len(parts) != 1:
            raise SettingsError(f"{name}: expected one part, the ranker, not {len(parts)}")
        self.part = parts[0]

    def build(self, view: View, progress: Progress | None = None) -> Self:
        """See Composed.index. Who asks the same is read again once there are more labels, or fewer."""
        known = view.labels_version
        if self._view != view or self._label_state != known:
            self._label_state = known
            self._docids, self._cluster_ids = _read_clusters(view)
        return super().build(view, progress)

    @property
    def has_similarity(self) -> bool:
        """Whether the ranker's scores do."""
        return self.part.has_similarity

    def similarities(
        self, queries: Mapping[str, Question], run: Run, *, prefix: bool = False
    ) -> Mapping[str, Scores] | None:
        """See Ranker.likenesses: the ranker's."""
        return self.part.similarities(queries, run, prefix=prefix)

    def prepare(self, view: View, queries: Sequence[ResolvedQuery], prefix: bool) -> Any:
        """The queries as the ranker knows them."""
        return self.part.prepare(view, queries, prefix)

    def retrieve(self, prepared: Any, k: int, allowed: Docids | None) -> list[TopDocs]:
        """See Numbered.find."""
        depth = max(self.settings.depth, k)
        while True:
            found = self.part.retrieve(prepared, depth, allowed)
            distinct = [self._deduplicate(one, k) for one in found]
            short = any(
                len(few.docids) < k and len(all.docids) == depth for few, all in zip(distinct, found, strict=True)
            )
            if not short:
                return distinct
            depth *= DEPTH_FACTOR

    def score(self, prepared: Any, candidates: Sequence[Docids]) -> list[Scores]:
        """See Numbered.score: the ranker's."""
        return self.part.score(prepared, candidates)

    def explain_resolved(
        self, view: View, resolved: ResolvedQuery, ids: Sequence[str], prefix: bool = False
    ) -> Mapping[str, Explanation]:
        """The ranker's explanation."""
        return self.part.explain_resolved(view, resolved, ids, prefix)

    def _deduplicate(self, top_docs: TopDocs, k: int) -> TopDocs:
        """The k best documents of different clusters."""
        if not len(self._docids):
            return TopDocs(top_docs.docids[:k], top_docs.scores[:k])
        at = np.searchsorted(self._docids, top_docs.docids).clip(max=len(self._docids) - 1)
        cluster = np.where(self._docids[at] == top_docs.docids, self._cluster_ids[at], top_docs.docids)
        first = np.sort(np.unique(cluster, return_index=True)[1])[:k]
        return TopDocs(top_docs.docids[first], top_docs.scores[first])


def _read_clusters(view: View) -> tuple[Docids, Docids]:
    """The numbers of all that is known to ask the same as something else, rising, and one of each's cluster."""
    names = view.clusters().visible_names
    numbers = sorted((number, names[id]) for id, number in view.docids(names).items())
    first: dict[str, int] = {}
    clusters = [first.setdefault(name, number) for number, name in numbers]
    return np.array([number for number, _ in numbers], np.int64), np.array(clusters, np.int64)
