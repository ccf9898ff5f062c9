"""Combines the normalised scores of several rankers.

Absolute scores, with 1 for the same text, are comparable between queries, and so is their sum. The older methods
normalise scores over a query's pool: the top `depth` documents of each part from the whole archive. None of them
depends on k, on candidates or on filters.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from operator import attrgetter
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from askalike import rankers
from askalike.core.counts import format_count
from askalike.core.errors import SettingsError
from askalike.core.lazy import lazy_property
from askalike.core.types import AllowedDocs, Contribution, Explanation, Question, Run, Span, TopDocs, Vectors
from askalike.index.rows import find_distinct
from askalike.rankers._composite import CompositeRanker, CompositeSearcher, CompositeSettings, Weights
from askalike.rankers._queries import ResolvedQuery
from askalike.rankers._ranker import Candidates, Docids, Explanations, Ranker, Scores, Texts, top_k
from askalike.store import View

RANK_OFFSET = 60
"""The constant added to ranks in reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)."""
TYPED_DEPTH = 48
"""Maximum number of documents from each part while a question is typed, if scores are absolute."""


class HybridSettings(CompositeSettings):
    """The weights of the parts, and the normalisation of their scores."""

    weights: Weights | None = Field(
        None,
        description="weight of each part; by default the one measured for a lexical ranker combined with the others",
    )
    normalise: Literal["absolute", "min_max", "reciprocal_rank", "none"] = Field(
        "absolute",
        description="how scores become comparable: absolute scores of each part, shares of the pool's range (min_max), "
        "1/(60 + rank), or none; by default min_max if weights are given",
    )

    @model_validator(mode="before")
    @classmethod
    def _keep_meaning_of_weights(cls, values: Any) -> Any:
        """Weights without `normalise` were chosen when min_max was the only normalisation: keep that."""
        if isinstance(values, Mapping) and values.get("weights") is not None:
            return {"normalise": "min_max", **values}
        return values


class HybridRanker(CompositeRanker):
    """A weighted sum of several rankers' scores."""

    settings_class: ClassVar[type[CompositeSettings]] = HybridSettings
    settings: HybridSettings

    def __init__(self, parts: Sequence[Ranker], settings: HybridSettings, name: str = "hybrid") -> None:
        super().__init__(parts, settings, name)
        if settings.weights is not None and len(settings.weights) != len(parts):
            n_weights = format_count(len(settings.weights), "weight")
            raise SettingsError(f"{name}: {format_count(len(parts), 'part')}, but {n_weights}")
        self.weights = settings.weights or _default_weights(parts, settings.normalise)
        about_query = [part for part in parts if part.name not in rankers.PART_ONLY]
        weights = iter(_default_weights(about_query, "absolute"))
        own = self.weights if settings.normalise == "absolute" else None
        self.similarity_weights = tuple(
            0.0 if part not in about_query else own[place] if own else next(weights) for place, part in enumerate(parts)
        )
        """The weight of each part in the absolute score; 0 if the part does not depend on the query."""

    @property
    def lexical_weight(self) -> float | None:
        return max((part.lexical_weight for part in self.parts if part.lexical_weight is not None), default=None)

    @property
    def grids(self) -> Sequence[Mapping[str, Sequence[Any]]]:
        """Return the weights to try: equal ones, then ratios of two and four between parts."""
        choices = [weights for weights in product((1, 2, 4), repeat=len(self.parts)) if min(weights) == 1]
        return ({"weights": choices},)

    def open(self, view: View) -> "HybridSearcher":
        return HybridSearcher(self, view)


@dataclass(frozen=True, slots=True)
class ScoreNormaliser:
    """Normalises one part's scores for one query."""

    method: str
    retrieved: Docids
    """The documents that the part retrieved, best first."""
    lowest: float
    """The lowest of the part's scores in the query's pool."""
    spread: float
    """The highest minus the lowest score."""

    def normalise(self, docids: Docids, scores: Scores) -> Scores:
        """Return the normalised scores of these documents; 0 for those that the part cannot score."""
        if self.method == "none":
            return _fill_missing(scores)
        if self.method == "min_max":
            if self.spread == 0:  # all are equal, for example if the pool is a single document
                return (scores > 0).astype(np.float64)
            return _fill_missing((scores - self.lowest) / self.spread)
        ranks = {docid: rank for rank, docid in enumerate(self.retrieved.tolist(), 1)}
        return np.array([1 / (RANK_OFFSET + ranks[n]) if n in ranks else 0.0 for n in docids.tolist()])


