"""Tags for a question, from the questions most like it; and what that is worth on questions that have tags."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from askalike.archive.sample import sampled_questions
from askalike.archive.store import Archive
from askalike.archive.view import View, chunks
from askalike.curation.thresholds import Share
from askalike.errors import ArchiveError
from askalike.rankers import Ranker, caught_up
from askalike.types import Hit, Question

NEIGHBOURS = 20
"""So many of the most similar questions have a say,"""
SHARPNESS = 2.0
"""each by its score's share of the best one's, to this power."""
K = 5
QUERIES = 1_000
BATCH = 256
TYPED = " typed "


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag, and the share of the neighbours' say that is for it, 0 to 1."""

    name: str
    share: float


@dataclass(frozen=True, slots=True)
class Worth:
    """Held-out questions whose own tags are known: how many suggestions are among them, by neighbours and by fashion.

    `first`: queries whose first suggestion is one of their tags; `found`: of all their tags, those among the first K.
    `fashion_*`: the same for suggesting the archive's most frequent tags to everybody.
    """

    queries: int
    first: Share
    found: Share
    fashion_first: Share
    fashion_found: Share


def suggest(archive: Archive, ranker: Ranker, title: str, body: str = "", k: int = K) -> list[Tag]:
    """The k tags that the questions most like this one speak for; none where nothing is like it.

    Raises ArchiveError for an archive without tags.
    """
    view = archive.view()
    _need_tags(archive)
    caught_up(ranker, view)
    return _suggested(view, ranker, {TYPED: Question(TYPED, title, body)}, k)[TYPED]


def worth(archive: Archive, ranker: Ranker, size: int = QUERIES, seed: int = 0) -> Worth:
    """Asks tagged questions of the archive, drawn with the seed, as if they were new: none of them finds itself.

    The most frequent tags are counted over the whole archive, these questions included. Raises as `suggest`.
    """
    view = archive.view()
    _need_tags(archive)
    caught_up(ranker, view)
    asked = {q.id: q for q in sampled_questions(view, size, seed) if q.tags}
    suggested = _suggested(view, ranker, {id: replace(q, tags=()) for id, q in asked.items()}, K)
    names = {id: [tag.name for tag in tags] for id, tags in suggested.items()}
    counts = {tag: len(ids) for tag, ids in view.alike("tag")}
    frequent = [tag for tag, _ in Counter(counts).most_common(K)]
    fashion = dict.fromkeys(asked, frequent)
    return Worth(len(asked), *_shares(asked, names), *_shares(asked, fashion))


def _need_tags(archive: Archive) -> None:
    if archive.connection.execute("SELECT 1 FROM question_tags LIMIT 1").fetchone() is None:
        raise ArchiveError(f"{archive.path}: no question has a tag, so there is none to suggest")


def _suggested(view: View, ranker: Ranker, asked: Mapping[str, Question], k: int) -> dict[str, list[Tag]]:
    found: dict[str, list[Tag]] = {}
    for ids in chunks(asked, BATCH):
        run = ranker.rank({id: asked[id] for id in ids}, NEIGHBOURS)
        texts = view.get({hit for id in ids for hit in run.columns(id)[0]})
        found |= {id: _voted(run[id], texts)[:k] for id in ids}
    return found


def _voted(hits: Sequence[Hit], texts: Mapping[str, Question]) -> list[Tag]:
    """All tags of the hits, the one with the greatest say first, ties by name."""
    best = max((hit.score for hit in hits), default=0.0)
    says: dict[str, float] = defaultdict(float)
    total = 0.0
    for hit in hits:
        weight = max(hit.score / best, 0.0) ** SHARPNESS if best > 0 else 0.0
        total += weight
        for tag in texts[hit.id].tags if hit.id in texts else ():
            says[tag] += weight
    return sorted((Tag(tag, say / total) for tag, say in says.items() if say), key=lambda t: (-t.share, t.name))


def _shares(asked: Mapping[str, Question], suggested: Mapping[str, Sequence[str]]) -> tuple[Share, Share]:
    first = sum(bool(suggested[id]) and suggested[id][0] in q.tags for id, q in asked.items())
    found = sum(len(set(q.tags) & set(suggested[id][:K])) for id, q in asked.items())
    return Share(first, len(asked)), Share(found, sum(len(q.tags) for q in asked.values()))
