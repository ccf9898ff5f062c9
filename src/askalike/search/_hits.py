"""Selects the retrieved questions to show: originals instead of their duplicates, and only above the threshold."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from askalike.calibration.abstention import is_keyword_query, is_stopwords_only
from askalike.calibration.calibrator import Calibrator
from askalike.core.filters import Filter
from askalike.core.lazy import lazy_property
from askalike.core.types import Floats, Question, SearchHit
from askalike.rankers import SearchSession
from askalike.search._display import extract_shown_snippet, name_links
from askalike.search._engine import SearchRequest
from askalike.store.filtering import find_originals


class _Candidate(NamedTuple):
    """A question that may be shown, and the rank of the retrieved question that matched: itself or a duplicate."""

    place: int
    question: Question


class HitSelection:
    """The hits of a batch of queries with equal options, from the session of their search.

    min_probability: with a calibrator. min_similarities: the minimum absolute score for each query, 0 for any.
    """

    def __init__(
        self,
        session: SearchSession,
        request: SearchRequest,
        filter: Filter,
        calibrator: Calibrator | None,
        min_probability: float,
        min_similarities: Sequence[float],
    ) -> None:
        self._session, self._request, self._filter = session, request, filter
        self._calibrator, self._min_probability, self._min_similarities = calibrator, min_probability, min_similarities
        texts = session.texts
        self._present = [
            np.array([docid in texts for docid in top.docids.tolist()], np.bool_) for top in session.topdocs
        ]
        self._retrieved = [
            [texts[docid] for docid in top.docids[present].tolist()]
            for top, present in zip(session.topdocs, self._present, strict=True)
        ]
        self._candidates = [
            self._fold(questions, resolved.query.id)
            for questions, resolved in zip(self._retrieved, session.queries, strict=True)
        ]
        self._similar = [self._are_similar(row) for row in range(len(self._retrieved))]
        self._certain = [self._certainties(row) for row in range(len(self._retrieved))]

    def lacks_hits(self, depth: int) -> bool:
        """Return whether a deeper search could give more hits, since duplicates or filtered questions were dropped."""
        k = self._request.k
        return any(
            len(candidates) < k and len(top.docids) >= depth and all(self._are_shown(row)[-1:])
            for row, (candidates, top) in enumerate(zip(self._candidates, self._session.topdocs, strict=True))
        )

    def hits(self, row: int) -> list[SearchHit]:
        """Return the hits of query number `row`, best first; none if nothing is certain enough."""
        top, request, query = self._session.topdocs[row], self._request, self._session.queries[row].query
        is_calibrated = self._calibrator is not None
        is_limited = request.min_similarity is not None or request.min_probability is not None
        if not is_limited and is_stopwords_only(f"{query.title} {query.body}", self._session.view.language):
            return []
        candidates, certain = self._candidates[row], self._certain[row].tolist()
        scores = top.scores[self._present[row]]
        docids = top.docids[self._present[row]].tolist()
        shown = [n for n, is_shown in enumerate(self._are_shown(row)) if is_shown]
        matching = [docids[candidates[n].place] for n in shown]
        reasons = self._session.explain(row, matching) if request.explain else {}
        hits = []
        for n, docid in zip(shown, matching, strict=True):
            place, question = candidates[n]
            matched = self._retrieved[row][place]
            reason = name_links(reasons[docid]) if docid in reasons else None
            hits.append(
                SearchHit(
                    question,
                    float(scores[place]),
                    extract_shown_snippet(matched, reason) if reason else "",
                    certain[n] if is_calibrated else None,
                    reason,
                    None if is_calibrated else min(max(certain[n], 0.0), 1.0),
                    matched if matched is not question else None,
                    self._originals.absent.get(question.id),
                )
            )
        return hits

    @lazy_property
    def _originals(self) -> "_ShownOriginals":
        view = self._session.view
        ids = {question.id: question for questions in self._retrieved for question in questions}
        found = find_originals(view, ids)
        absent = set(found.in_archive.values()) - ids.keys()
        originals = ids | (view.get_questions(absent) if absent else {})
        shown = {id: originals[end] for id, end in found.in_archive.items() if end in originals}
        return _ShownOriginals(shown, found.absent)

    def _fold(self, questions: Sequence[Question], query_id: str) -> list[_Candidate]:
        """Return the first k questions of different clusters, with originals for duplicates, without the query."""
        candidates: dict[str, _Candidate] = {}
        for place, question in enumerate(questions):
            original = self._originals.by_duplicate.get(question.id, question)
            if original is not question and not self._allows(original):
                continue
            if len(candidates) < self._request.k and original.id != query_id:
                candidates.setdefault(original.id, _Candidate(place, original))
        return list(candidates.values())

    def _allows(self, question: Question) -> bool:
        return self._filter.allows(question.tags, question.created_at, question.states)

    def _are_shown(self, row: int) -> Sequence[bool]:
        """Return whether each candidate is similar enough, and probable enough if there is a calibrator."""
        certain, similar = self._certain[row].tolist(), self._similar[row]
        if self._calibrator is None:
            return similar
        return [is_similar and p >= self._min_probability for p, is_similar in zip(certain, similar, strict=True)]

    def _are_similar(self, row: int) -> Sequence[bool]:
        """Return whether each candidate is similar enough, by its absolute score or by `is_keyword_query`."""
        if not (min_score := self._min_similarities[row]):
            return [True] * len(self._candidates[row])
        scores = self._absolute_scores[row].tolist()
        if self._request.min_similarity is not None or self._session.queries[row].corrections:
            return [score >= min_score for score in scores]
        query, retrieved, default = self._session.queries[row].query, self._retrieved[row], self._session.view.language
        matched = [retrieved[candidate.place] for candidate in self._candidates[row]]
        return [
            score >= min_score or (not query.body and is_keyword_query(query.title, hit.title, hit.language or default))
            for score, hit in zip(scores, matched, strict=True)
        ]

    @lazy_property
    def _absolute_scores(self) -> Sequence[Floats]:
        """The absolute score of each candidate, (candidates,) for each query."""
        rows = zip(self._session.absolute_scores, self._present, self._candidates, strict=True)
        return [scores[present][[one.place for one in candidates]] for scores, present, candidates in rows]

    def _certainties(self, row: int) -> Floats:
        """Return the probability of each candidate, or its absolute score without a calibration, (candidates,)."""
        if self._calibrator is None:
            return self._absolute_scores[row]
        present = self._present[row]
        places = [candidate.place for candidate in self._candidates[row]]
        similarities = self._session.similarities
        own = None if similarities is None else similarities[row][present]
        questions = self._retrieved[row][: places[-1] + 1 if places else 0]
        scores = self._session.topdocs[row].scores[present]
        return self._calibrator.estimate(self._session.queries[row].query, scores, questions, own)[places]


class _ShownOriginals(NamedTuple):
    """The originals to show instead of duplicates, and the ids of originals that are not in the archive."""

    by_duplicate: Mapping[str, Question]
    absent: Mapping[str, str]
