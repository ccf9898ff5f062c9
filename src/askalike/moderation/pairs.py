"""Links from questions to their nearest neighbours, pairs from the links in both directions, clusters of the pairs.

A pair has the probability that both ask the same, or their similarity.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, islice
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np

from askalike.calibration.abstention import AbstentionThreshold
from askalike.calibration.calibration import Calibration
from askalike.calibration.curves import estimate_prevalence, shift_prior
from askalike.calibration.differences import FULL_SAMENESS, INTERCEPT, WEIGHTS
from askalike.calibration.features import CALIBRATION_DEPTH, SAMENESS_COLUMN, HitFeatureExtractor
from askalike.calibration.samples import load_hits, retrieve_hits
from askalike.core.iteration import Progress, chunks
from askalike.core.parallel import has_workers, map_pieces
from askalike.core.records import Question
from askalike.rankers import Ranker, Retrieved, Searcher, add_absolute, create, open_current, resume_work
from askalike.store import Archive, Clusters, View

A = TypeVar("A")
B = TypeVar("B")
BATCH_SIZE = 1_024
_Batch = Mapping[str, Question]
MIN_PROBABILITY = 0.05
MIN_COHESION = 0.5
"""Minimum share of linked pairs between two clusters to join them."""
UNFOUND_RANK = 2 * CALIBRATION_DEPTH
"""The rank assumed if a question does not find the other."""
SIMILARITY_SHARE = 2 / 3
"""Weight of the absolute score in the similarity of a pair; the other part is the reciprocal rank."""
MIN_DUPLICATE_RATE = 0.001
"""Minimum of the estimated share with a duplicate, which can be 0 from few questions."""
Link = tuple[str, str, float]
"""(question id, hit id, value); the links of a question are consecutive, best first."""
PairProbabilities = dict[tuple[str, str], float]
"""(an id, a greater id) → the probability that both ask the same, or their similarity without a calibration."""


def pair_key(one: str, other: str) -> tuple[str, str]:
    """Return the key of two questions in PairProbabilities."""
    return min(one, other), max(one, other)


class Linker(Protocol):
    """Finds a question's links among its hits, and makes pairs from the links of all questions."""

    @property
    def with_bodies(self) -> bool:
        """Whether questions are searched for with their bodies."""

    @property
    def key(self) -> Any:
        """The parameters of the links other than archive and ranker, for JSON."""

    def find(
        self, searcher: Searcher, retrieved: Retrieved, extractor: HitFeatureExtractor
    ) -> tuple[list[Link], list[Link]]:
        """Return the links of some questions, and for each with a hit the link to its first hit, with any value."""

    def combine(self, archive: Archive, links: Iterable[Link], first_links: Sequence[Link]) -> PairProbabilities:
        """Return the pairs. first_links: see `find`, of questions drawn from the whole archive."""


