"""Suggests tags for a question from the most similar questions, and evaluates them on questions with known tags."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from askalike.core.errors import ArchiveError
from askalike.core.hits import TYPED_QUERY_ID, Hit
from askalike.core.iteration import Progress, chunks
from askalike.core.records import Question
from askalike.evaluation.intervals import BinomialProportion
from askalike.rankers import Ranker, Searcher, open_current, search, to_run
from askalike.store import Archive, sample_questions
from askalike.store.contents import groups_sharing, has_content

NEIGHBOUR_COUNT = 20
"""The number of most similar questions that vote for their tags."""
VOTE_EXPONENT = 2.0
"""The weight of a vote is (score / best score) to this power."""
K = 5
MAX_QUERIES = 1_000
BATCH_SIZE = 256


@dataclass(frozen=True, slots=True)
class SuggestedTag:
    """A tag, and its share of all votes, from 0 to 1."""

    name: str
    share: float


@dataclass(frozen=True, slots=True)
class TagEvaluation:
    """Evaluation of suggestions for held-out questions with known tags.

    precision_at_1: queries whose first suggestion is one of their tags. recall_at_k: of all tags of the queries, those
    among the first K suggestions. baseline_*: the same for suggesting the archive's most frequent tags every time.
    """

    query_count: int
    precision_at_1: BinomialProportion
    recall_at_k: BinomialProportion
    baseline_precision_at_1: BinomialProportion
    baseline_recall_at_k: BinomialProportion


def suggest_tags(archive: Archive, ranker: Ranker, title: str, body: str = "", k: int = K) -> list[SuggestedTag]:
    """Return the k tags with most votes of similar questions, if any. Raises ArchiveError if there are no tags."""
    view = archive.view()
    _require_tags(archive)
    queries = {TYPED_QUERY_ID: Question(TYPED_QUERY_ID, title, body)}
    return _suggest_for_queries(open_current(ranker, view), queries, k)[TYPED_QUERY_ID]


def evaluate_suggestions(
    archive: Archive, ranker: Ranker, max_queries: int = MAX_QUERIES, seed: int = 0, progress: Progress | None = None
) -> TagEvaluation:
    """Evaluate suggestions for tagged questions of the archive, drawn with the seed; none of them finds itself.

    progress: called while the archive is indexed. The most frequent tags are counted over the whole archive, these
    questions included. Raises ArchiveError for an archive without tags.
    """
    view = archive.view()
    _require_tags(archive)
    searcher = open_current(ranker, view, progress)
    queries = {q.id: q for q in sample_questions(view, max_queries, seed) if q.tags}
    suggested = _suggest_for_queries(searcher, {id: replace(q, tags=()) for id, q in queries.items()}, K)
    names = {id: [tag.name for tag in tags] for id, tags in suggested.items()}
    counts = {tag: len(ids) for tag, ids in groups_sharing(view, "tag")}
    frequent = [tag for tag, _ in Counter(counts).most_common(K)]
    baseline = dict.fromkeys(queries, frequent)
    return TagEvaluation(len(queries), *_measure_suggestions(queries, names), *_measure_suggestions(queries, baseline))


def _require_tags(archive: Archive) -> None:
    if not has_content(archive, "tags"):
        raise ArchiveError(f"{archive.path}: no question has a tag, so none can be suggested")


def _suggest_for_queries(searcher: Searcher, queries: Mapping[str, Question], k: int) -> dict[str, list[SuggestedTag]]:
    suggested: dict[str, list[SuggestedTag]] = {}
    for ids in chunks(queries, BATCH_SIZE):
        retrieved = search(searcher, {id: queries[id] for id in ids}, NEIGHBOUR_COUNT)
        texts = searcher.view.questions_by_docid(retrieved.distinct_docids)
        documents = {question.id: question for question in texts.values()}
        run = to_run(searcher.view, retrieved)
        suggested |= {id: _count_votes(run[id], documents)[:k] for id in ids}
    return suggested


def _count_votes(hits: Sequence[Hit], documents: Mapping[str, Question]) -> list[SuggestedTag]:
    """Return all tags of the hits, the one with most votes first, ties by name."""
    best = max((hit.score for hit in hits), default=0.0)
    votes: dict[str, float] = defaultdict(float)
    total = 0.0
    for hit in hits:
        weight = max(hit.score / best, 0.0) ** VOTE_EXPONENT if best > 0 else 0.0
        total += weight
        for tag in documents[hit.id].tags if hit.id in documents else ():
            votes[tag] += weight
    tags = [SuggestedTag(name, vote / total) for name, vote in votes.items() if vote]
    return sorted(tags, key=lambda tag: (-tag.share, tag.name))


def _measure_suggestions(
    queries: Mapping[str, Question], suggested: Mapping[str, Sequence[str]]
) -> tuple[BinomialProportion, BinomialProportion]:
    """Return `precision_at_1` and `recall_at_k` of a TagEvaluation."""
    n_right_first = sum(bool(suggested[id]) and suggested[id][0] in q.tags for id, q in queries.items())
    n_suggested = sum(len(set(q.tags) & set(suggested[id][:K])) for id, q in queries.items())
    n_tags = sum(len(q.tags) for q in queries.values())
    return BinomialProportion(n_right_first, len(queries)), BinomialProportion(n_suggested, n_tags)
