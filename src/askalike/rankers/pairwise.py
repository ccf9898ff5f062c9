"""Ranks with a model that reads query and document together: given candidates, or another ranker's (cascade)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import Docids, Scores
from askalike.core.errors import SettingsError
from askalike.core.filters import AllowedDocs
from askalike.core.model_folders import LearnedLabels
from askalike.core.records import Answer, Question
from askalike.rankers._occlusion import explain_by_occlusion
from askalike.rankers._queries_and_results import Explanations, ResolvedQuery, Retrieved, Texts
from askalike.rankers._ranker import Ranker, candidates_needed
from askalike.rankers._searcher import Searcher
from askalike.store import Snapshot


class PairScorer(Protocol):
    """A model of pairs, whose scores cannot be computed from separate vectors."""

    @property
    def values(self) -> Mapping[str, Any]:
        """The settings that can be chosen when it is used, including defaults."""

    def score(self, query: Question, documents: Sequence[Question | Answer]) -> NDArray[np.float32]:
        """Return the score of each document for the query, (documents,)."""


class PairwiseRanker(Ranker):
    """Ranking with a pair scorer. It has no index: texts are read from the archive."""

    def __init__(self, scorer: PairScorer, name: str = "pairwise") -> None:
        self.name = name
        self.scorer = scorer

    @classmethod
    def from_settings(cls, name: str, values: Mapping[str, Any], archive: Path | None = None) -> NoReturn:
        """Raises SettingsError: a scorer is a trained model, and is created by the model's name."""
        raise SettingsError(f"{name}: expected the name of a trained model; see: askalike models")

    @property
    def values(self) -> Mapping[str, Any]:
        return self.scorer.values

    @property
    def fingerprint(self) -> str:
        return str(getattr(self.scorer, "fingerprint", ""))

    @property
    def trained_until(self) -> str | None:
        return getattr(self.scorer, "trained_until", None)

    @property
    def needs_candidates(self) -> bool:
        return True

    @property
    def learned_labels(self) -> LearnedLabels:
        return getattr(self.scorer, "learned_labels", LearnedLabels())

    def open(self, view: Snapshot) -> "PairwiseSearcher":
        return PairwiseSearcher(self.name, view, self.scorer)


class PairwiseSearcher(Searcher):
    """See PairwiseRanker."""

    def __init__(self, name: str, view: Snapshot, scorer: PairScorer) -> None:
        super().__init__(name, view)
        self.scorer = scorer

    def retrieve(self, queries: Sequence[ResolvedQuery], k: int, allowed: AllowedDocs | None = None) -> Retrieved:
        """Raises SettingsError: every document would have to be scored."""
        raise candidates_needed(self.name)

    def score(
        self, queries: Sequence[ResolvedQuery], docids: Sequence[Docids], known: Retrieved | None = None
    ) -> Retrieved:
        """See Searcher.score; NaN for a document that has been deleted, 0 for all if the query is empty."""
        scores = [self._score_query(one.query, own) for one, own in zip(queries, docids, strict=True)]
        return Retrieved(queries, docids, scores, scores)

    def explain(
        self, retrieved: Retrieved, docids: Sequence[Docids], texts: Texts, *, exact: bool = False
    ) -> list[Explanations]:
        pairs = zip(retrieved.queries, docids, strict=True)
        return [self._explain_query(one.query, own, texts) if len(own) else {} for one, own in pairs]

    def _score_query(self, query: Question, docids: Docids) -> Scores:
        scores = np.full(len(docids), np.nan)
        texts = self._texts(docids)
        if present := [place for place, docid in enumerate(docids.tolist()) if docid in texts]:
            documents = [texts[docid] for docid in docids[present].tolist()]
            is_empty = not f"{query.title}{query.body}".strip()
            scores[present] = 0.0 if is_empty else self.scorer.score(query, documents)
        return scores

    def _explain_query(self, query: Question, docids: Docids, texts: Texts) -> Explanations:
        by_id = sorted(docids.tolist(), key=lambda docid: texts[docid].id)  # a batch's order affects scores' last bits
        documents = {docid: texts[docid] for docid in by_id}
        scores = self.scorer.score(query, list(documents.values()))

        def score_all(queries: Sequence[Question], others: Sequence[Question]) -> Scores:
            return np.array([self.scorer.score(one, others) for one in queries], np.float64)

        hit_scores = dict(zip(documents, scores.tolist(), strict=True))
        return explain_by_occlusion(score_all, self.name, query, documents, hit_scores)

    def _texts(self, docids: Docids) -> Mapping[int, Question | Answer]:
        if self.view.kind == "questions":
            return self.view.questions_by_docid(docids)
        ids = self.view.ids(docids)
        answers = self.view.get_answers(ids.values())
        return {docid: answers[id] for docid, id in ids.items() if id in answers}
