"""The archived duplicates most similar to a pair: earlier decisions of people on such pairs."""

from collections.abc import Mapping
from dataclasses import dataclass

from askalike import rankers
from askalike.core.records import Question
from askalike.rankers import Searcher
from askalike.store import View
from askalike.store.contents import duplicate_links_at
from askalike.text.analyzer import content_analyzer
from askalike.text.clean import plain_text

SEARCHED_HITS = 20
"""Number of the query's hits whose duplicate links are considered."""
MIN_SCORE = 1.75
"""Minimum similarity of both ends together (at most 2): pairs below it only share a subject."""


@dataclass(frozen=True, slots=True)
class Precedent:
    """A duplicate and its original. score: their similarity to the given pair by the ranker, from 0 to 2."""

    duplicate: Question
    original: Question
    score: float


def find_precedents(view: View, searcher: Searcher, query: Question, hit: Question, k: int = 2) -> list[Precedent]:
    """Return the k duplicate links most similar to the pair (query, hit); none if no link is similar enough.

    Candidates are the links of the hit and of the query's top hits, except one between query and hit. Each end must be
    about as similar to the query, or to the hit, as anything in the archive, and share a word with it.
    """
    near = [hit.id, *(h.id for h in rankers.rank(searcher, {query.id: query}, SEARCHED_HITS)[query.id])]
    links = [link for link in duplicate_links_at(view, near) if set(link) != {query.id, hit.id}]
    texts = view.get_questions({id for link in links for id in link})
    to_query, to_hit = (_relative_scores(searcher, question, texts) for question in (query, hit))
    precedents = []
    for a, b in links:
        if a in texts and b in texts:
            score = max(to_query.get(x, 0.0) + to_hit.get(y, 0.0) for x, y in ((a, b), (b, a)))
            precedents += [Precedent(texts[a], texts[b], score)] if score >= MIN_SCORE else []
    return sorted(precedents, key=lambda p: (-p.score, p.duplicate.id, p.original.id))[:k]


def _relative_scores(searcher: Searcher, query: Question, texts: Mapping[str, Question]) -> Mapping[str, float]:
    """Return id → the score of each text that shares a word with the query, divided by the archive's best score.

    It is 1 for the query itself.
    """
    related = [id for id, text in texts.items() if _share_word(query, text, text.language or searcher.view.language)]
    first = rankers.rank(searcher, {query.id: query}, 1)[query.id]
    hits = rankers.rank(searcher, {query.id: query}, len(texts), candidates={query.id: related})[query.id]
    best = max((h.score for h in (*first, *hits)), default=0.0)
    return {h.id: h.score / best if best > 0 else 0.0 for h in hits} | ({query.id: 1.0} if query.id in texts else {})


def _share_word(a: Question, b: Question, language: str | None) -> bool:
    """Return whether two titles share a word that is not a function word, by the rules of a language."""
    words, others = (set(content_analyzer().analyze(plain_text(q.title, "text"), language)) for q in (a, b))
    return bool(words & others)
