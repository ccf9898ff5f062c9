"""One ranker's hits without duplicates: of questions known to ask the same, only the best is kept."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from askalike.core.arrays import Docids
from askalike.core.config import TextList
from askalike.core.errors import SettingsError
from askalike.core.filters import AllowedDocs
from askalike.rankers._composite import CompositeRanker, CompositeSearcher, CompositeSettings
from askalike.rankers._queries_and_results import ResolvedQuery, Retrieved
from askalike.rankers._ranker import Ranker
from askalike.rankers._searcher import DEPTH_FACTOR, retrieve
from askalike.store import Snapshot


class DistinctSettings(CompositeSettings):
    """The ranker, with its own defaults, and the number of its hits retrieved first."""

    parts: TextList = Field(("lm_jelinek_mercer",), description="the ranker")
    joined: bool | None = Field(None, description="as in a hybrid; by default as the ranker alone")
    function_words: float | None = Field(None, gt=0, le=1, description="as in a hybrid; by default as the ranker alone")


class DistinctRanker(CompositeRanker):
    """A ranker without hits that the view's labels mark as duplicates of each other. Scores are the inner ranker's.

    Labels of held-out splits are not used. Given candidates are all ranked, including duplicates.
    """

    settings_class: ClassVar[type[CompositeSettings]] = DistinctSettings
    _clusters: tuple[Snapshot, tuple[int, int], "ClusterTable"] | None = None

    def __init__(self, parts: Sequence[Ranker], settings: CompositeSettings, name: str = "distinct") -> None:
        super().__init__(parts, settings, name)
        if len(parts) != 1:
            raise SettingsError(f"{name}: expected one part, the ranker, got {len(parts)}")
        self.part = parts[0]

    def open(self, view: Snapshot) -> "DistinctSearcher":
        """See Ranker.open. The clusters are read again if the archive's labels have changed."""
        version = view.labels_version
        if self._clusters is None or self._clusters[:2] != (view, version):
            self._clusters = view, version, ClusterTable(view)
        return DistinctSearcher(self, view, self._clusters[2])


class ClusterTable:
    """The duplicate clusters of a view's documents."""

    def __init__(self, view: Snapshot) -> None:
        names = view.clusters().visible_names
        docids = sorted((docid, names[id]) for id, docid in view.docids(names).items())
        first: dict[str, int] = {}
        clusters = [first.setdefault(name, docid) for docid, name in docids]
        self._docids = np.array([docid for docid, _ in docids], np.int64)
        self._clusters = np.array(clusters, np.int64)

    def first_of_each(self, docids: Docids, k: int) -> Docids:
        """Return the positions of the k first documents from different clusters."""
        if not len(self._docids):
            return np.arange(min(k, len(docids)))
        at = np.searchsorted(self._docids, docids).clip(max=len(self._docids) - 1)
        cluster = np.where(self._docids[at] == docids, self._clusters[at], docids)
        return np.asarray(np.sort(np.unique(cluster, return_index=True)[1])[:k], np.int64)


class DistinctSearcher(CompositeSearcher):
    """See DistinctRanker."""

    adds_titles = False  # the part has added them, and another one may be a duplicate of a hit

    def __init__(self, ranker: DistinctRanker, view: Snapshot, clusters: ClusterTable) -> None:
        super().__init__(ranker, view)
        (self.part,) = self.parts
        self.has_similarity = self.part.has_similarity
        self._clusters = clusters

    def retrieve(self, queries: Sequence[ResolvedQuery], k: int, allowed: AllowedDocs | None = None) -> Retrieved:
        depth = max(self.depth, k)
        while True:
            every = retrieve(self.part, queries, depth, allowed)
            firsts = [self._clusters.first_of_each(docids, k) for docids in every.docids]
            pairs = zip(firsts, every.docids, strict=True)
            if not any(len(first) < k and len(docids) == depth for first, docids in pairs):
                return every.select(firsts)
            depth *= DEPTH_FACTOR
