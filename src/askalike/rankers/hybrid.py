"""Adds up the scores of several rankers, made comparable over a pool of documents for each query.

A query's pool is what each part finds best in the whole archive, as deep as `depth` says; every part scores all of it.
Scores are normalised by that pool alone, so that they depend neither on k nor on candidates or filters.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from askalike.errors import SettingsError
from askalike.rankers._numbered import DocidRanker, Docids, ResolvedQuery, Scores, resolve_queries, top_k
from askalike.rankers._parts import CompositeRanker, CompositeSettings
from askalike.rankers._parts import Weights as Weights
from askalike.store.view import View
from askalike.types import Contribution, Explanation, Progress, Question, Run, Span, TopDocs

RRF_K = 60  # added to a rank before it is inverted (Cormack, Clarke and Büttcher 2009)
CACHED_QUERIES = 256  # queries with their pools, some 20 MB


class HybridSettings(CompositeSettings):
    """Which rankers count how much, and how their scores are made comparable."""

    weights: Weights | None = Field(None, description="what each part counts; equal unless given")
    normalise: Literal["min_max", "reciprocal_rank", "none"] = Field(
        "min_max", description="a part's scores as shares of the pool's range, as 1/(60 + rank), or as they are"
    )


@dataclass(slots=True)
class _PreparedQueries:
    """The queries as each part knows them, and their pools once they are known."""

    parts: list[Any]
    pools: "_Pools | None" = None


@dataclass(frozen=True, slots=True)
class _Pools:
    """What the parts propose for each query; part by part the scales that follow, and the scores made comparable."""

    docids: list[Docids]
    normalisers: list[list["ScoreNormaliser"]]
    scores: list[list[Scores]]


@dataclass(frozen=True, slots=True)
class ScoreNormaliser:
    """How one part's scores for one query count. numbers: what the part found, best first."""

    normalise: str
    docids: Docids
    low: float
    score_range: float

    def __call__(self, docids: Docids, scores: Scores) -> Scores:
        """The scores of these documents, made comparable; 0 for what the part cannot find."""
        if self.normalise == "none":
            return np.nan_to_num(scores)
        if self.normalise == "min_max":
            if self.score_range == 0:  # all alike, as where one document is all there is
                return (scores > 0).astype(np.float64)
            return np.nan_to_num((scores - self.low) / self.score_range)
        ranks = {n: rank for rank, n in enumerate(self.docids.tolist(), 1)}
        return np.array([1 / (RRF_K + ranks[n]) if n in ranks else 0.0 for n in docids.tolist()])


