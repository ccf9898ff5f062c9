"""Labelled queries and their hits: the rows on which curves are fitted and measured."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from askalike.calibration.abstention import find_closest_topic
from askalike.calibration.features import CALIBRATION_DEPTH, COLUMN_COUNT, FEATURES, HitFeatureExtractor
from askalike.calibration.typed import load_everyday_split, source_of, type_own_titles
from askalike.core.arrays import Bools, Floats
from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.iteration import Progress, remaining_chunks
from askalike.core.records import Question, Split
from askalike.core.values import format_count
from askalike.labels import splits
from askalike.labels.splits import (
    load_split,
    require_unlearned,
    split_groups,
    splits_to_hold_out,
    uncut_splits,
    unlearned_splits,
)
from askalike.rankers import Ranker, ResolvedQuery, Retrieved, open_current, resume_work, search
from askalike.store import Archive, Clusters, Snapshot, View, read_labels, shuffle_names
from askalike.store.labels import ranks_answers

MAX_QUERIES = 5_000
MAX_PER_CLUSTER = 3
MIN_QUERIES = 100
"""Number of labelled queries from which a calibration is sure, if a tenth of them have a right first hit, and a tenth a
wrong one."""
MIN_ASKED = 20
"""Minimum number of labelled queries and own titles."""
QueryKind = Literal["labelled", "typed", "everyday"]
"""Whether a query has a label, is one of the archive's own titles with a slip, or asks nothing of the archive."""
BATCH_SIZE = 256
QueryRows = tuple[Sequence[Sequence[float]], Sequence[bool], Sequence[Sequence[float]]]
"""A query's hits: the features of each, whether each is right, and the features of the first wrong one, as if the
archive had no right question; no such row if all are right."""
T = TypeVar("T")
_Row = tuple[Sequence[float], bool, int]


@dataclass(frozen=True, slots=True)
class LabelledHits:
    """Hits as rows: features, (n, columns), whether each is right, (n,), and the index of its query, (n,)."""

    features: Floats
    relevant: Bools
    query_index: NDArray[np.int64]

    def select(self, query_mask: Bools) -> "LabelledHits":
        """Return the rows of the queries in a mask, (queries,)."""
        rows = query_mask[self.query_index]
        return LabelledHits(self.features[rows], self.relevant[rows], self.query_index[rows])


@dataclass(frozen=True, slots=True)
class CalibrationSample:
    """Queries as people ask, their clusters, and their hits.

    They are the labelled queries of a split, the archive's own titles with a slip, and everyday questions, which have
    only a first wrong hit. groups: the group within which each query was ranked; "" without groups. has_bodies: whether
    any query has a body. later_hits: the hits after the first, down to CALIBRATION_DEPTH. first_wrong_hits: the hits
    that would be first if the archive had no right question, as for a query without a duplicate. kinds: of each query.
    """

    split: str
    queries: Sequence[str]
    clusters: Sequence[str]
    groups: Sequence[str]
    has_bodies: bool
    first_hits: LabelledHits
    later_hits: LabelledHits
    first_wrong_hits: LabelledHits
    kinds: Sequence[QueryKind]

    def is_kind(self, *kinds: QueryKind) -> Bools:
        """Return which queries are of these kinds, (queries,)."""
        return np.array([kind in kinds for kind in self.kinds], np.bool_)

    @property
    def is_sure(self) -> bool:
        """Whether enough queries are labelled; see MIN_QUERIES."""
        relevant = self.first_hits.select(self.is_kind("labelled")).relevant
        rarer = min(int(relevant.sum()), int((~relevant).sum()))
        return self.count_labelled() >= MIN_QUERIES and rarer >= MIN_QUERIES // 10

    def count_labelled(self) -> int:
        """Return the number of labelled queries."""
        return int(self.is_kind("labelled").sum())

    def select(self, query_mask: Bools) -> "CalibrationSample":
        """Return the queries in a mask, (queries,), with their rows."""

        def choose(values: Sequence[T]) -> Sequence[T]:
            return [value for value, is_chosen in zip(values, query_mask, strict=True) if is_chosen]

        places = np.cumsum(query_mask) - 1
        hits = [part.select(query_mask) for part in (self.first_hits, self.later_hits, self.first_wrong_hits)]
        first, later, wrong = (replace(part, query_index=places[part.query_index]) for part in hits)
        return CalibrationSample(
            self.split, choose(self.queries), choose(self.clusters), choose(self.groups), self.has_bodies, first,
            later, wrong, choose(self.kinds),
        )  # fmt: skip

    @property
    def measured(self) -> Bools:
        """The queries on which probabilities are measured, (queries,): labelled ones, own titles too if few are."""
        return self.is_kind("labelled") if self.is_sure else self.is_kind("labelled", "typed")


