"""Tags for a question, from the questions most like it; and what that is worth on questions that have tags."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from askalike.errors import ArchiveError
from askalike.evaluation.proportion import BinomialProportion
from askalike.iteration import chunks
from askalike.rankers import Ranker, Searcher, open_current
from askalike.store.archive import Archive
from askalike.store.samples import sample_questions
from askalike.types import Hit, Question

NEIGHBOUR_COUNT = 20
"""So many of the most similar questions have a say,"""
VOTE_EXPONENT = 2.0
"""each by its score's share of the best one's, to this power."""
K = 5
MAX_QUERIES = 1_000
BATCH_SIZE = 256
TYPED_QUERY_ID = " typed "


@dataclass(frozen=True, slots=True)
class SuggestedTag:
    """A tag, and the share of the neighbours' say that is for it, 0 to 1."""

    name: str
    share: float


@dataclass(frozen=True, slots=True)
class TagEvaluation:
    """Held-out questions whose own tags are known: how many suggestions are among them, by neighbours and by fashion.

    `first`: queries whose first suggestion is one of their tags; `found`: of all their tags, those among the first K.
    `fashion_*`: the same for suggesting the archive's most frequent tags to everybody.
    """

    query_count: int
    precision_at_1: BinomialProportion
    recall_at_k: BinomialProportion
    baseline_precision_at_1: BinomialProportion
    baseline_recall_at_k: BinomialProportion


def suggest_tags(archive: Archive, ranker: Ranker, title: str, body: str = "", k: int = K) -> list[SuggestedTag]:
    """The k tags that the questions most like this one speak for; none where nothing is like it.

    Raises ArchiveError for an archive without tags.
    """
    view = archive.view()
    _require_tags(archive)
    searcher = open_current(ranker, view)
    return _suggest_for_queries(searcher, {TYPED_QUERY_ID: Question(TYPED_QUERY_ID, title, body)}, k)[TYPED_QUERY_ID]


def evaluate_suggestions(
    archive: Archive, ranker: Ranker, max_queries: int = MAX_QUERIES, seed: int = 0
) -> TagEvaluation:
    """Asks tagged questions of the archive, drawn with the seed, as if they were new: none of them finds itself.

    The most frequent tags are counted over the whole archive, these questions included. Raises as `suggest`.
    """
    view = archive.view()
    _require_tags(archive)
    searcher = open_current(ranker, view)
    asked = {q.id: q for q in sample_questions(view, max_queries, seed) if q.tags}
    suggested = _suggest_for_queries(searcher, {id: replace(q, tags=()) for id, q in asked.items()}, K)
    names = {id: [tag.name for tag in tags] for id, tags in suggested.items()}
    counts = {tag: len(ids) for tag, ids in view.groups_sharing("tag")}
    frequent = [tag for tag, _ in Counter(counts).most_common(K)]
    fashion = dict.fromkeys(asked, frequent)
    return TagEvaluation(len(asked), *_measure_suggestions(asked, names), *_measure_suggestions(asked, fashion))


def _require_tags(archive: Archive) -> None:
    if not archive.view().has_tags:
        raise ArchiveError(f"{archive.path}: no question has a tag, so there is none to suggest")


def _suggest_for_queries(searcher: Searcher, queries: Mapping[str, Question], k: int) -> dict[str, list[SuggestedTag]]:
    found: dict[str, list[SuggestedTag]] = {}
    for ids in chunks(queries, BATCH_SIZE):
        session = searcher.search({id: queries[id] for id in ids}, NEIGHBOUR_COUNT)
        texts = {question.id: question for question in session.texts.values()}
        found |= {id: _count_votes(session.run[id], texts)[:k] for id in ids}
    return found


def _count_votes(hits: Sequence[Hit], documents: Mapping[str, Question]) -> list[SuggestedTag]:
    """All tags of the hits, the one with the greatest say first, ties by name."""
    best = max((hit.score for hit in hits), default=0.0)
    says: dict[str, float] = defaultdict(float)
    total = 0.0
    for hit in hits:
        weight = max(hit.score / best, 0.0) ** VOTE_EXPONENT if best > 0 else 0.0
        total += weight
        for tag in documents[hit.id].tags if hit.id in documents else ():
            says[tag] += weight
    return sorted(
        (SuggestedTag(tag, say / total) for tag, say in says.items() if say), key=lambda t: (-t.share, t.name)
    )


def _measure_suggestions(
    queries: Mapping[str, Question], suggested: Mapping[str, Sequence[str]]
) -> tuple[BinomialProportion, BinomialProportion]:
    first = sum(bool(suggested[id]) and suggested[id][0] in q.tags for id, q in queries.items())
    found = sum(len(set(q.tags) & set(suggested[id][:K])) for id, q in queries.items())
    return BinomialProportion(first, len(queries)), BinomialProportion(
        found, sum(len(q.tags) for q in queries.values())
    )