@dataclass(frozen=True, slots=True)
class ProbableLinker(Linker):
    """Links with the calibrated probability that a hit asks the same."""

    calibration: Calibration

    @property
    def with_bodies(self) -> bool:
        return self.calibration.has_bodies

    @property
    def key(self) -> Any:
        curves = self.calibration.model_dump(mode="json", exclude={"threshold", "prevalence", "quality"})
        return {**curves, "sameness": (FULL_SAMENESS, INTERCEPT, *WEIGHTS)}

    def find(
        self, searcher: Searcher, retrieved: Retrieved, extractor: HitFeatureExtractor
    ) -> tuple[list[Link], list[Link]]:
        """See Linker.find; links have at least MIN_PROBABILITY.

        Questions of an archive whose titles are one telling word apart are mostly two questions, unlike a query and
        what it finds: their sameness counts in full.
        """
        links: list[Link] = []
        first: list[Link] = []
        for hits in load_hits(searcher.view, retrieved):
            features = hits.compute_features(extractor)
            factors = np.minimum(features[:, SAMENESS_COLUMN] / FULL_SAMENESS, 1.0)
            values = (self.calibration.curve_probabilities(features) * factors).tolist()
            own = [(hits.query.id, hit.id, value) for hit, value in zip(hits.documents, values, strict=True)]
            first += own[:1]
            links += [link for link in own if link[2] >= MIN_PROBABILITY]
        return links, first

    def combine(self, archive: Archive, links: Iterable[Link], first_links: Sequence[Link]) -> PairProbabilities:
        return self.combine_at(estimate_duplicate_rate(archive, self.calibration, first_links), links)

    def combine_at(self, rate: float, links: Iterable[Link]) -> PairProbabilities:
        """Return the probability of each pair in an archive where a share of `rate` of the questions has a duplicate.

        The mean over the directions in which one finds the other is shifted from the prior of the calibration's
        queries, all of which have a duplicate, to `rate`. Good ranks in both directions are further evidence: the odds
        are multiplied by UNFOUND_RANK over the larger of both ranks, which leaves pairs found in only one direction
        unchanged.
        """
        directions = list(_group_by_pair(links))
        means = np.array(
            [np.mean([value for value, _ in pair_links.values()]) for _, pair_links in directions], np.float64
        )
        votes = np.array([UNFOUND_RANK / _larger_rank(pair_links) for _, pair_links in directions], np.float64)
        shifted = shift_prior(means, self.calibration.base_rate, rate)
        weighted = shifted * votes
        probabilities = weighted / (weighted + 1 - shifted)
        return dict(zip((pair for pair, _ in directions), probabilities.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class SimilarLinker(Linker):
    """Links with the absolute score of a hit, without a calibration. min_similarity: the minimum for a link."""

    min_similarity: float
    with_bodies: ClassVar[bool] = True

    @classmethod
    def above_abstention(cls, archive: Archive, ranker: Ranker) -> Self:
        """Return one for hits above the typical minimum score of searches. The ranker's index must exist."""
        return cls(AbstentionThreshold(archive, ranker).prepare(archive.view()).usual.related)

    @property
    def key(self) -> Any:
        return {"min_similarity": self.min_similarity}

    def find(
        self, searcher: Searcher, retrieved: Retrieved, extractor: HitFeatureExtractor
    ) -> tuple[list[Link], list[Link]]:
        links: list[Link] = []
        ids = searcher.view.ids(retrieved.distinct_docids)
        scores = add_absolute(searcher, retrieved).absolute or ()
        for one, docids, values in zip(retrieved.queries, retrieved.docids, scores, strict=True):
            found = zip(docids.tolist(), values.tolist(), strict=True)
            links += [(one.id, ids[docid], v) for docid, v in found if docid in ids and v >= self.min_similarity]
        return links, []

    def combine(self, archive: Archive, links: Iterable[Link], first_links: Sequence[Link] = ()) -> PairProbabilities:
        """Return the similarity of each pair, from 0 to 1; it is not a probability.

        It is two thirds of the mean absolute score plus one third of 1 over the larger rank of both directions.
        """
        pairs = {}
        for pair, pair_links in _group_by_pair(links):
            score = min(1.0, sum(value for value, _ in pair_links.values()) / len(pair_links))
            pairs[pair] = SIMILARITY_SHARE * score + (1 - SIMILARITY_SHARE) / _larger_rank(pair_links)
        return pairs


_Directions = Mapping[str, tuple[float, int]]
"""The id of the question that finds the other → the link's value and rank, from 1."""


def _group_by_pair(links: Iterable[Link]) -> Iterator[tuple[tuple[str, str], _Directions]]:
    """Yield each pair with its directions. A repeated link counts once."""
    pairs: dict[tuple[str, str], dict[str, tuple[float, int]]] = {}
    ranks: dict[str, int] = {}
    for question_id, hit_id, value in links:
        directions = pairs.setdefault(pair_key(question_id, hit_id), {})
        if question_id not in directions:
            ranks[question_id] = ranks.get(question_id, 0) + 1
            directions[question_id] = value, ranks[question_id]
    yield from pairs.items()


def _larger_rank(directions: _Directions) -> int:
    return max(rank for _, rank in directions.values()) if len(directions) == 2 else UNFOUND_RANK


def estimate_duplicate_rate(archive: Archive, calibration: Calibration, first_links: Sequence[Link]) -> float:
    """Return the estimated share of questions whose first hit asks the same.

    first_links: from questions drawn from the whole archive to their first hits, with the curves' values. Not all
    duplicates are labelled, so the share of first hits with a label is a lower bound.
    """
    probabilities = np.array([value for _, _, value in first_links], np.float64)
    lowest = max(MIN_DUPLICATE_RATE, _labelled_share(archive, first_links))
    estimate = estimate_prevalence(probabilities, calibration.base_rate)
    return min(max(estimate, lowest), calibration.base_rate)


def _labelled_share(archive: Archive, links: Sequence[Link]) -> float:
    names = Clusters.read(archive).visible_names
    n_labelled = sum(id in names and names[id] == names.get(hit) for id, hit, _ in links)
    return n_labelled / max(len(links), 1)


def cluster_pairs(pairs: PairProbabilities, min_probability: float) -> list[frozenset[str]]:
    """Return clusters of two or more questions linked by pairs of at least `min_probability`, by their smallest id.

    Pairs are processed by descending probability, ties by ids, so their order does not matter. A pair is ignored if
    its clusters are too loosely linked, so that a chain of single links does not join a whole archive.
    """
    linked = {pair: p for pair, p in pairs.items() if p >= min_probability}
    cluster_of: dict[str, set[str]] = {id: {id} for pair in linked for id in pair}
    for one, other in sorted(linked, key=lambda pair: (-linked[pair], pair)):
        first, second = cluster_of[one], cluster_of[other]
        if first is not second and cohesion(linked, first, second) >= MIN_COHESION:
            first |= second
            for id in second:
                cluster_of[id] = first
    clusters = {min(members): frozenset(members) for members in cluster_of.values() if len(members) > 1}
    return [clusters[least_id] for least_id in sorted(clusters)]


def cohesion(linked: Mapping[tuple[str, str], float], first: Iterable[str], second: Iterable[str]) -> float:
    """Return the share of linked pairs between two clusters."""
    is_linked = [pair_key(a, b) in linked for a in first for b in second]
    return sum(is_linked) / len(is_linked)


def mean_link_probability(pairs: PairProbabilities, members: Iterable[str]) -> float:
    """Return the mean probability of the pairs within a cluster that have one."""
    probabilities = [pairs[pair] for pair in combinations(sorted(members), 2) if pair in pairs]
    return sum(probabilities) / len(probabilities)


def find_neighbours(
    archive: Archive, ranker: Ranker, linker: Linker, progress: Progress | None = None
) -> tuple[PairProbabilities, Sequence[Link]]:
    """Return the pairs of questions where one finds the other, and the link of each question to its first hit.

    The links are saved in the archive's `index/`, batch by batch: a call resumes after the last batch of the previous
    one, see `resume_work`. Memory grows with the number of pairs, not with the texts. The processes of `use_workers`
    share the searches.
    """
    view = archive.view()
    n = len(view)

    def search(done: int) -> Iterator[list[Any]]:
        searcher = open_current(ranker, view)
        batches = islice(_read_batches(view, linker.with_bodies), done, None)
        for number, line in enumerate(_search_batches(archive, searcher, ranker, linker, batches), done + 1):
            yield line
            if progress:
                progress(min(number * BATCH_SIZE, n), n)

    lines = list(resume_work("neighbours", ranker, view, linker.key, math.ceil(n / BATCH_SIZE), search))
    first_links = [link for _, first in lines for link in first]
    return linker.combine(archive, (link for links, _ in lines for link in links), first_links), first_links


def _read_batches(view: View, with_bodies: bool) -> Iterator[_Batch]:
    for batch in chunks(view.questions(), BATCH_SIZE):
        yield {q.id: q if with_bodies else replace(q, body="") for _, q in batch}


def _prefetch(function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
    """Yield the function's result for each item, while a thread computes the next one."""
    with ThreadPoolExecutor(1) as pool:
        current: Future[B] | None = None
        for item in items:
            following = pool.submit(function, item)
            if current:
                yield current.result()
            current = following
        if current:
            yield current.result()


def _search_batches(
    archive: Archive, searcher: Searcher, ranker: Ranker, linker: Linker, batches: Iterable[_Batch]
) -> Iterator[list[Any]]:
    if not has_workers():
        return _search_here(archive.view(), searcher, linker, batches)
    values = ranker.name, dict(ranker.values)
    return map_pieces(partial(_search_batch, archive.path.resolve(), archive.engine, values, linker), batches)


def _search_here(view: View, searcher: Searcher, linker: Linker, batches: Iterable[_Batch]) -> Iterator[list[Any]]:
    extractor = HitFeatureExtractor(view.language, view)
    for retrieved in _prefetch(partial(retrieve_hits, searcher), batches):
        yield list(linker.find(searcher, retrieved, extractor))


def _search_batch(
    path: Path, engine: str | None, ranker: tuple[str, dict[str, Any]], linker: Linker, batch: _Batch
) -> list[Any]:
    """Return the line of one batch, in a worker that opens the committed archive and index."""
    with Archive.open(path, engine) as archive:
        view = archive.view()
        searcher = create(*ranker, archive).open(view)
        return next(_search_here(view, searcher, linker, [batch]))
