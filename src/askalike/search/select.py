"""Selects the questions to show: originals instead of their duplicates, and only what is similar or probable enough."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from askalike.calibration.abstention import GradeLimits, is_keyword, is_stopwords_only, is_titled
from askalike.calibration.calibration import Calibrator
from askalike.core.arrays import Floats
from askalike.core.filters import Filter
from askalike.core.hits import Grade
from askalike.core.records import Question
from askalike.rankers import ResolvedQuery, Retrieved
from askalike.store import View
from askalike.store.records import find_originals

ANSWERED_FIRST = 0.05
"""An open, answered question stands before a closed or unanswered one whose score is higher by at most this share.

The figures are in docs/operator.md, "Answered questions first".
"""


@dataclass(frozen=True, slots=True)
class Criteria:
    """What is shown for some queries with equal options.

    k: maximum number of questions. filter: the condition that each satisfies, if there is one. limits: those of each
    query's grades. calibrator: estimates probabilities; None without a calibration. likely_from: the probability from
    which a hit asks the same; None if its score decides. threshold: the calibrated one, from which a hit is related; 0
    without one. min_similarity, min_probability: the minimum that a request asked for instead of grades, or None.
    answered_first: a closed or unanswered question stands behind an open, answered one whose score is lower by at most
    this share, unless its title was typed; scores stay as they are.
    """

    k: int
    filter: Filter | None
    limits: Sequence[GradeLimits]
    calibrator: Calibrator | None
    likely_from: float | None
    threshold: float
    min_similarity: float | None
    min_probability: float | None
    answered_first: float = ANSWERED_FIRST


class Selected(NamedTuple):
    """A question that may be shown, and the retrieved question that matched: itself or a duplicate of it.

    language: the question's, if the query is in another. docid, score: of the question that matched. absolute: its
    absolute score. probability: None without a calibration. duplicate_of: the id of its original, if that is not in the
    archive. grade: see `SearchHit`. is_shown: whether the request's minimum or the grade allows it.
    """

    question: Question
    matched: Question
    language: str | None
    docid: int
    score: float
    absolute: float
    probability: float | None
    duplicate_of: str | None
    grade: Grade | None
    is_shown: bool


class _Originals(NamedTuple):
    """The originals to show instead of duplicates, and the ids of originals that are not in the archive."""

    by_duplicate: Mapping[str, Question]
    absent: Mapping[str, str]


def select_candidates(
    view: View, language: str | None, retrieved: Retrieved, criteria: Criteria
) -> list[list[Selected]]:
    """Return the first k distinct questions of each query: originals instead of their duplicates, not the query.

    language: of the whole archive, None if it has several. retrieved: with absolute scores.
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
    return [_select(retrieved, row, texts, originals, criteria, language) for row in range(len(retrieved.queries))]


def lack_hits(rows: Sequence[Sequence[Selected]], retrieved: Retrieved, k: int, depth: int) -> bool:
    """Return whether a deeper search could give more hits, since duplicates or filtered questions were dropped.

    It could not for a query of which everything was retrieved, or whose last question is already not shown.
    """
    return any(
        len(candidates) < k and len(docids) >= depth and all(last.is_shown for last in candidates[-1:])
        for candidates, docids in zip(rows, retrieved.docids, strict=True)
    )


def _select(
    retrieved: Retrieved, row: int, texts: Mapping[int, Question], originals: _Originals, criteria: Criteria,
    language: str | None,
) -> list[Selected]:  # fmt: skip
    resolved = retrieved.queries[row]
    docids = retrieved.docids[row].tolist()
    scores = retrieved.scores[row]
    found = [texts[docid] for docid in docids]
    order = _order(found, scores, resolved, originals, criteria.answered_first)
    shown = _collapse(found, order, resolved.query.id, originals, criteria)
    places = list(shown.values())
    matched = [found[place] for place in places]
    similarities = (retrieved.absolute or ())[row]
    first, absolute = float(similarities[:1].sum()), similarities[places]
    probabilities: list[float | None] = [None] * len(places)
    if criteria.calibrator and not resolved.is_foreign:  # it knows no scores between languages
        until = max(places, default=-1) + 1
        estimated = criteria.calibrator.estimate(resolved.query, scores, found[:until])
        probabilities = estimated[places].tolist()
    selected = []
    grader = _Grader(resolved, criteria, criteria.limits[row], language, first)
    for question, place, similarity, probability in zip(matched, places, absolute.tolist(), probabilities, strict=True):
        grade = grader.grade(question, similarity, probability)
        if grade == "same" and probability is not None:
            probability = max(probability, criteria.likely_from or 0.0)  # the words say more than the curve knows
        own = question.language or language
        selected.append(Selected(
            originals.by_duplicate.get(question.id, question), question,
            own if resolved.language and own != resolved.language else None, docids[place], float(scores[place]),
            similarity, probability, originals.absent.get(question.id), grade,
            _is_shown(grade, similarity, probability, criteria),
        ))  # fmt: skip
    return sorted(selected, key=lambda one: one.grade != "same")


