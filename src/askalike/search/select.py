"""Selects the questions to show: originals instead of their duplicates, and only what is similar or probable enough."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from askalike.calibration.abstention import is_keyword_query, is_stopwords_only
from askalike.calibration.calibration import Calibrator
from askalike.core.arrays import Floats
from askalike.core.filters import Filter
from askalike.core.records import Question
from askalike.rankers import ResolvedQuery, Retrieved
from askalike.store import View
from askalike.store.records import find_originals
from askalike.text.words import fold_title

ANSWERED_FIRST = 0.05
"""An open, answered question stands before a closed or unanswered one whose score is higher by at most this share.

The figures are in docs/operator.md, "Answered questions first".
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits on what is shown for some queries with equal options.

    k: maximum number of questions. filter: the condition that each satisfies, if there is one. calibrator: estimates
    probabilities; None without a calibration. min_probability: the minimum, with a calibrator. min_similarities: the
    minimum absolute score for each query, 0 for any. min_similarity_requested, minimum_requested: whether a request
    asked for a minimum absolute score, or for any minimum. answered_first: a closed or unanswered question stands
    behind an open, answered one whose score is lower by at most this share, unless its title was typed; scores stay as
    they are.
    """

    k: int
    filter: Filter | None
    calibrator: Calibrator | None
    min_probability: float
    min_similarities: Sequence[float]
    min_similarity_requested: bool
    minimum_requested: bool
    answered_first: float = ANSWERED_FIRST


class Selected(NamedTuple):
    """A question that may be shown, and the retrieved question that matched: itself or a duplicate of it.

    docid, score: of the question that matched. certainty: the probability, or the absolute score without a calibration.
    duplicate_of: the id of its original, if that is not in the archive. is_shown: whether it is certain enough.
    """

    question: Question
    matched: Question
    docid: int
    score: float
    certainty: float
    duplicate_of: str | None
    is_shown: bool


class _Originals(NamedTuple):
    """The originals to show instead of duplicates, and the ids of originals that are not in the archive."""

    by_duplicate: Mapping[str, Question]
    absent: Mapping[str, str]


def select_candidates(view: View, language: str | None, retrieved: Retrieved, limits: Limits) -> list[list[Selected]]:
    """Return the first k distinct questions of each query: originals instead of their duplicates, not the query.

    language: of the whole archive, None if it has several. retrieved: with absolute scores if the limits need them.
    """
    docids = retrieved.distinct_docids
    texts = view.questions_by_docid(docids)
    if len(texts) < len(docids):  # some were deleted since
        present = [np.array([docid in texts for docid in own.tolist()], np.bool_) for own in retrieved.docids]
        retrieved = retrieved.select(present)
    ids = {question.id: question for question in texts.values()}
    found = find_originals(view, ids)
    absent = set(found.in_archive.values()) - ids.keys()
    known = ids | (view.get_questions(absent) if absent else {})
    originals = _Originals({id: known[end] for id, end in found.in_archive.items() if end in known}, found.absent)
    return [_select(retrieved, row, texts, originals, limits, language) for row in range(len(retrieved.queries))]


def lack_hits(rows: Sequence[Sequence[Selected]], retrieved: Retrieved, k: int, depth: int) -> bool:
    """Return whether a deeper search could give more hits, since duplicates or filtered questions were dropped.

    It could not for a query of which everything was retrieved, or whose last question is already not shown.
    """
    return any(
        len(candidates) < k and len(docids) >= depth and all(last.is_shown for last in candidates[-1:])
        for candidates, docids in zip(rows, retrieved.docids, strict=True)
    )


def _select(
    retrieved: Retrieved, row: int, texts: Mapping[int, Question], originals: _Originals, limits: Limits,
    language: str | None,
) -> list[Selected]:  # fmt: skip
    resolved = retrieved.queries[row]
    docids, scores = retrieved.docids[row].tolist(), retrieved.scores[row]
    found = [texts[docid] for docid in docids]
    order = _order(found, scores, resolved.query, originals, limits.answered_first)
    shown = _collapse(found, order, resolved.query.id, originals, limits)
    places = list(shown.values())
    matched = [found[place] for place in places]
    absolute = None if retrieved.absolute is None else retrieved.absolute[row][places]
    if limits.calibrator is None:
        certain = absolute if absolute is not None else np.zeros(len(places))
    else:
        similarities = None if retrieved.similarities is None else retrieved.similarities[row]
        until = max(places, default=-1) + 1
        certain = limits.calibrator.estimate(resolved.query, scores, found[:until], similarities)[places]
    is_shown = _are_shown(resolved, row, matched, absolute, certain, limits, language)
    questions = [originals.by_duplicate.get(question.id, question) for question in matched]
    return [
        Selected(q, m, docids[place], float(scores[place]), value, originals.absent.get(q.id), is_one_shown)
        for q, m, place, value, is_one_shown in zip(questions, matched, places, certain.tolist(), is_shown, strict=True)
    ]


def _order(
    questions: Sequence[Question], scores: Floats, query: Question, originals: _Originals, answered_first: float
) -> Sequence[int]:
    """Return the positions of the retrieved questions in the order in which they are shown: see `Limits`."""
    typed, stays = fold_title(query.title), np.empty(len(questions), np.bool_)
    for place, question in enumerate(questions):
        states = originals.by_duplicate.get(question.id, question).states
        stays[place] = ("answered" in states and "closed" not in states and "outdated" not in states) or (
            typed and typed in map(fold_title, (question.title, *question.rephrasings))
        )
    keys = np.where(stays | (scores <= 0), scores, scores * (1 - answered_first))
    order: list[int] = np.argsort(-keys, kind="stable").tolist()
    return order


def _collapse(
    questions: Sequence[Question], order: Sequence[int], query_id: str, originals: _Originals, limits: Limits
) -> dict[str, int]:
    """Return the id of each question to show, and the position of the first retrieved one that it is shown for."""
    places: dict[str, int] = {}
    for place in order:
        question = questions[place]
        original = originals.by_duplicate.get(question.id, question)
        is_allowed = original is question or not limits.filter or limits.filter.allows(
            original.tags, original.created_at, original.states
        )  # fmt: skip
        if not is_allowed:
            continue
        if len(places) < limits.k and original.id != query_id:
            places.setdefault(original.id, place)
    return places


def _are_shown(
    resolved: ResolvedQuery, row: int, matched: Sequence[Question], absolute: Floats | None, certain: Floats,
    limits: Limits, language: str | None,
) -> list[bool]:  # fmt: skip
    """Return whether each candidate is similar enough, and probable enough if there is a calibrator.

    A single word that a title contains is a keyword, which needs no minimum. A query of function words shows nothing.
    """
    query, min_score = resolved.query, limits.min_similarities[row]
    if not limits.minimum_requested and is_stopwords_only(f"{query.title} {query.body}", language):
        return [False] * len(matched)
    similar = [True] * len(matched) if absolute is None or not min_score else (absolute >= min_score).tolist()
    may_be_keyword = len(query.title.split()) == 1 and not query.body and not resolved.corrections
    if may_be_keyword and not limits.min_similarity_requested:
        similar = [
            is_similar or is_keyword_query(query.title, hit.title, hit.language or language)
            for is_similar, hit in zip(similar, matched, strict=True)
        ]
    if limits.calibrator is None:
        return similar
    return [is_similar and p >= limits.min_probability for is_similar, p in zip(similar, certain.tolist(), strict=True)]