@dataclass(frozen=True, slots=True)
class QueryHits:
    """A query's first CALIBRATION_DEPTH hits, best first, and their scores, (hits,)."""

    query: Question
    documents: Sequence[Question]
    scores: Floats

    def compute_features(self, extractor: HitFeatureExtractor) -> Floats:
        """Return the features of all hits, (hits, columns)."""
        return extractor.extract(self.query, self.scores, self.documents)

    def label(self, judged: Mapping[str, int], extractor: HitFeatureExtractor) -> QueryRows:
        """Return the rows of all hits. judged: document id → grade."""
        relevant = [judged.get(hit.id, 0) > 0 for hit in self.documents]
        wrong = self.select([position for position, is_relevant in enumerate(relevant) if not is_relevant])
        first_wrong = wrong.compute_features(extractor)[:1]
        return self.compute_features(extractor).tolist(), relevant, first_wrong.tolist()

    def select(self, positions: Sequence[int]) -> "QueryHits":
        """Return the hits at these positions, as if no others had been retrieved."""
        documents = [self.documents[position] for position in positions]
        return QueryHits(self.query, documents, self.scores[positions])


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
    resume: bool = False,
) -> CalibrationSample:
    """Draw queries of each kind, of the labelled ones at most `max_per_cluster` of a cluster, and rank the archive.

    If the archive has groups, each query is ranked within its own. resume: see `rank_labelled`.

    split_name: None for the default split. titles_only: leave out the queries' bodies. A hit is right according to the
    query's own judgements. Raises ArchiveError if there are too few queries; SettingsError for a split that was judged
    only on candidates.
    """
    name = default_split(archive, ranker) if split_name is None else split_name
    clusters = Clusters.read(archive)
    labelled, cluster_of = Split({}, {}), dict[str, str]()
    if name:
        split = _load_judged_split(archive, ranker, name)
        cluster_of = {label.query_id: clusters.cluster_of(label.text_id) for label in read_labels(archive, name)}
        judged = [id for id in split.queries if id in split.qrels]
        drawn = _draw_queries(judged, cluster_of, max_queries, max_per_cluster, seed)
        labelled = Split({id: split.queries[id] for id in drawn}, split.qrels)
    has_bodies = not titles_only and (not labelled.queries or any(q.body for q in labelled.queries.values()))
    typed = type_own_titles(archive, clusters, has_bodies, seed)
    if len(labelled.queries) + len(typed.queries) < MIN_ASKED:
        raise _too_few_error(archive, len(labelled.queries) + len(typed.queries))
    parts: Mapping[QueryKind, Split] = {
        "labelled": labelled, "typed": typed, "everyday": load_everyday_split(archive.view(), seed),
    }  # fmt: skip
    kind_of = {id: kind for kind, part in parts.items() for id in part.queries}
    queries = {id: query for part in parts.values() for id, query in part.queries.items()}
    if not has_bodies:
        queries = {id: replace(query, body="") for id, query in queries.items()}
    labels = Split(queries, {**labelled.qrels, **typed.qrels})
    use = "calibrate-titles" if titles_only else "calibrate"
    group_of: dict[str, str] = {}
    hits: list[QueryRows] = []
    for group, part in split_groups(archive, labels):
        group_of |= dict.fromkeys(part.queries, group)
        view = archive.view(held_out_splits=splits_to_hold_out(archive, name) if name else (), group=group or None)
        hits += rank_labelled(ranker, view, part, progress, use if resume else None)
    own = [cluster_of.get(id) or clusters.cluster_of(source_of(id)) for id in group_of]
    kinds = [kind_of[id] for id in group_of]
    has_bodies = any(query.body for query in queries.values())
    return _leave_out_own_topic(CalibrationSample(
        name, list(group_of), own, list(group_of.values()), has_bodies, *collect_labelled_hits(hits), kinds,
    ))  # fmt: skip


