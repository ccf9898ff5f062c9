"""Labelled queries and what a ranker finds for them: the rows that probabilities are fitted and measured on."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from askalike.archive.clusters import Clusters
from askalike.archive.labels import labels
from askalike.archive.sample import shuffled
from askalike.archive.splits import held_out, labelled, split, uncut
from askalike.archive.store import Archive
from askalike.archive.view import View, chunks
from askalike.engines._features import DEPTH, LIKENESS, Features
from askalike.errors import ArchiveError, SettingsError
from askalike.evaluation.curves import Floats
from askalike.rankers import Ranker, caught_up
from askalike.rankers._ranker import Progress
from askalike.types import Question, Run, Split

QUERIES = 5_000
PER_CLUSTER = 3
FEWEST = 100
"""So many labelled queries are needed, and a tenth of them whose first hit is right, and as many whose is wrong."""
BATCH = 256


@dataclass(frozen=True, slots=True)
class Rows:
    """Hits as rows: features (n, FEATURES), whether each is right (n,), and the number of the query it is of (n,)."""

    features: Floats
    right: NDArray[np.bool_]
    query: NDArray[np.int64]

    def among(self, queries: NDArray[np.bool_]) -> "Rows":
        """The rows of the queries that a mask, (queries,), lets pass."""
        keep = queries[self.query]
        return Rows(self.features[keep], self.right[keep], self.query[keep])


@dataclass(frozen=True, slots=True)
class Sample:
    """Labelled queries of a split, the cluster of each, and their hits: the first ones, and those after them."""

    split: str
    queries: Sequence[str]
    clusters: Sequence[str]
    bodies: bool
    """Whether a query has a body."""
    first: Rows
    later: Rows
    absent: Rows
    """What would be the first hits if nothing that is right were there: as for questions that nobody asked before."""


def sample(
    archive: Archive,
    ranker: Ranker,
    split_name: str | None = None,
    *,
    titles: bool = False,
    most: int = QUERIES,
    per_cluster: int = PER_CLUSTER,
    seed: int = 0,
    progress: Progress | None = None,
) -> Sample:
    """At most `most` queries of a split, and `per_cluster` of each duplicate cluster, ranked over the whole archive.

    split_name: None for dev where there is one, else the first that has enough. titles: bodies are left out.
    What is right is what the query's own judgements say. Raises ArchiveError where there are too few, with the number
    needed; SettingsError for a split that was judged on candidates only.
    """
    name = split_name or default_split(archive)
    known = split(archive, name)
    if known.candidates is not None:
        raise SettingsError(
            f"--split {name}: its queries are judged on given candidates only, so that other hits are unknown, not "
            "wrong; name a split that is judged on the whole archive"
        )
    place = cluster_of(archive, name)
    ids = _drawn([q for q in known.queries if q in known.qrels], place, most, per_cluster, seed)
    if len(ids) < FEWEST:
        raise _too_few(archive, f"{len(ids)} labelled queries (split {name}, at most {per_cluster} a cluster)")
    asked = {id: replace(known.queries[id], body="") if titles else known.queries[id] for id in ids}
    view = archive.view(hidden=held_out(archive, name))
    first, later, absent = _rows(caught_up(ranker, view, progress), view, asked, known)
    _refuse_one_kind(archive, name, first)
    return Sample(name, ids, [place[id] for id in ids], any(q.body for q in asked.values()), first, later, absent)


def found_within(rows: Sample) -> tuple[int, ...]:
    """How many of the queries have a right hit among their first 1, 2, … DEPTH hits."""
    begins = np.searchsorted(rows.later.query, rows.later.query)
    place = np.arange(1, len(begins) + 1) - begins
    best = np.full(len(rows.queries), DEPTH)
    best[rows.first.query[rows.first.right]] = 0
    np.minimum.at(best, rows.later.query[rows.later.right], place[rows.later.right])
    return tuple(np.cumsum(np.bincount(best, minlength=DEPTH + 1))[:DEPTH].tolist())


def default_split(archive: Archive) -> str:
    """dev where there is one, else the first split with enough queries. Raises ArchiveError where none has."""
    names = uncut(archive)
    sizes = {name: len(split(archive, name).qrels) for name in names if name != "test" or len(names) == 1}
    if "dev" in sizes:
        return "dev"
    enough = [name for name, size in sizes.items() if size >= FEWEST]
    if not enough:
        found = ", ".join(f"{name} {size}" for name, size in sizes.items()) or "none"
        raise _too_few(archive, f"labelled queries: {found}")
    return enough[0]


def cluster_of(archive: Archive, split_name: str) -> dict[str, str]:
    """Query → the duplicate cluster it is in."""
    clusters = Clusters.read(archive.connection)
    return {label.query: clusters.of(label.text) for label in labels(archive.connection, split_name)}


def found(ranker: Ranker, view: View, asked: Mapping[str, Question]) -> Iterator[tuple[str, list[str], Floats]]:
    """Each query with its first DEPTH hits, best first, and their features; a few queries are held at a time."""
    features = Features(view.language)
    for one in ranked(ranker, view, asked):
        yield one.id, [hit.id for hit in one.hits], one.told(features, asked)


@dataclass(frozen=True, slots=True)
class Hits:
    """A query's first DEPTH hits, best first, their scores, and how alike they are, (hits,)."""

    id: str
    hits: Sequence[Question]
    scores: Floats
    likeness: Floats | None

    def told(self, features: Features, asked: Mapping[str, Question]) -> Floats:
        """The features of all hits."""
        return features.of(asked[self.id], self.scores, self.hits, self.likeness)

    def among(self, places: Sequence[int]) -> "Hits":
        """Only the hits in these places, as if the others were not there."""
        likeness = None if self.likeness is None else self.likeness[places]
        return Hits(self.id, [self.hits[n] for n in places], self.scores[places], likeness)


