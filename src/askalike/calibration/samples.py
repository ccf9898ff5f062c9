"""Labelled queries and what a ranker finds for them: the rows that probabilities are fitted and measured on."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from askalike.calibration.curves import Floats
from askalike.calibration.features import CALIBRATION_DEPTH, SIMILARITY_COLUMN, HitFeatureExtractor
from askalike.errors import ArchiveError, SettingsError
from askalike.iteration import chunks
from askalike.labels import splits
from askalike.labels.clusters import Clusters
from askalike.labels.splits import labelled_splits, load_split, splits_to_hold_out, uncut_splits
from askalike.rankers import Ranker, build_with_retry
from askalike.store.archive import Archive
from askalike.store.labels import read_labels
from askalike.store.samples import shuffle_names
from askalike.store.view import View
from askalike.types import Progress, Question, Run, Split

MAX_QUERIES = 5_000
MAX_PER_CLUSTER = 3
MIN_QUERIES = 100
"""So many labelled queries are needed, and a tenth of them whose first hit is right, and as many whose is wrong."""
BATCH_SIZE = 256


@dataclass(frozen=True, slots=True)
class LabelledHits:
    """Hits as rows: features (n, FEATURES), whether each is right (n,), and the number of the query it is of (n,)."""

    features: Floats
    relevant: NDArray[np.bool_]
    query_index: NDArray[np.int64]

    def select(self, query_mask: NDArray[np.bool_]) -> "LabelledHits":
        """The rows of the queries that a mask, (queries,), lets pass."""
        keep = query_mask[self.query_index]
        return LabelledHits(self.features[keep], self.relevant[keep], self.query_index[keep])


@dataclass(frozen=True, slots=True)
class CalibrationSample:
    """Labelled queries of a split, the cluster of each, and their hits: the first ones, and those after them."""

    split: str
    queries: Sequence[str]
    clusters: Sequence[str]
    has_bodies: bool
    """Whether a query has a body."""
    first_hits: LabelledHits
    later_hits: LabelledHits
    first_wrong_hits: LabelledHits
    """What would be the first hits if nothing that is right were there: as for questions that nobody asked before."""


def draw_sample(
    archive: Archive,
    ranker: Ranker,
    split_name: str | None = None,
    *,
    titles_only: bool = False,
    max_queries: int = MAX_QUERIES,
    max_per_cluster: int = MAX_PER_CLUSTER,
    seed: int = 0,
    progress: Progress | None = None,
) -> CalibrationSample:
    """At most `most` queries of a split, and `per_cluster` of each duplicate cluster, ranked over the whole archive.

    split_name: None for dev where there is one, else the first that has enough. titles: bodies are left out.
    What is right is what the query's own judgements say. Raises ArchiveError where there are too few, with the number
    needed; SettingsError for a split that was judged on candidates only.
    """
    name = split_name or default_split(archive)
    known = load_split(archive, name)
    if known.candidates is not None:
        raise SettingsError(
            f"--split {name}: its queries are judged on given candidates only, so that other hits are unknown, not "
            "wrong; name a split that is judged on the whole archive"
        )
    place = load_query_clusters(archive, name)
    ids = _draw_queries([q for q in known.queries if q in known.qrels], place, max_queries, max_per_cluster, seed)
    if len(ids) < MIN_QUERIES:
        raise _too_few_error(
            archive, f"{len(ids)} labelled queries (split {name}, at most {max_per_cluster} a cluster)"
        )
    asked = {id: replace(known.queries[id], body="") if titles_only else known.queries[id] for id in ids}
    view = archive.view(held_out_splits=splits_to_hold_out(archive, name))
    first, later, absent = _collect_labelled_hits(build_with_retry(ranker, view, progress), view, asked, known)
    _require_right_and_wrong_hits(archive, name, first)
    return CalibrationSample(
        name, ids, [place[id] for id in ids], any(q.body for q in asked.values()), first, later, absent
    )


def count_found_by_rank(sample: CalibrationSample) -> tuple[int, ...]:
    """How many of the queries have a right hit among their first 1, 2, … DEPTH hits."""
    begins = np.searchsorted(sample.later_hits.query_index, sample.later_hits.query_index)
    place = np.arange(1, len(begins) + 1) - begins
    best = np.full(len(sample.queries), CALIBRATION_DEPTH)
    best[sample.first_hits.query_index[sample.first_hits.relevant]] = 0
    np.minimum.at(best, sample.later_hits.query_index[sample.later_hits.relevant], place[sample.later_hits.relevant])
    return tuple(np.cumsum(np.bincount(best, minlength=CALIBRATION_DEPTH + 1))[:CALIBRATION_DEPTH].tolist())


def default_split(archive: Archive) -> str:
    """dev where there is one, else the first split with enough queries. Raises ArchiveError where none has."""
    if name := splits.default_split(archive, "dev", last_resort="test", min_queries=MIN_QUERIES):
        return name
    names = uncut_splits(archive)
    sizes = {name: len(load_split(archive, name).qrels) for name in names if name != "test" or len(names) == 1}
    available = ", ".join(f"{name} {size}" for name, size in sizes.items()) or "none"
    raise _too_few_error(archive, f"labelled queries: {available}")


def load_query_clusters(archive: Archive, split_name: str) -> dict[str, str]:
    """Query → the duplicate cluster it is in."""
    clusters = Clusters.read(archive.connection)
    return {label.query_id: clusters.cluster_of(label.text_id) for label in read_labels(archive.connection, split_name)}


def rank_with_features(
    ranker: Ranker, view: View, queries: Mapping[str, Question]
) -> Iterator[tuple[str, list[str], Floats]]:
    """Each query with its first DEPTH hits, best first, and their features; a few queries are held at a time."""
    features = HitFeatureExtractor(view.language)
    for one in rank_queries(ranker, view, queries):
        yield one.query_id, [hit.id for hit in one.documents], one.compute_features(features, queries)


@dataclass(frozen=True, slots=True)
class QueryHits:
    """A query's first DEPTH hits, best first, their scores, and how alike they are, (hits,)."""

    query_id: str
    documents: Sequence[Question]
    scores: Floats
    similarities: Floats | None

    def compute_features(self, feature_extractor: HitFeatureExtractor, queries: Mapping[str, Question]) -> Floats:
        """The features of all hits."""
        return feature_extractor.extract(queries[self.query_id], self.scores, self.documents, self.similarities)

    def select(self, positions: Sequence[int]) -> "QueryHits":
        """Only the hits in these places, as if the others were not there."""
        likeness = None if self.similarities is None else self.similarities[positions]
        return QueryHits(self.query_id, [self.documents[n] for n in positions], self.scores[positions], likeness)


