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

from askalike.archive.view import View
from askalike.errors import SettingsError
from askalike.index.search import Found
from askalike.rankers._numbered import Asked, Numbered, Numbers, Scores, all_asked, best
from askalike.rankers._parts import Composed, PartsSettings
from askalike.rankers._parts import Numbers as Weights
from askalike.rankers._ranker import Progress
from askalike.types import Contribution, Explanation, Question, Run, Span

RANK = 60  # added to a rank before it is inverted (Cormack, Clarke and Büttcher 2009)
REMEMBERED = 256  # queries with their pools, some 20 MB


class HybridSettings(PartsSettings):
    """Which rankers count how much, and how their scores are made comparable."""

    weights: Weights | None = Field(None, description="what each part counts; equal unless given")
    normalise: Literal["min_max", "reciprocal_rank", "none"] = Field(
        "min_max", description="a part's scores as shares of the pool's range, as 1/(60 + rank), or as they are"
    )


@dataclass(slots=True)
class _Prepared:
    """The queries as each part knows them, and their pools once they are known."""

    parts: list[Any]
    pools: "_Pools | None" = None


@dataclass(frozen=True, slots=True)
class _Pools:
    """What the parts propose for each query; part by part the scales that follow, and the scores made comparable."""

    numbers: list[Numbers]
    scales: list[list["_Scale"]]
    scores: list[list[Scores]]


@dataclass(frozen=True, slots=True)
class _Scale:
    """How one part's scores for one query count. numbers: what the part found, best first."""

    normalise: str
    numbers: Numbers
    low: float
    span: float

    def __call__(self, numbers: Numbers, scores: Scores) -> Scores:
        """The scores of these documents, made comparable; 0 for what the part cannot find."""
        if self.normalise == "none":
            return np.nan_to_num(scores)
        if self.normalise == "min_max":
            if self.span == 0:  # all alike, as where one document is all there is
                return (scores > 0).astype(np.float64)
            return np.nan_to_num((scores - self.low) / self.span)
        ranks = {n: rank for rank, n in enumerate(self.numbers.tolist(), 1)}
        return np.array([1 / (RANK + ranks[n]) if n in ranks else 0.0 for n in numbers.tolist()])