def _leave_out_own_topic(sample: CalibrationSample) -> CalibrationSample:
    """Return the sample with everyday questions only as queries without a right hit.

    Those of the topic that is closest to the archive are left out, as it may be the archive's own.
    """
    everyday = sample.is_kind("everyday")
    own = sample.first_hits.select(everyday)
    topics = [sample.clusters[query] for query in own.query_index.tolist()]
    closest = find_closest_topic(own.features[:, FEATURES.index("score")], topics)
    counted = ~everyday | (np.array(sample.clusters) != closest)
    return replace(
        sample,
        first_hits=sample.first_hits.select(~everyday),
        later_hits=sample.later_hits.select(~everyday),
        first_wrong_hits=sample.first_wrong_hits.select(counted),
    )


def _load_judged_split(archive: Archive, ranker: Ranker, name: str) -> Split:
    """Return a split. Raises SettingsError if its labels do not tell whether a hit of the ranker is right."""
    split = load_split(archive, name)
    require_unlearned(ranker.learned_labels, archive, ranker.name, split)
    if not split.has_labels:
        raise SettingsError(
            f"split {name}: each title is to find its own question, none that asks the same in other words"
        )
    if split.candidates is not None:
        raise SettingsError(
            f"split {name}: its queries are judged on given candidates only, so other hits are unknown, not wrong; "
            "name a split that is judged on the whole archive"
        )
    return split


def count_found_by_rank(sample: CalibrationSample) -> tuple[int, ...]:
    """Return the number of queries with a right hit among their first 1, 2, … CALIBRATION_DEPTH hits."""
    later = sample.later_hits
    first_rows = np.searchsorted(later.query_index, later.query_index)
    positions = np.arange(1, len(first_rows) + 1) - first_rows
    best = np.full(len(sample.queries), CALIBRATION_DEPTH)
    best[sample.first_hits.query_index[sample.first_hits.relevant]] = 0
    np.minimum.at(best, later.query_index[later.relevant], positions[later.relevant])
    return tuple(np.cumsum(np.bincount(best, minlength=CALIBRATION_DEPTH + 1))[:CALIBRATION_DEPTH].tolist())


def default_split(archive: Archive, ranker: Ranker) -> str:
    """Return dev, else the first split with enough queries, else the one with most; "" if there is none.

    Splits that the ranker has not learned from are preferred.
    """
    name = splits.default_split(archive, "dev", last_resort="test", min_queries=MIN_QUERIES)
    if ranker.learned_labels:
        unlearned = [n for n in unlearned_splits(ranker.learned_labels, archive) if not ranks_answers(archive, n)]
        enough = (n for n in unlearned if len(load_split(archive, n).qrels) >= MIN_QUERIES)
        name = name if name in unlearned else next(enough, name)
    if name:
        return name
    names = uncut_splits(archive)
    sizes = {name: len(load_split(archive, name).qrels) for name in names if name != "test" or len(names) == 1}
    return max(sizes, key=sizes.__getitem__, default="")


def rank_labelled(
    ranker: Ranker, view: View, labels: Split, progress: Progress | None = None, use: str | None = None
) -> Iterator[QueryRows]:
    """Yield the rows of each query's first CALIBRATION_DEPTH hits, ranked batch by batch.

    use: the name under which they are saved, and those of an earlier call are reused; see `resume_work`. None saves
    nothing, as for a ranker not made by `rankers.create`.
    """
    work = partial(_rank_batches, ranker, view, labels, progress)
    inputs = [labels.queries, labels.qrels, COLUMN_COUNT]
    total = math.ceil(len(labels.queries) / BATCH_SIZE)
    for batch in resume_work(use, ranker, view, inputs, total, work) if use else work(0):
        yield from batch