RunWithSimilarities = tuple[Run, Mapping[str, Floats]]
"""What is found for some queries, and how alike each query and its hits are, where that is known."""


def rank_queries(ranker: Ranker, view: View, queries: Mapping[str, Question]) -> Iterator[QueryHits]:
    """Each query with what is found for it."""
    for ids in chunks(queries, BATCH_SIZE):
        yield from load_hits(view, retrieve_hits(ranker, {id: queries[id] for id in ids}))


def retrieve_hits(ranker: Ranker, queries: Mapping[str, Question]) -> RunWithSimilarities:
    """The first DEPTH hits of each query, by their ids."""
    run = ranker.rank(queries, CALIBRATION_DEPTH)
    return run, ranker.similarities(queries, run) or {}


def load_hits(view: View, retrieved: RunWithSimilarities) -> Iterator[QueryHits]:
    """The hits with their texts."""
    run, likenesses = retrieved
    documents = view.get_questions({hit for id in run for hit in run.columns(id)[0]})
    for id in run:
        hits, scores = run.columns(id)
        there = [place for place, hit in enumerate(hits) if hit in documents]  # others were deleted just now
        likeness = likenesses[id][there] if id in likenesses else None
        yield QueryHits(id, [documents[hits[place]] for place in there], scores[there], likeness)


def _collect_labelled_hits(
    ranker: Ranker, view: View, queries: Mapping[str, Question], query_split: Split
) -> tuple[LabelledHits, LabelledHits, LabelledHits]:
    """Rows of the first hits, of those after them, and of what would be first if nothing right were there."""
    first: list[tuple[Floats, bool, int]] = []
    later: list[tuple[Floats, bool, int]] = []
    absent: list[tuple[Floats, bool, int]] = []
    features = HitFeatureExtractor(view.language)
    for number, one in enumerate(rank_queries(ranker, view, queries)):
        right = [query_split.qrels[one.query_id].get(hit.id, 0) > 0 for hit in one.documents]
        rows = list(zip(one.compute_features(features, queries), right, [number] * len(right), strict=True))
        first += rows[:1]
        later += rows[1:]
        wrong = [place for place, it_is in enumerate(right) if not it_is]
        if wrong:
            absent.append((one.select(wrong).compute_features(features, queries)[0], False, number))
    return _stack_rows(first), _stack_rows(later), _stack_rows(absent)


def _stack_rows(rows: Sequence[tuple[Floats, bool, int]]) -> LabelledHits:
    return LabelledHits(
        np.array([row[0] for row in rows], np.float64).reshape(-1, SIMILARITY_COLUMN + 1),
        np.array([row[1] for row in rows], np.bool_),
        np.array([row[2] for row in rows], np.int64),
    )


def _draw_queries(
    ids: Sequence[str], cluster_of_query: Mapping[str, str], max_queries: int, max_per_cluster: int, seed: int
) -> list[str]:
    """The queries to take, in an order that the seed and the ids alone decide."""
    taken: Counter[str] = Counter()
    kept = []
    for id in shuffle_names(ids, seed):
        taken[cluster_of_query[id]] += 1
        if taken[cluster_of_query[id]] <= max_per_cluster:
            kept.append(id)
    return kept[:max_queries]


def _require_right_and_wrong_hits(archive: Archive, name: str, first_hits: LabelledHits) -> None:
    right, need = int(first_hits.relevant.sum()), MIN_QUERIES // 10
    if min(right, len(first_hits.relevant) - right) < need:
        raise _too_few_error(
            archive, f"{right} right and {len(first_hits.relevant) - right} wrong first hits (split {name})", need
        )


def _too_few_error(archive: Archive, available: str, min_of_each_kind: int = 0) -> ArchiveError:
    needed = (
        f"at least {min_of_each_kind} of each kind"
        if min_of_each_kind
        else f"at least {MIN_QUERIES} labelled queries in one split"
    )
    there = ", ".join(labelled_splits(archive)) or "none"
    return ArchiveError(
        f"{archive.path}: too little to calibrate on: {available}; needed are {needed} (splits: {there}); import more "
        "duplicate links, rephrasings or an evaluation set"
    )