class Hybrid(Composed):
    """Several rankers together."""

    Settings: ClassVar[type[PartsSettings]] = HybridSettings
    settings: HybridSettings
    _latest: tuple[Any, _Prepared] | None = None

    def __init__(self, parts: Sequence[Numbered], settings: HybridSettings, name: str = "hybrid") -> None:
        super().__init__(parts, settings, name)
        if settings.weights is not None and len(settings.weights) != len(parts):
            raise SettingsError(f"{name}: {len(parts)} parts, but {len(settings.weights)} weights")
        self.weights = settings.weights or (1 / len(parts),) * len(parts)

    @property
    def grids(self) -> Sequence[Mapping[str, Sequence[Any]]]:
        """Weights: equal ones, then some parts counting twice or four times as much as others."""
        choices = [weights for weights in product((1, 2, 4), repeat=len(self.parts)) if min(weights) == 1]
        return ({"weights": choices},)

    def weighed(
        self,
        queries: Mapping[str, Question],
        k: int,
        choices: Iterable[Sequence[float]],
        *,
        candidates: Mapping[str, Sequence[str]] | None = None,
    ) -> list[Run]:
        """`rank` under each of several choices of weights, hardly slower than under one: the parts score once."""
        view = self._opened()
        asked = all_asked(view, queries)
        prepared, own, runs = self.prepare(view, list(asked.values()), False), self.weights, []
        for weights in choices:
            self.weights = tuple(weights)
            runs.append(self._run(view, asked, prepared, k, candidates))
        self.weights = own
        return runs

    def prepare(self, view: View, asked: Sequence[Asked], prefix: bool) -> _Prepared:
        """The queries as each part knows them. A few are remembered with their pools until the next `index`, as they
        are explained, or their likenesses asked for, after they were found."""
        key = (view, tuple(asked), prefix)
        remembered = self._latest
        if remembered and remembered[0] == key:
            return remembered[1]
        prepared = _Prepared([part.prepare(view, asked, prefix) for part in self.parts])
        if len(asked) <= REMEMBERED:
            self._latest = key, prepared
        return prepared

    def likenesses(
        self, queries: Mapping[str, Question], run: Run, *, prefix: bool = False
    ) -> Mapping[str, Scores] | None:
        """See Ranker.likenesses: the mean over the parts whose scores tell; 0 for what such a part cannot find."""
        view = self._opened()
        prepared = self.prepare(view, list(all_asked(view, queries).values()), prefix)
        telling = [(part, own) for part, own in zip(self.parts, prepared.parts, strict=True) if part.tells_likeness]
        if not telling:
            return None
        of_id = view.numbers({id for q in queries for id in run.columns(q)[0]})
        rows = [np.array([of_id.get(id, -1) for id in run.columns(q)[0]], np.int64) for q in queries]
        each = [[np.nan_to_num(s) for s in part.score(own, rows)] for part, own in telling]
        return {q: np.mean(scores, axis=0) for q, scores in zip(queries, zip(*each, strict=True), strict=True)}

    def index(self, view: View, progress: Progress | None = None) -> Self:
        """See Ranker.index."""
        self._latest = None
        return super().index(view, progress)

    def find(self, prepared: _Prepared, k: int, allowed: Numbers | None) -> list[Found]:
        """See Numbered.find. A document that no part proposes is not found."""
        if allowed is None:
            pools = self._pools(prepared)
            totals = self._totals(pools.scores, pools.numbers)
            return [best(n, s, k) for n, s in zip(pools.numbers, totals, strict=True)]
        numbers = [_union(found) for found in zip(*self._proposed(prepared, allowed), strict=True)]
        return [best(n, s, k) for n, s in zip(numbers, self.score(prepared, numbers), strict=True)]

    def score(self, prepared: _Prepared, candidates: Sequence[Numbers]) -> list[Scores]:
        """See Numbered.score."""
        return self._totals(self._comparable(prepared, candidates), candidates)

    def explain_asked(
        self, view: View, asked: Asked, ids: Sequence[str], prefix: bool = False
    ) -> Mapping[str, Explanation]:
        """The words of every part, each part's as much as the part adds."""
        prepared = self.prepare(view, [asked], prefix)
        numbers = view.numbers(ids)
        rows = self._comparable(prepared, [np.array(list(numbers.values()), np.int64)])
        reasons = [part.explain_asked(view, asked, ids, prefix) for part in self.parts]
        found: dict[str, Explanation] = {}
        for at, id in enumerate(numbers):
            shares = [float(w * scores[0][at]) for w, scores in zip(self.weights, rows, strict=True)]
            own = [_sharing(part.name, r.get(id), s) for part, r, s in zip(self.parts, reasons, shares, strict=True)]
            found[id] = _together(own, {part.name: share for part, share in zip(self.parts, shares, strict=True)})
        return found

    def _totals(self, scores: Sequence[Sequence[Scores]], candidates: Sequence[Numbers]) -> list[Scores]:
        totals = [np.zeros(len(numbers)) for numbers in candidates]
        for weight, own in zip(self.weights, scores, strict=True):
            for total, one in zip(totals, own, strict=True):
                total += weight * one
        return totals

    def _comparable(self, prepared: _Prepared, candidates: Sequence[Numbers]) -> list[list[Scores]]:
        """Part by part the scores of each query's candidates, made comparable."""
        return [
            [scale(n, s) for scale, n, s in zip(scales, candidates, part.score(own, candidates), strict=True)]
            for part, own, scales in zip(self.parts, prepared.parts, self._pools(prepared).scales, strict=True)
        ]

    def _pools(self, prepared: _Prepared) -> _Pools:
        """What the parts propose for each query out of the whole archive."""
        if prepared.pools is None:
            proposed = self._proposed(prepared, None)
            numbers = [_union(found) for found in zip(*proposed, strict=True)]
            raw = [
                _scores(part, own, found, numbers)
                for part, own, found in zip(self.parts, prepared.parts, proposed, strict=True)
            ]
            scales = [list(map(self._scale, f, s)) for f, s in zip(proposed, raw, strict=True)]
            scores = [
                [c(n, x) for c, n, x in zip(cs, numbers, xs, strict=True)] for cs, xs in zip(scales, raw, strict=True)
            ]
            prepared.pools = _Pools(numbers, scales, scores)
        return prepared.pools

    def _proposed(self, prepared: _Prepared, allowed: Numbers | None) -> list[list[Found]]:
        return [p.find(own, self.settings.depth, allowed) for p, own in zip(self.parts, prepared.parts, strict=True)]

    def _scale(self, found: Found, scores: Scores) -> _Scale:
        there = scores[~np.isnan(scores)]
        low, high = (float(there.min()), float(there.max())) if len(there) else (0.0, 0.0)
        return _Scale(self.settings.normalise, found.numbers, low, high - low)


def _scores(part: Numbered, prepared: Any, found: Sequence[Found], pools: Sequence[Numbers]) -> list[Scores]:
    """A part's scores of the pools: those that it has found with them, and the others'."""
    others = [~np.isin(pool, own.numbers) for pool, own in zip(pools, found, strict=True)]
    asked = part.score(prepared, [pool[rest] for pool, rest in zip(pools, others, strict=True)])
    scores = [np.empty(len(pool)) for pool in pools]
    for own, pool, rest, known, more in zip(scores, pools, others, found, asked, strict=True):
        own[np.searchsorted(pool, known.numbers)] = known.scores
        own[rest] = more
    return scores


def _union(found: Sequence[Found]) -> Numbers:
    return np.unique(np.concatenate([f.numbers for f in found]))


def _sharing(name: str, reason: Explanation | None, share: float) -> Explanation:
    """A part's explanation, its contributions adding up to what the part adds."""
    reason = reason or Explanation(0.0)
    total = sum(c.score for c in reason.contributions)
    if total <= 0:  # nothing to share out
        return replace(reason, score=share, contributions=(Contribution(name, (), share),) if share else ())
    rows = tuple(replace(c, score=c.score * (share / total)) for c in reason.contributions)
    return replace(reason, score=share, contributions=rows)


def _together(reasons: Sequence[Explanation], parts: Mapping[str, float]) -> Explanation:
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
    return Explanation(sum(parts.values()), rows, tuple(spans), text, parts)