class HybridRanker(CompositeRanker):
    """Several rankers together."""

    Settings: ClassVar[type[CompositeSettings]] = HybridSettings
    settings: HybridSettings
    _cached: tuple[Any, _PreparedQueries] | None = None

    def __init__(self, parts: Sequence[DocidRanker], settings: HybridSettings, name: str = "hybrid") -> None:
        super().__init__(parts, settings, name)
        if settings.weights is not None and len(settings.weights) != len(parts):
            raise SettingsError(f"{name}: {len(parts)} parts, but {len(settings.weights)} weights")
        self.weights = settings.weights or (1 / len(parts),) * len(parts)

    @property
    def grids(self) -> Sequence[Mapping[str, Sequence[Any]]]:
        """Weights: equal ones, then some parts counting twice or four times as much as others."""
        choices = [weights for weights in product((1, 2, 4), repeat=len(self.parts)) if min(weights) == 1]
        return ({"weights": choices},)

    def rank_with_weights(
        self,
        queries: Mapping[str, Question],
        k: int,
        weight_choices: Iterable[Sequence[float]],
        *,
        candidates: Mapping[str, Sequence[str]] | None = None,
    ) -> list[Run]:
        """`rank` under each of several choices of weights, hardly slower than under one: the parts score once."""
        view = self._require_view()
        asked = resolve_queries(view, queries)
        prepared, own, runs = self.prepare(view, list(asked.values()), False), self.weights, []
        for weights in weight_choices:
            self.weights = tuple(weights)
            runs.append(self._rank_prepared(view, asked, prepared, k, candidates))
        self.weights = own
        return runs

    def prepare(self, view: View, queries: Sequence[ResolvedQuery], prefix: bool) -> _PreparedQueries:
        """The queries as each part knows them. A few are remembered with their pools until the next `index`, as they
        are explained, or their likenesses asked for, after they were found."""
        key = (view, tuple(queries), prefix)
        remembered = self._cached
        if remembered and remembered[0] == key:
            return remembered[1]
        prepared = _PreparedQueries([part.prepare(view, queries, prefix) for part in self.parts])
        if len(queries) <= CACHED_QUERIES:
            self._cached = key, prepared
        return prepared

    def similarities(
        self, queries: Mapping[str, Question], run: Run, *, prefix: bool = False
    ) -> Mapping[str, Scores] | None:
        """See Ranker.likenesses: the mean over the parts whose scores tell; 0 for what such a part cannot find."""
        view = self._require_view()
        prepared = self.prepare(view, list(resolve_queries(view, queries).values()), prefix)
        telling = [(part, own) for part, own in zip(self.parts, prepared.parts, strict=True) if part.has_similarity]
        if not telling:
            return None
        of_id = view.docids({id for q in queries for id in run.columns(q)[0]})
        rows = [np.array([of_id.get(id, -1) for id in run.columns(q)[0]], np.int64) for q in queries]
        each = [[np.nan_to_num(s) for s in part.score(own, rows)] for part, own in telling]
        return {q: np.mean(scores, axis=0) for q, scores in zip(queries, zip(*each, strict=True), strict=True)}

    def build(self, view: View, progress: Progress | None = None) -> Self:
        """See Ranker.index."""
        self._cached = None
        return super().build(view, progress)

    def retrieve(self, prepared: _PreparedQueries, k: int, allowed: Docids | None) -> list[TopDocs]:
        """See Numbered.find. A document that no part proposes is not found."""
        if allowed is None:
            pools = self._pools(prepared)
            totals = self._weighted_sums(pools.scores, pools.docids)
            return [top_k(n, s, k) for n, s in zip(pools.docids, totals, strict=True)]
        numbers = [_union_docids(found) for found in zip(*self._retrieve_parts(prepared, allowed), strict=True)]
        return [top_k(n, s, k) for n, s in zip(numbers, self.score(prepared, numbers), strict=True)]

    def score(self, prepared: _PreparedQueries, candidates: Sequence[Docids]) -> list[Scores]:
        """See Numbered.score."""
        return self._weighted_sums(self._normalised_scores(prepared, candidates), candidates)

    def explain_resolved(
        self, view: View, resolved: ResolvedQuery, ids: Sequence[str], prefix: bool = False
    ) -> Mapping[str, Explanation]:
        """The words of every part, each part's as much as the part adds."""
        prepared = self.prepare(view, [resolved], prefix)
        numbers = view.docids(ids)
        rows = self._normalised_scores(prepared, [np.array(list(numbers.values()), np.int64)])
        reasons = [part.explain_resolved(view, resolved, ids, prefix) for part in self.parts]
        found: dict[str, Explanation] = {}
        for at, id in enumerate(numbers):
            shares = [float(w * scores[0][at]) for w, scores in zip(self.weights, rows, strict=True)]
            own = [
                scale_explanation(part.name, r.get(id), s)
                for part, r, s in zip(self.parts, reasons, shares, strict=True)
            ]
            found[id] = merge_explanations(
                own, {part.name: share for part, share in zip(self.parts, shares, strict=True)}
            )
        return found

    def _weighted_sums(self, scores: Sequence[Sequence[Scores]], candidates: Sequence[Docids]) -> list[Scores]:
        totals = [np.zeros(len(numbers)) for numbers in candidates]
        for weight, own in zip(self.weights, scores, strict=True):
            for total, one in zip(totals, own, strict=True):
                total += weight * one
        return totals

    def _normalised_scores(self, prepared: _PreparedQueries, candidates: Sequence[Docids]) -> list[list[Scores]]:
        """Part by part the scores of each query's candidates, made comparable."""
        return [
            [scale(n, s) for scale, n, s in zip(scales, candidates, part.score(own, candidates), strict=True)]
            for part, own, scales in zip(self.parts, prepared.parts, self._pools(prepared).normalisers, strict=True)
        ]

    def _pools(self, prepared: _PreparedQueries) -> _Pools:
        """What the parts propose for each query out of the whole archive."""
        if prepared.pools is None:
            proposed = self._retrieve_parts(prepared, None)
            numbers = [_union_docids(found) for found in zip(*proposed, strict=True)]
            raw = [
                _score_pools(part, own, found, numbers)
                for part, own, found in zip(self.parts, prepared.parts, proposed, strict=True)
            ]
            scales = [list(map(self._fit_normaliser, f, s)) for f, s in zip(proposed, raw, strict=True)]
            scores = [
                [c(n, x) for c, n, x in zip(cs, numbers, xs, strict=True)] for cs, xs in zip(scales, raw, strict=True)
            ]
            prepared.pools = _Pools(numbers, scales, scores)
        return prepared.pools

    def _retrieve_parts(self, prepared: _PreparedQueries, allowed: Docids | None) -> list[list[TopDocs]]:
        return [
            p.retrieve(own, self.settings.depth, allowed) for p, own in zip(self.parts, prepared.parts, strict=True)
        ]

    def _fit_normaliser(self, top_docs: TopDocs, scores: Scores) -> ScoreNormaliser:
        there = scores[~np.isnan(scores)]
        low, high = (float(there.min()), float(there.max())) if len(there) else (0.0, 0.0)
        return ScoreNormaliser(self.settings.normalise, top_docs.docids, low, high - low)