Searched = tuple[Run, Mapping[str, Floats]]
"""What is found for some queries, and how alike each query and its hits are, where that is known."""


def ranked(ranker: Ranker, view: View, asked: Mapping[str, Question]) -> Iterator[Hits]:
    """Each query with what is found for it."""
    for ids in chunks(asked, BATCH):
        yield from read(view, searched(ranker, {id: asked[id] for id in ids}))


def searched(ranker: Ranker, asked: Mapping[str, Question]) -> Searched:
    """The first DEPTH hits of each query, by their ids."""
    run = ranker.rank(asked, DEPTH)
    return run, ranker.likenesses(asked, run) or {}


def read(view: View, found: Searched) -> Iterator[Hits]:
    """The hits with their texts."""
    run, likenesses = found
    documents = view.get({hit for id in run for hit in run.columns(id)[0]})
    for id in run:
        hits, scores = run.columns(id)
        there = [place for place, hit in enumerate(hits) if hit in documents]  # others were deleted just now
        likeness = likenesses[id][there] if id in likenesses else None
        yield Hits(id, [documents[hits[place]] for place in there], scores[there], likeness)


def _rows(ranker: Ranker, view: View, asked: Mapping[str, Question], known: Split) -> tuple[Rows, Rows, Rows]:
    """Rows of the first hits, of those after them, and of what would be first if nothing right were there."""
    first: list[tuple[Floats, bool, int]] = []
    later: list[tuple[Floats, bool, int]] = []
    absent: list[tuple[Floats, bool, int]] = []
    features = Features(view.language)
    for number, one in enumerate(ranked(ranker, view, asked)):
        right = [known.qrels[one.id].get(hit.id, 0) > 0 for hit in one.hits]
        rows = list(zip(one.told(features, asked), right, [number] * len(right), strict=True))
        first += rows[:1]
        later += rows[1:]
        wrong = [place for place, it_is in enumerate(right) if not it_is]
        if wrong:
            absent.append((one.among(wrong).told(features, asked)[0], False, number))
    return _stacked(first), _stacked(later), _stacked(absent)


def _stacked(rows: Sequence[tuple[Floats, bool, int]]) -> Rows:
    return Rows(
        np.array([row[0] for row in rows], np.float64).reshape(-1, LIKENESS + 1),
        np.array([row[1] for row in rows], np.bool_),
        np.array([row[2] for row in rows], np.int64),
    )


def _drawn(ids: Sequence[str], place: Mapping[str, str], most: int, per_cluster: int, seed: int) -> list[str]:
    """The queries to take, in an order that the seed and the ids alone decide."""
    taken: Counter[str] = Counter()
    kept = []
    for id in shuffled(ids, seed):
        taken[place[id]] += 1
        if taken[place[id]] <= per_cluster:
            kept.append(id)
    return kept[:most]


def _refuse_one_kind(archive: Archive, name: str, first: Rows) -> None:
    right, need = int(first.right.sum()), FEWEST // 10
    if min(right, len(first.right) - right) < need:
        raise _too_few(archive, f"{right} right and {len(first.right) - right} wrong first hits (split {name})", need)


def _too_few(archive: Archive, have: str, need: int = 0) -> ArchiveError:
    needed = f"at least {need} of each kind" if need else f"at least {FEWEST} labelled queries in one split"
    there = ", ".join(labelled(archive)) or "none"
    return ArchiveError(
        f"{archive.path}: too little to calibrate on: {have}; needed are {needed} (splits: {there}); import more "
        "duplicate links, rephrasings or an evaluation set"
    )