@dataclass(frozen=True)
class Pool:
    """The documents that the parts retrieve for one query, and the scores of each part."""

    docids: Docids
    """The documents, ascending."""
    scores: list[Scores]
    """The raw scores of each part, NaN if it has none."""
    normalisers: list[ScoreNormaliser]
    """One per part."""

    def normalise(self, docids: Docids, scores: Sequence[Scores]) -> list[Scores]:
        """Return the normalised scores of these documents, for each part."""
        return [n.normalise(docids, own) for n, own in zip(self.normalisers, scores, strict=True)]


class PreparedHybrid:
    """A batch of queries prepared by each part, with their pools, which are retrieved on first access.

    depth: number of documents from each part.
    """

    def __init__(self, searcher: "HybridSearcher", parts: list[Any], depth: int) -> None:
        self._searcher = searcher
        self.parts, self.depth = parts, depth

    @lazy_property
    def pools(self) -> list[Pool]:
        """The pool of each query."""
        return self._searcher.retrieve_pools(self.parts, self.depth)

    @lazy_property
    def comparable(self) -> list[list[Scores]]:
        """For each query and part, the normalised scores of the query's pool."""
        return self._searcher.make_comparable(
            self, [pool.docids for pool in self.pools], [p.scores for p in self.pools]
        )