def _score_pools(
    part: DocidRanker, prepared: Any, retrieved: Sequence[TopDocs], pools: Sequence[Docids]
) -> list[Scores]:
    """A part's scores of the pools: those that it has found with them, and the others'."""
    others = [~np.isin(pool, own.docids) for pool, own in zip(pools, retrieved, strict=True)]
    asked = part.score(prepared, [pool[rest] for pool, rest in zip(pools, others, strict=True)])
    scores = [np.empty(len(pool)) for pool in pools]
    for own, pool, rest, known, more in zip(scores, pools, others, retrieved, asked, strict=True):
        own[np.searchsorted(pool, known.docids)] = known.scores
        own[rest] = more
    return scores


def _union_docids(top_docs: Sequence[TopDocs]) -> Docids:
    return np.unique(np.concatenate([f.docids for f in top_docs]))


def scale_explanation(name: str, reason: Explanation | None, share: float) -> Explanation:
    """A part's explanation, its contributions adding up to what the part adds."""
    reason = reason or Explanation(0.0)
    total = sum(c.score for c in reason.contributions)
    if total <= 0:  # nothing to share out
        return replace(reason, score=share, contributions=(Contribution(name, (), share),) if share else ())
    rows = tuple(replace(c, score=c.score * (share / total)) for c in reason.contributions)
    return replace(reason, score=share, contributions=rows)


def merge_explanations(reasons: Sequence[Explanation], part_scores: Mapping[str, float]) -> Explanation:
    """One explanation of several: the same word's contributions added up, the spans of all fields."""
    words: dict[str, Contribution] = {}
    spans: dict[Span, None] = {}
    text: dict[str, str] = {}
    for reason in reasons:
        for c in reason.contributions:
            known = words.get(c.word, Contribution(c.word, (), 0.0))
            words[c.word] = Contribution(
                c.word, tuple(dict.fromkeys((*known.fields, *c.fields))), known.score + c.score
            )
        fresh = [f for f in reason.text if text.setdefault(f, reason.text[f]) == reason.text[f]]
        spans |= {s: None for s in reason.spans if s.field in fresh}
    rows = tuple(sorted(words.values(), key=lambda c: -c.score))
    return Explanation(sum(part_scores.values()), rows, tuple(spans), text, part_scores)
