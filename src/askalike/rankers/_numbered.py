"""What rankers share: ids and numbers, filters, candidates, and what a query must not find.

Inside, documents are numbers: a ranker prepares queries once, then finds documents for them or scores given ones. That
lets rankers be made of rankers without going through ids.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from askalike.errors import NotFittedError
from askalike.store.view import View
from askalike.types import Explanation, Filter, Progress, Question, Run, TopDocs

PHRASING_NUMBER = re.compile("[1-9][0-9]{0,4}")
Scores = NDArray[np.float64]
Docids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    """A query, the number of a question that it must not find (−1: none), and the one phrasing of it (−1: all)."""

    query: Question
    excluded_docid: int = -1
    excluded_phrasing: int = -1


class DocidRanker(ABC):
    """A ranker by numbers."""

    name: str
    _view: View | None = None

    @abstractmethod
    def prepare(self, view: View, queries: Sequence[ResolvedQuery], prefix: bool) -> Any:
        """What `find` and `score` need to know of the queries."""

    @abstractmethod
    def retrieve(self, prepared: Any, k: int, allowed: Docids | None) -> list[TopDocs]:
        """The k best documents of each query. allowed: the numbers that may be found, rising; None for all."""

    @abstractmethod
    def score(self, prepared: Any, candidates: Sequence[Docids]) -> list[Scores]:
        """The scores of each query's candidates, found by `find` or not; NaN for what has none."""

    @abstractmethod
    def explain_resolved(
        self, view: View, resolved: ResolvedQuery, ids: Sequence[str], prefix: bool = False
    ) -> Mapping[str, Explanation]:
        """See Ranker.explain."""

    @property
    @abstractmethod
    def values(self) -> Mapping[str, Any]:
        """See Ranker.values."""

    @property
    def fingerprint(self) -> str:
        """Of what it has learned, whatever its name and settings; empty where it has learned nothing."""
        return ""

    @abstractmethod
    def index_paths(self, view: View) -> Sequence[Path]:
        """See Ranker.paths."""

    @abstractmethod
    def build(self, view: View, progress: Progress | None = None) -> Self:
        """See Ranker.index."""

    def fit(self, view: View) -> Self:
        """Nothing is learned: returns itself."""
        return self

    def rank(
        self,
        queries: Mapping[str, Question],
        k: int,
        *,
        candidates: Mapping[str, Sequence[str]] | None = None,
        filter: Filter | None = None,
        prefix: bool = False,
    ) -> Run:
        """See Ranker.rank."""
        view = self._require_view()
        asked = resolve_queries(view, queries)
        prepared = self.prepare(view, list(asked.values()), prefix)
        return self._rank_prepared(view, asked, prepared, k, candidates, filter)

    def explain(self, query: Question, ids: Sequence[str], *, prefix: bool = False) -> Mapping[str, Explanation]:
        """See Ranker.explain."""
        view = self._require_view()
        return self.explain_resolved(view, resolve_queries(view, {query.id: query})[query.id], ids, prefix)

    @property
    def has_similarity(self) -> bool:
        """Whether a score says how alike two texts are, as a cosine does: see Ranker.likenesses."""
        return False

    def similarities(
        self, queries: Mapping[str, Question], run: Run, *, prefix: bool = False
    ) -> Mapping[str, Scores] | None:
        """See Ranker.likenesses: the scores themselves, where they tell."""
        return {q: run.columns(q)[1] for q in queries} if self.has_similarity else None

    def _rank_prepared(
        self,
        view: View,
        resolved: Mapping[str, ResolvedQuery],
        prepared: Any,
        k: int,
        candidates: Mapping[str, Sequence[str]] | None,
        filter: Filter | None = None,
    ) -> Run:
        if candidates is not None:
            return self._rank_candidates(view, resolved, prepared, candidates, k, filter)
        found = self.retrieve(prepared, k, view.filtered_docids(filter) if filter else None)
        ids = view.ids(np.unique(np.concatenate([f.docids for f in found])) if found else [])
        return Run({q: _existing_hits(f, ids) for q, f in zip(resolved, found, strict=True)})

    def _require_view(self) -> View:
        if self._view is None:
            raise NotFittedError(f"{self.name}: nothing is indexed yet; call index(view) first")
        return self._view

    def _rank_candidates(
        self,
        view: View,
        resolved: Mapping[str, ResolvedQuery],
        prepared: Any,
        candidates: Mapping[str, Sequence[str]],
        k: int,
        filter: Filter | None,
    ) -> Run:
        numbers = view.docids({id for q in resolved for id in candidates.get(q, ())})
        if filter:
            allowed = set(view.filtered_docids(filter).tolist())
            numbers = {id: n for id, n in numbers.items() if n in allowed}
        pools = [_candidate_pool(candidates.get(q, ()), numbers, one) for q, one in resolved.items()]
        rows = [np.array([numbers[id] for id in pool], np.int64) for pool in pools]
        scores = self.score(prepared, rows) if pools else []
        return Run({q: _top_candidates(pool, s, k) for q, pool, s in zip(resolved, pools, scores, strict=True)})


def resolve_queries(view: View, queries: Mapping[str, Question]) -> dict[str, ResolvedQuery]:
    """The queries with what each must not find: its own question, or its own phrasing."""
    skips = _exclusions(view, queries)
    return {id: ResolvedQuery(query, *skips.get(id, (-1, -1))) for id, query in queries.items()}


def top_k(docids: Docids, scores: Scores, k: int) -> TopDocs:
    """The k best, ties by number; those that are NaN are left out."""
    there = ~np.isnan(scores)
    docids, scores = docids[there], scores[there]
    order = np.lexsort((docids, -scores))[:k]
    return TopDocs(docids[order], scores[order])


def _exclusions(view: View, queries: Mapping[str, Question]) -> dict[str, tuple[int, int]]:
    """What each query must not find: (its own question, −1), or (its question, its phrasing)."""
    if view.kind == "answers":
        return {}
    own = view.docids(queries)
    skips = {id: (number, -1) for id, number in own.items()}
    parts = {id: id.rpartition("#") for id in queries if id not in own}
    phrased = {id: (base, int(n)) for id, (base, _, n) in parts.items() if base and PHRASING_NUMBER.fullmatch(n)}
    numbers = view.docids({base for base, _ in phrased.values()})
    return skips | {id: (numbers[base], n) for id, (base, n) in phrased.items() if base in numbers}


def _existing_hits(top_docs: TopDocs, ids: Mapping[int, str]) -> tuple[list[str], Scores]:
    """What was found and is still there, by ids."""
    there = [n in ids for n in top_docs.docids.tolist()]
    return [ids[n] for n in top_docs.docids.tolist() if n in ids], top_docs.scores[there]


def _candidate_pool(candidates: Iterable[str], docids: Mapping[str, int], resolved: ResolvedQuery) -> list[str]:
    """The candidates that are there, each once, without the question that the query itself is."""
    own = resolved.excluded_docid if resolved.excluded_phrasing < 0 else -1
    return [id for id in dict.fromkeys(candidates) if docids.get(id, own) != own]


def _top_candidates(ids: Sequence[str], scores: Scores, k: int) -> tuple[list[str], Scores]:
    """The k best candidates, ties in the order given; what matches nothing has the lowest score, or 0."""
    there = scores[~np.isnan(scores)]
    scores = np.where(np.isnan(scores), there.min(initial=0.0), scores)
    order = np.argsort(-scores, kind="stable")[:k]
    return [ids[i] for i in order], scores[order]
