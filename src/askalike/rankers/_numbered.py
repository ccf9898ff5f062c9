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

from askalike.archive.view import View
from askalike.errors import NotFittedError
from askalike.index.search import Found
from askalike.rankers._ranker import Progress
from askalike.types import Explanation, Filter, Question, Run

PHRASING = re.compile("[1-9][0-9]{0,4}")
Scores = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, the number of a question that it must not find (−1: none), and the one phrasing of it (−1: all)."""

    query: Question
    skip_number: int = -1
    skip_phrasing: int = -1


class Numbered(ABC):
    """A ranker by numbers."""

    name: str
    _view: View | None = None

    @abstractmethod
    def prepare(self, view: View, asked: Sequence[Asked], prefix: bool) -> Any:
        """What `find` and `score` need to know of the queries."""

    @abstractmethod
    def find(self, prepared: Any, k: int, allowed: Numbers | None) -> list[Found]:
        """The k best documents of each query. allowed: the numbers that may be found, rising; None for all."""

    @abstractmethod
    def score(self, prepared: Any, candidates: Sequence[Numbers]) -> list[Scores]:
        """The scores of each query's candidates, found by `find` or not; NaN for what has none."""

    @abstractmethod
    def explain_asked(
        self, view: View, asked: Asked, ids: Sequence[str], prefix: bool = False
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
    def paths(self, view: View) -> Sequence[Path]:
        """See Ranker.paths."""

    @abstractmethod
    def index(self, view: View, progress: Progress | None = None) -> Self:
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
        where: Filter | None = None,
        prefix: bool = False,
    ) -> Run:
        """See Ranker.rank."""
        view = self._opened()
        asked = all_asked(view, queries)
        prepared = self.prepare(view, list(asked.values()), prefix)
        return self._run(view, asked, prepared, k, candidates, where)

    def explain(self, query: Question, ids: Sequence[str], *, prefix: bool = False) -> Mapping[str, Explanation]:
        """See Ranker.explain."""
        view = self._opened()
        return self.explain_asked(view, all_asked(view, {query.id: query})[query.id], ids, prefix)

    @property
    def tells_likeness(self) -> bool:
        """Whether a score says how alike two texts are, as a cosine does: see Ranker.likenesses."""
        return False

    def likenesses(
        self, queries: Mapping[str, Question], run: Run, *, prefix: bool = False
    ) -> Mapping[str, Scores] | None:
        """See Ranker.likenesses: the scores themselves, where they tell."""
        return {q: run.columns(q)[1] for q in queries} if self.tells_likeness else None

    def _run(
        self,
        view: View,
        asked: Mapping[str, Asked],
        prepared: Any,
        k: int,
        candidates: Mapping[str, Sequence[str]] | None,
        where: Filter | None = None,
    ) -> Run:
        if candidates is not None:
            return self._ranked(view, asked, prepared, candidates, k, where)
        found = self.find(prepared, k, view.matching(where) if where else None)
        ids = view.ids(np.unique(np.concatenate([f.numbers for f in found])) if found else [])
        return Run({q: _known(f, ids) for q, f in zip(asked, found, strict=True)})

    def _opened(self) -> View:
        if self._view is None:
            raise NotFittedError(f"{self.name}: nothing is indexed yet; call index(view) first")
        return self._view

    def _ranked(
        self,
        view: View,
        asked: Mapping[str, Asked],
        prepared: Any,
        candidates: Mapping[str, Sequence[str]],
        k: int,
        where: Filter | None,
    ) -> Run:
        numbers = view.numbers({id for q in asked for id in candidates.get(q, ())})
        if where:
            allowed = set(view.matching(where).tolist())
            numbers = {id: n for id, n in numbers.items() if n in allowed}
        pools = [_pool(candidates.get(q, ()), numbers, one) for q, one in asked.items()]
        rows = [np.array([numbers[id] for id in pool], np.int64) for pool in pools]
        scores = self.score(prepared, rows) if pools else []
        return Run({q: _best(pool, s, k) for q, pool, s in zip(asked, pools, scores, strict=True)})


def all_asked(view: View, queries: Mapping[str, Question]) -> dict[str, Asked]:
    """The queries with what each must not find: its own question, or its own phrasing."""
    skips = _skips(view, queries)
    return {id: Asked(query, *skips.get(id, (-1, -1))) for id, query in queries.items()}


def best(numbers: Numbers, scores: Scores, k: int) -> Found:
    """The k best, ties by number; those that are NaN are left out."""
    there = ~np.isnan(scores)
    numbers, scores = numbers[there], scores[there]
    order = np.lexsort((numbers, -scores))[:k]
    return Found(numbers[order], scores[order])


def _skips(view: View, queries: Mapping[str, Question]) -> dict[str, tuple[int, int]]:
    """What each query must not find: (its own question, −1), or (its question, its phrasing)."""
    if view.of == "answers":
        return {}
    own = view.numbers(queries)
    skips = {id: (number, -1) for id, number in own.items()}
    parts = {id: id.rpartition("#") for id in queries if id not in own}
    phrased = {id: (base, int(n)) for id, (base, _, n) in parts.items() if base and PHRASING.fullmatch(n)}
    numbers = view.numbers({base for base, _ in phrased.values()})
    return skips | {id: (numbers[base], n) for id, (base, n) in phrased.items() if base in numbers}


def _known(found: Found, ids: Mapping[int, str]) -> tuple[list[str], Scores]:
    """What was found and is still there, by ids."""
    there = [n in ids for n in found.numbers.tolist()]
    return [ids[n] for n in found.numbers.tolist() if n in ids], found.scores[there]


def _pool(candidates: Iterable[str], numbers: Mapping[str, int], asked: Asked) -> list[str]:
    """The candidates that are there, each once, without the question that the query itself is."""
    own = asked.skip_number if asked.skip_phrasing < 0 else -1
    return [id for id in dict.fromkeys(candidates) if numbers.get(id, own) != own]


def _best(ids: Sequence[str], scores: Scores, k: int) -> tuple[list[str], Scores]:
    """The k best candidates, ties in the order given; what matches nothing has the lowest score, or 0."""
    there = scores[~np.isnan(scores)]
    scores = np.where(np.isnan(scores), there.min(initial=0.0), scores)
    order = np.argsort(-scores, kind="stable")[:k]
    return [ids[i] for i in order], scores[order]
