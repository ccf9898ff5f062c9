"""Labelled queries and their hits: the rows on which curves are fitted and measured."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askalike.calibration.features import CALIBRATION_DEPTH, COLUMN_COUNT, HitFeatureExtractor
from askalike.core.arrays import Bools, Floats
from askalike.core.errors import ArchiveError, InputError, SettingsError
from askalike.core.iteration import Progress, remaining_chunks
from askalike.core.records import Question, Split
from askalike.core.values import format_count
from askalike.labels import splits
from askalike.labels.splits import (
    labelled_splits,
    load_split,
    require_unlearned,
    restrict_split,
    split_groups,
    splits_to_hold_out,
    uncut_splits,
    unlearned_splits,
)
from askalike.rankers import Ranker, ResolvedQuery, Retrieved, Searcher, open_current, resume_work, search
from askalike.readers import read_queries
from askalike.store import Archive, Clusters, Snapshot, View, read_labels, sample_questions, shuffle_names
from askalike.store.labels import ranks_answers

MAX_QUERIES = 5_000
MAX_PER_CLUSTER = 3
MIN_QUERIES = 100
"""Minimum number of labelled queries. A tenth of them must have a right first hit, and a tenth a wrong one."""
MAX_OFF_TOPIC_QUERIES = 1_000
BATCH_SIZE = 256
QueryRows = tuple[Sequence[Sequence[float]], Sequence[bool], Sequence[Sequence[float]]]
"""A query's hits: the features of each, whether each is right, and the features of the first wrong one, as if the
archive had no right question; no such row if all are right."""
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
    """Labelled queries of a split, their clusters, and their hits.

    groups: the group within which each query was ranked; "" without groups. has_bodies: whether any query has a body.
    later_hits: the hits after the first, down to CALIBRATION_DEPTH. first_wrong_hits: the hits that would be first if
    the archive had no right question, as for a query without a duplicate.
    """

    split: str
    queries: Sequence[str]
    clusters: Sequence[str]
    groups: Sequence[str]
    has_bodies: bool
    first_hits: LabelledHits
    later_hits: LabelledHits
    first_wrong_hits: LabelledHits


@dataclass(frozen=True, slots=True)
class QueryHits:
    """A query's first CALIBRATION_DEPTH hits, best first, their scores, (hits,), and similarities, (hits,) or None."""

    query: Question
    documents: Sequence[Question]
    scores: Floats
    similarities: Floats | None

    def compute_features(self, extractor: HitFeatureExtractor) -> Floats:
        """Return the features of all hits, (hits, columns)."""
        return extractor.extract(self.query, self.scores, self.documents, self.similarities)

    def label(self, judged: Mapping[str, int], extractor: HitFeatureExtractor) -> QueryRows:
        """Return the rows of all hits. judged: document id → grade."""
        relevant = [judged.get(hit.id, 0) > 0 for hit in self.documents]
        wrong = self.select([position for position, is_relevant in enumerate(relevant) if not is_relevant])
        first_wrong = wrong.compute_features(extractor)[:1]
        return self.compute_features(extractor).tolist(), relevant, first_wrong.tolist()

    def select(self, positions: Sequence[int]) -> "QueryHits":
        """Return the hits at these positions, as if no others had been retrieved."""
        similarities = None if self.similarities is None else self.similarities[positions]
        documents = [self.documents[position] for position in positions]
        return QueryHits(self.query, documents, self.scores[positions], similarities)


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
    """Draw labelled queries of a split, at most `max_per_cluster` of a duplicate cluster, and rank the whole archive.

    If the archive has groups, each query is ranked within its own. resume: see `rank_labelled`.

    split_name: None for the default split. titles_only: leave out the queries' bodies. A hit is right according to the
    query's own judgements. Raises ArchiveError if there are too few queries or right or wrong first hits;
    SettingsError for a split that was judged only on candidates.
    """
    name = split_name or default_split(archive, ranker)
    split = _load_judged_split(archive, ranker, name)
    clusters = load_query_clusters(archive, name)
    ids = _draw_queries([q for q in split.queries if q in split.qrels], clusters, max_queries, max_per_cluster, seed)
    if len(ids) < MIN_QUERIES:
        available = f"{format_count(len(ids), 'labelled query')} (split {name}, at most {max_per_cluster} a cluster)"
        raise _too_few_error(archive, available)
    groups = {id: group for group, part in split_groups(archive, split) for id in ids if id in part.queries}
    queries = {id: replace(split.queries[id], body="") if titles_only else split.queries[id] for id in groups}
    use = "calibrate-titles" if titles_only else "calibrate"
    hits: list[QueryRows] = []
    for group, own in groupby(groups, key=lambda id: groups[id]):
        labels = restrict_split(Split(queries, split.qrels), set(own))
        view = archive.view(held_out_splits=splits_to_hold_out(archive, name), group=group or None)
        hits += rank_labelled(ranker, view, labels, progress, use if resume else None)
    first, later, first_wrong = collect_labelled_hits(hits)
    _require_right_and_wrong_hits(archive, name, first)
    has_bodies = any(query.body for query in queries.values())
    query_clusters = [clusters[id] for id in groups]
    return CalibrationSample(
        name, list(groups), query_clusters, list(groups.values()), has_bodies, first, later, first_wrong
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
    """Return dev, else the first split with enough queries. Raises ArchiveError if there is none.

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
    available = ", ".join(f"{name} {size}" for name, size in sizes.items()) or "none"
    raise _too_few_error(archive, f"labelled queries: {available}")


def load_query_clusters(archive: Archive, split_name: str) -> dict[str, str]:
    """Return the duplicate cluster of each query of a split."""
    clusters = Clusters.read(archive)
    return {label.query_id: clusters.cluster_of(label.text_id) for label in read_labels(archive, split_name)}


def load_off_topic_queries(path: Path, max_queries: int = MAX_OFF_TOPIC_QUERIES, seed: int = 0) -> list[Question]:
    """Draw queries from JSON lines, or from the questions of an archive. Raises InputError or ArchiveError."""
    if not path.is_dir():
        queries = list(read_queries(path).values())
        drawn = np.random.default_rng(seed).permutation(len(queries))[:max_queries]
        return [queries[i] for i in np.sort(drawn)]
    with Archive.open(path) as archive:
        sample = list(sample_questions(archive.view(), max_queries, seed))
    if not sample:
        raise InputError(f"{path}: an archive without questions; expected one that has some, or a file of queries")
    return sample


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
        hits = load_hits(view, retrieve_hits(searcher, {id: labels.queries[id] for id in ids}))
        yield [query_hits.label(labels.qrels.get(id, {}), extractor) for id, query_hits in zip(ids, hits, strict=True)]


def retrieve_hits(searcher: Searcher, queries: Mapping[str, Question]) -> Retrieved:
    """Return the first CALIBRATION_DEPTH hits of each query."""
    return search(searcher, queries, CALIBRATION_DEPTH)


def load_hits(view: Snapshot, retrieved: Retrieved) -> Iterator[QueryHits]:
    """Yield the hits of each query with their texts, except those that have just been deleted."""
    texts = view.questions_by_docid(retrieved.distinct_docids)
    for row, one in enumerate(retrieved.queries):
        docids = retrieved.docids[row].tolist()
        present = [position for position, docid in enumerate(docids) if docid in texts]
        similarities = None if retrieved.similarities is None else retrieved.similarities[row][present]
        documents = [_hide_own_phrasing(texts[docids[position]], docids[position], one) for position in present]
        yield QueryHits(one.query, documents, retrieved.scores[row][present], similarities)


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


def _require_right_and_wrong_hits(archive: Archive, name: str, first_hits: LabelledHits) -> None:
    n_right = int(first_hits.relevant.sum())
    n_needed = MIN_QUERIES // 10
    n_wrong = len(first_hits.relevant) - n_right
    if min(n_right, n_wrong) < n_needed:
        available = f"{n_right} right and {n_wrong} wrong first hits (split {name})"
        raise _too_few_error(archive, available, f"{n_needed} of each kind")


def _too_few_error(archive: Archive, available: str, needed: str = "") -> ArchiveError:
    needed = needed or f"{MIN_QUERIES} labelled queries in one split"
    names = ", ".join(labelled_splits(archive)) or "none"
    return ArchiveError(
        f"{archive.path}: too little to calibrate on: {available}; at least {needed} are needed (splits: {names}); "
        "import more duplicate links, rephrasings or an evaluation set"
    )