class HybridSearcher(CompositeSearcher):
    """See HybridRanker."""

    def __init__(self, ranker: HybridRanker, view: View) -> None:
        super().__init__(ranker, view)
        self.weights: Sequence[float] = ranker.weights
        self._method, self._similarity_weights = ranker.settings.normalise, ranker.similarity_weights

    def rank_with_weights(
        self,
        queries: Mapping[str, Question],
        k: int,
        choices: Iterable[Sequence[float]],
        *,
        candidates: Candidates | None = None,
    ) -> list[Run]:
        """Return `rank` with each of several choices of weights; the parts retrieve and score only once."""
        prepared = self.prepare(self.resolve(queries, False), False)
        runs = []
        for weights in choices:
            searcher = copy.copy(self)
            searcher.weights = weights
            runs.append(rankers.SearchSession(searcher, queries, k, candidates, prepared=prepared).run)
        return runs

    def prepare(self, queries: Sequence[ResolvedQuery], prefix: bool) -> PreparedHybrid:
        """See Searcher.prepare. Absolute scores do not depend on the pool: while typing a small one suffices."""
        depth = min(self.depth, TYPED_DEPTH) if prefix and self._method == "absolute" else self.depth
        return PreparedHybrid(self, super().prepare(queries, prefix), depth)

    def query_vectors(self, prepared: PreparedHybrid) -> Vectors | None:
        return super().query_vectors(prepared.parts)

    def retrieve(self, prepared: PreparedHybrid, k: int, allowed: AllowedDocs | None) -> list[TopDocs]:
        """See Searcher.retrieve. A document that no part retrieves is not retrieved."""
        if k > prepared.depth:
            prepared.depth = self.depth
        if allowed is None:
            pools = zip(prepared.pools, prepared.comparable, strict=True)
            return [top_k(pool.docids, self._total(scores, len(pool.docids)), k) for pool, scores in pools]
        docids = [
            _union(tops) for tops in zip(*self._retrieve_parts(prepared.parts, prepared.depth, allowed), strict=True)
        ]
        return [top_k(own, scores, k) for own, scores in zip(docids, self.score(prepared, docids), strict=True)]

    def score(self, prepared: PreparedHybrid, candidates: Sequence[Docids]) -> list[Scores]:
        rows = self._comparable(prepared, candidates)
        return [self._total(scores, len(docids)) for scores, docids in zip(rows, candidates, strict=True)]

    def similarities(self, prepared: PreparedHybrid, topdocs: Sequence[TopDocs]) -> list[Scores] | None:
        """See Searcher.similarities: the mean over the parts that have one, 0 if such a part cannot score."""
        which = [place for place, part in enumerate(self.parts) if part.has_similarity]
        if not which:
            return None
        rows = self._raw(prepared, [top.docids for top in topdocs])
        return [np.mean([_fill_missing(scores[place]) for place in which], axis=0) for scores in rows]

    def absolute_scores(self, prepared: PreparedHybrid, topdocs: Sequence[TopDocs]) -> list[Scores]:
        """See Searcher.absolute_scores: the weighted mean of the parts' absolute scores, for any normalisation."""
        docids = [top.docids for top in topdocs]
        if self._method == "absolute":
            rows = self._comparable(prepared, docids)
        else:
            rows = self._make_absolute(prepared, docids, self._raw(prepared, docids))
        total = sum(self._similarity_weights) or 1.0
        weights = [weight / total for weight in self._similarity_weights]
        return [
            np.sum([w * own for w, own in zip(weights, scores, strict=True)], axis=0, dtype=np.float64)
            for scores in rows
        ]

    def explain(self, prepared: PreparedHybrid, row: int, docids: Docids, texts: Texts) -> Explanations:
        """Return the words of every part, each part's scaled to its contribution to the score."""
        nothing = np.empty(0, np.int64)
        comparable = self._comparable(prepared, [docids if n == row else nothing for n in range(len(prepared.pools))])
        reasons = [p.explain(own, row, docids, texts) for p, own in zip(self.parts, prepared.parts, strict=True)]
        explanations = {}
        for place, docid in enumerate(docids.tolist()):
            added = [float(w * scores[place]) for w, scores in zip(self.weights, comparable[row], strict=True)]
            shares = dict(zip((part.name for part in self.parts), added, strict=True))
            explanations[docid] = merge_explanations([reason.get(docid) for reason in reasons], shares)
        return explanations

    def retrieve_pools(self, parts: Sequence[Any], depth: int) -> list[Pool]:
        """Return the pool of each query. parts: the queries prepared by each part. depth: see PreparedHybrid."""
        retrieved = self._retrieve_parts(parts, depth, None)
        docids = [_union(tops) for tops in zip(*retrieved, strict=True)]
        of_parts = zip(self.parts, parts, retrieved, strict=True)
        scores = zip(*(part.score_pools(own, tops, docids) for part, own, tops in of_parts), strict=True)
        return [
            Pool(own, list(raw), [self._normaliser(top, s) for top, s in zip(tops, raw, strict=True)])
            for own, raw, tops in zip(docids, scores, zip(*retrieved, strict=True), strict=True)
        ]

    def _retrieve_parts(self, parts: Sequence[Any], depth: int, allowed: AllowedDocs | None) -> list[Sequence[TopDocs]]:
        return [part.retrieve(own, depth, allowed) for part, own in zip(self.parts, parts, strict=True)]

    def _normaliser(self, top: TopDocs, scores: Scores) -> ScoreNormaliser:
        scored = scores[~np.isnan(scores)]
        lowest, highest = (float(scored.min()), float(scored.max())) if len(scored) else (0.0, 0.0)
        return ScoreNormaliser(self._method, top.docids, lowest, highest - lowest)

    def _comparable(self, prepared: PreparedHybrid, candidates: Sequence[Docids]) -> list[list[Scores]]:
        """Return, for each query and part, the normalised scores of the candidates; those of the pools are cached."""
        pools = [pool.docids for pool in prepared.pools]
        if not all(_find(pool, docids).all() for pool, docids in zip(pools, candidates, strict=True)):
            return self.make_comparable(prepared, candidates, self._raw(prepared, candidates))
        places = map(np.searchsorted, pools, candidates)
        return [[own[at] for own in scores] for at, scores in zip(places, prepared.comparable, strict=True)]

    def make_comparable(
        self, prepared: PreparedHybrid, candidates: Sequence[Docids], raw: Sequence[Sequence[Scores]]
    ) -> list[list[Scores]]:
        """Return, for each query and part, the normalised scores of the query's candidates. raw: the parts' scores."""
        if self._method == "absolute":
            return self._make_absolute(prepared, candidates, raw)
        rows = zip(prepared.pools, candidates, raw, strict=True)
        return [pool.normalise(docids, scores) for pool, docids, scores in rows]

    def _make_absolute(
        self, prepared: PreparedHybrid, candidates: Sequence[Docids], raw: Sequence[Sequence[Scores]]
    ) -> list[list[Scores]]:
        of_parts = []
        for place, (part, own) in enumerate(zip(self.parts, prepared.parts, strict=True)):
            tops = [TopDocs(docids, scores[place]) for docids, scores in zip(candidates, raw, strict=True)]
            of_parts.append([_fill_missing(scores) for scores in part.absolute_scores(own, tops)])
        return [list(scores) for scores in zip(*of_parts, strict=True)]

    def _raw(self, prepared: PreparedHybrid, candidates: Sequence[Docids]) -> list[list[Scores]]:
        """Return, for each query and part, the raw scores of the query's candidates, reusing those of its pool."""
        pools = prepared.pools
        places = [np.searchsorted(pool.docids, docids) for pool, docids in zip(pools, candidates, strict=True)]
        known = [_find(pool.docids, docids) for pool, docids in zip(pools, candidates, strict=True)]
        others = [docids[~mask] for docids, mask in zip(candidates, known, strict=True)]
        rows: list[list[Scores]] = [[] for _ in candidates]
        for place, (part, own) in enumerate(zip(self.parts, prepared.parts, strict=True)):
            fresh = part.score(own, others) if any(map(len, others)) else others
            for row, (pool, at, mask) in enumerate(zip(pools, places, known, strict=True)):
                scores = np.empty(len(mask))
                scores[mask] = pool.scores[place][at[mask]]
                scores[~mask] = fresh[row]
                rows[row].append(scores)
        return rows

    def _total(self, scores: Sequence[Scores], n: int) -> Scores:
        total = np.zeros(n)
        for weight, own in zip(self.weights, scores, strict=True):
            total += weight * own
        return total


