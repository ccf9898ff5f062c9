"""One ranker's hits without duplicates: of questions known to ask the same, only the best is kept."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from askalike.core.config import TextList
from askalike.core.errors import SettingsError
from askalike.core.types import AllowedDocs, TopDocs
from askalike.rankers._composite import CompositeRanker, CompositeSearcher, CompositeSettings
from askalike.rankers._ranker import DEPTH_FACTOR, Docids, Explanations, Ranker, Scores, Texts
from askalike.store import View


class DistinctSettings(CompositeSettings):
    """The ranker, and the number of its hits retrieved first."""

    parts: TextList = Field(("lm_jelinek_mercer",), description="the ranker")


class DistinctRanker(CompositeRanker):
    """A ranker without hits that the view's labels mark as duplicates of each other. Scores are the inner ranker's.

    Labels of held-out splits are not used. Given candidates are all ranked, including duplicates.
    """

    settings_class: ClassVar[type[CompositeSettings]] = DistinctSettings
    _clusters: tuple[View, tuple[int, int], "ClusterTable"] | None = None

    def __init__(self, parts: Sequence[Ranker], settings: CompositeSettings, name: str = "distinct") -> None:
        super().__init__(parts, settings, name)
        if len(parts) != 1:
            raise SettingsError(f"{name}: expected one part, the ranker, got {len(parts)}")
        self.part = parts[0]

    def open(self, view: View) -> "DistinctSearcher":
        """See Ranker.open. The clusters are read again if the archive's labels have changed."""
        version = view.labels_version
        if self._clusters is None or self._clusters[:2] != (view, version):
            self._clusters = view, version, ClusterTable(view)
        return DistinctSearcher(self, view, self._clusters[2])


class ClusterTable:
    """The duplicate clusters of a view's documents."""

    def __init__(self, view: View) -> None:
        names = view.clusters().visible_names
        docids = sorted((docid, names[id]) for id, docid in view.docids(names).items())
        first: dict[str, int] = {}
        clusters = [first.setdefault(name, docid) for docid, name in docids]
        self._docids = np.array([docid for docid, _ in docids], np.int64)
        self._clusters = np.array(clusters, np.int64)

    def first_of_each(self, top: TopDocs, k: int) -> TopDocs:
        """Return the k best documents from different clusters."""
        if not len(self._docids):
            return TopDocs(top.docids[:k], top.scores[:k])
        at = np.searchsorted(self._docids, top.docids).clip(max=len(self._docids) - 1)
        cluster = np.where(self._docids[at] == top.docids, self._clusters[at], top.docids)
        first = np.sort(np.unique(cluster, return_index=True)[1])[:k]
        return TopDocs(top.docids[first], top.scores[first])


class DistinctSearcher(CompositeSearcher):
    """See DistinctRanker."""

    def __init__(self, ranker: DistinctRanker, view: View, clusters: ClusterTable) -> None:
        super().__init__(ranker, view)
        (self.part,) = self.parts
        self._clusters = clusters

    @property
    def has_similarity(self) -> bool:
        return self.part.has_similarity

    def similarities(self, prepared: list[Any], topdocs: Sequence[TopDocs]) -> list[Scores] | None:
        return self.part.similarities(prepared[0], topdocs)

    def retrieve(self, prepared: list[Any], k: int, allowed: AllowedDocs | None) -> list[TopDocs]:
        depth = max(self.depth, k)
        while True:
            every = self.part.retrieve(prepared[0], depth, allowed)
            distinct = [self._clusters.first_of_each(top, k) for top in every]
            pairs = zip(distinct, every, strict=True)
            if not any(len(few.docids) < k and len(top.docids) == depth for few, top in pairs):
                return distinct
            depth *= DEPTH_FACTOR

    def score(self, prepared: list[Any], candidates: Sequence[Docids]) -> list[Scores]:
        return self.part.score(prepared[0], candidates)

    def absolute_scores(self, prepared: list[Any], topdocs: Sequence[TopDocs]) -> list[Scores]:
        return self.part.absolute_scores(prepared[0], topdocs)

    def explain(self, prepared: list[Any], row: int, docids: Docids, texts: Texts) -> Explanations:
        return self.part.explain(prepared[0], row, docids, texts)