def _rank_batches(
    ranker: Ranker, view: View, labels: Split, progress: Progress | None, done: int
) -> Iterator[list[QueryRows]]:
    """Yield the rows of each batch of queries, skipping the first `done` queries."""
    searcher = open_current(ranker, view, progress)
    extractor = HitFeatureExtractor(view.language, view)
    for ids in remaining_chunks(labels.queries, BATCH_SIZE, done, progress):
        hits = load_hits(view, search(searcher, {id: labels.queries[id] for id in ids}, CALIBRATION_DEPTH))
        yield [query_hits.label(labels.qrels.get(id, {}), extractor) for id, query_hits in zip(ids, hits, strict=True)]


def load_hits(view: Snapshot, retrieved: Retrieved) -> Iterator[QueryHits]:
    """Yield the hits of each query with their texts, except those that have just been deleted."""
    texts = view.questions_by_docid(retrieved.distinct_docids)
    for row, one in enumerate(retrieved.queries):
        docids = retrieved.docids[row].tolist()
        present = [position for position, docid in enumerate(docids) if docid in texts]
        documents = [_hide_own_phrasing(texts[docids[position]], docids[position], one) for position in present]
        yield QueryHits(one.query, documents, retrieved.scores[row][present])


def _hide_own_phrasing(hit: Question, docid: int, one: ResolvedQuery) -> Question:
    """Return a hit without the rephrasing that the query is, if it is one of the hit's."""
    if one.excluded is None or one.excluded.docid != docid or not one.excluded.phrasing:
        return hit
    own = one.excluded.phrasing - 1
    return replace(hit, rephrasings=hit.rephrasings[:own] + hit.rephrasings[own + 1 :])


def collect_labelled_hits(rows_of_queries: Iterable[QueryRows]) -> tuple[LabelledHits, LabelledHits, LabelledHits]:
    """Return the rows of first hits, of later hits, and of first wrong hits."""
    first: list[_Row] = []
    later: list[_Row] = []
    first_wrong: list[_Row] = []
    for index, (features, relevant, wrong_features) in enumerate(rows_of_queries):
        rows = list(zip(features, relevant, [index] * len(relevant), strict=True))
        first += rows[:1]
        later += rows[1:]
        first_wrong += [(row, False, index) for row in wrong_features]
    return _stack_rows(first), _stack_rows(later), _stack_rows(first_wrong)


def _stack_rows(rows: Sequence[_Row]) -> LabelledHits:
    return LabelledHits(
        np.array([row[0] for row in rows], np.float64).reshape(-1, COLUMN_COUNT),
        np.array([row[1] for row in rows], np.bool_),
        np.array([row[2] for row in rows], np.int64),
    )


def _draw_queries(
    ids: Sequence[str], cluster_of_query: Mapping[str, str], max_queries: int, max_per_cluster: int, seed: int
) -> list[str]:
    """Return the queries to use, in an order that depends only on the seed and the ids."""
    seen: Counter[str] = Counter()
    drawn = []
    for id in shuffle_names(ids, seed):
        seen[cluster_of_query[id]] += 1
        if seen[cluster_of_query[id]] <= max_per_cluster:
            drawn.append(id)
    return drawn[:max_queries]


def _too_few_error(archive: Archive, n: int) -> ArchiveError:
    return ArchiveError(
        f"{archive.path}: too little to calibrate on: {format_count(n, 'query')} with a label or a title of the "
        f"archive; at least {MIN_ASKED} are needed; import more questions or duplicate links"
    )


def too_few_labels_error(archive: Archive, sample: CalibrationSample) -> ArchiveError:
    """Return the error for a precision that needs more labels than the sample has."""
    found = format_count(sample.count_labelled(), "labelled query")
    split = f" (split {sample.split})" if sample.split else ""
    rare = MIN_QUERIES // 10
    return ArchiveError(
        f"{archive.path}: too little for a precision: {found}{split}; at least {MIN_QUERIES} labelled queries are "
        f"needed, {rare} of them with a right and {rare} with a wrong first hit; import more duplicate links, "
        "rephrasings or an evaluation set, or calibrate without a precision"
    )