def _default_weights(parts: Sequence[Ranker], normalise: str) -> tuple[float, ...]:
    """Return weights that sum to 1: equal, but absolute lexical scores get the weight measured for the other parts."""
    beside = [part.lexical_weight for part in parts if part.lexical_weight is not None]
    if normalise != "absolute" or not beside or len(beside) == len(parts):
        return (1 / len(parts),) * len(parts)
    words = min(beside) * len(beside) / (len(parts) - len(beside))
    weights = [words if part.lexical_weight is None else 1.0 for part in parts]
    return tuple(weight / sum(weights) for weight in weights)


def _find(pool: Docids, docids: Docids) -> NDArray[np.bool_]:
    """Return which of these documents are in the pool."""
    if not len(pool):
        return np.zeros(len(docids), np.bool_)
    found: NDArray[np.bool_] = pool[np.minimum(np.searchsorted(pool, docids), len(pool) - 1)] == docids
    return found


def _fill_missing(scores: Scores) -> Scores:
    """Return the scores with 0 for missing ones."""
    return np.where(np.isnan(scores), 0.0, scores)


def _union(tops: Sequence[TopDocs]) -> Docids:
    return find_distinct(np.concatenate([top.docids for top in tops]))


def merge_explanations(explanations: Sequence[Explanation | None], parts: Mapping[str, float]) -> Explanation:
    """Return one explanation from those of the parts, None if a part has none.

    parts: each part's share of the score, to which its contributions are scaled; if they cannot be, the part itself is
    listed. Contributions of the same word are summed, and the spans of each field are merged.
    """
    words: dict[str, tuple[tuple[str, ...], float]] = {}
    spans: dict[Span, None] = {}
    text: dict[str, str] = {}
    for (name, share), explanation in zip(parts.items(), explanations, strict=True):
        explanation = explanation or Explanation(0.0)
        for word, fields, score in _scale_contributions(name, explanation.contributions, share):
            if known := words.get(word):
                fields = known[0] if known[0] == fields else tuple(dict.fromkeys(known[0] + fields))
                score += known[1]
            words[word] = fields, score
        same = {f for f, plain in explanation.text.items() if text.setdefault(f, plain) == plain}
        spans |= dict.fromkeys(s for s in explanation.spans if s.field in same)
    rows = sorted((Contribution(word, *row) for word, row in words.items()), key=attrgetter("score"), reverse=True)
    return Explanation(sum(parts.values()), tuple(rows), tuple(spans), text, parts)


def _scale_contributions(
    name: str, contributions: Sequence[Contribution], share: float
) -> Iterable[tuple[str, tuple[str, ...], float]]:
    """Return a part's contributions, scaled to add up to its share; the part's name if they cannot be."""
    total = sum(score for _, _, score in contributions)
    if total <= 0:
        return [(name, (), share)] if share else []
    factor = share / total
    return [(word, fields, score * factor) for word, fields, score in contributions]