def _order(
    questions: Sequence[Question], scores: Floats, query: ResolvedQuery, originals: _Originals, answered_first: float
) -> Sequence[int]:
    """Return the positions of the retrieved questions in the order in which they are shown: see `Criteria`."""
    stays = np.empty(len(questions), np.bool_)
    for place, question in enumerate(questions):
        stays[place] = originals.by_duplicate.get(question.id, question).is_settled or is_titled(question, query)
    keys = np.where(stays | (scores <= 0), scores, scores * (1 - answered_first))
    order: list[int] = np.argsort(-keys, kind="stable").tolist()
    return order


def _collapse(
    questions: Sequence[Question], order: Sequence[int], query_id: str, originals: _Originals, criteria: Criteria
) -> dict[str, int]:
    """Return the id of each question to show, and the position of the first retrieved one that it is shown for."""
    places: dict[str, int] = {}
    for place in order:
        question = questions[place]
        original = originals.by_duplicate.get(question.id, question)
        is_allowed = original is question or not criteria.filter or criteria.filter.allows(
            original.tags, original.created_at, original.states
        )  # fmt: skip
        if not is_allowed:
            continue
        if len(places) < criteria.k and original.id != query_id:
            places.setdefault(original.id, place)
    return places


class _Grader:
    """Grades the questions that were retrieved for one query.

    One with exactly the typed title asks the same, whatever its score, and so does a similar one that differs in
    function words alone, however improbable, unless a threshold was chosen. A single word asks nothing, and a keyword
    of a title is related to it. Nothing is related to a query of function words, or below the limit, however probable.
    """

    def __init__(
        self, resolved: ResolvedQuery, criteria: Criteria, limits: GradeLimits, language: str | None, first: float
    ) -> None:
        """first: the absolute score of the first retrieved question."""
        query = resolved.query
        self._related = limits.listed if first >= limits.related else limits.related
        self._criteria, self._limits, self._language = criteria, limits, language
        self._resolved, self._title = resolved, query.title
        finished = resolved.finished or query
        self._asks_nothing = is_stopwords_only(f"{finished.title} {query.body}", resolved.language)
        self._is_word = not query.body and len(query.title.split()) == 1
        self._may_be_keyword = not resolved.corrections

    def grade(self, question: Question, similarity: float, probability: float | None) -> Grade | None:
        """Return the grade of a question. similarity: its absolute score. probability: None without a calibration."""
        if self._asks_nothing:
            return None
        if not self._resolved.query.body and is_titled(question, self._resolved):
            return "same"
        is_related = similarity >= self._related
        if self._is_word:
            return "related" if is_related or self._is_keyword_of(question) else None
        is_same = similarity >= self._limits.same
        if probability is not None:
            likely_from, threshold = self._criteria.likely_from, self._criteria.threshold
            if likely_from is not None and not (is_same and self._says_the_same(question)):
                is_same = is_related and probability >= likely_from
            is_related = is_related and probability >= (threshold or 0)
        return "same" if is_same else "related" if is_related else None

    def _says_the_same(self, question: Question) -> bool:
        """Return whether a title says the same as the typed one, and no threshold was chosen."""
        calibrator, language = self._criteria.calibrator, self._resolved.language
        if calibrator is None or self._criteria.threshold or self._resolved.query.body:
            return False
        return calibrator.differences.differ_in_function_words(self._title, question.title, language)

    def _is_keyword_of(self, question: Question) -> bool:
        language = question.language or self._language
        return self._may_be_keyword and is_keyword(self._title, question.title, language)


def _is_shown(grade: Grade | None, similarity: float, probability: float | None, criteria: Criteria) -> bool:
    """Return whether a question is shown: by the minimum that was asked for, else by its grade."""
    if criteria.min_similarity is not None:
        return similarity >= criteria.min_similarity
    if criteria.min_probability is not None and probability is not None:
        return probability >= criteria.min_probability
    return grade is not None
