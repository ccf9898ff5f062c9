"""Ranks answers by their questions: first the answers to the question that is most similar to the query."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from pydantic import Field

from askalike import rankers
from askalike.core.arrays import Docids, Scores
from askalike.core.config import Settings, validate_settings
from askalike.core.errors import SettingsError
from askalike.core.filters import AllowedDocs
from askalike.core.iteration import Progress
from askalike.core.model_folders import LearnedLabels
from askalike.index.engine import ArchiveIndex
from askalike.rankers._queries_and_results import Explanations, ResolvedQuery, Retrieved, Texts, exclude_own
from askalike.rankers._ranker import Ranker
from askalike.rankers._searcher import DEPTH_FACTOR, Searcher
from askalike.store import Snapshot, TrainingView, View
from askalike.store.contents import docids_of_answers, docids_of_questions


class ByQuestionSettings(Settings):
    """The ranker of the questions."""

    ranker: str = Field(
        "lm_jelinek_mercer", description="the ranker of the questions; all other settings are passed to it"
    )


class ByQuestionRanker(Ranker):
    """An answer has its question's score; answers to the same question are in archive order."""

    def __init__(self, inner: Ranker, settings: ByQuestionSettings, name: str = "by_question") -> None:
        self.name, self.inner, self.settings = name, inner, settings

    @classmethod
    def from_settings(cls, name: str, values: Mapping[str, Any], archive: Path | None = None) -> Self:
        """See Ranker.from_settings; settings that are not its own are passed to the inner ranker."""
        own = {key: value for key, value in values.items() if key in ByQuestionSettings.model_fields}
        settings = validate_settings(ByQuestionSettings, own, name)
        rest = {key: value for key, value in values.items() if key not in own}
        return cls(rankers.create(settings.ranker, rest, archive), settings, name)

    @property
    def values(self) -> Mapping[str, Any]:
        return {**self.inner.values, **self.settings.model_dump()}

    @property
    def fingerprint(self) -> str:
        return self.inner.fingerprint

    @property
    def trained_until(self) -> str | None:
        return self.inner.trained_until

    @property
    def learned_labels(self) -> LearnedLabels:
        return self.inner.learned_labels

    def fit(self, view: TrainingView) -> Self:
        return type(self)(self.inner.fit(view), self.settings, self.name)

    def build(self, view: Snapshot, progress: Progress | None = None) -> None:
        """Build the index of the questions. Raises SettingsError for a view of questions."""
        self.inner.build(_questions_of(self._require_answers(view)), progress)

    def open(self, view: Snapshot) -> "ByQuestionSearcher":
        answers = self._require_answers(view)
        return ByQuestionSearcher(self.name, answers, self.inner.open(_questions_of(answers)))

    def index_paths(self, view: Snapshot) -> Sequence[Path]:
        return self.inner.index_paths(_questions_of(view))

    def start_rebuild(self, view: Snapshot) -> None:
        self.inner.start_rebuild(_questions_of(view))

    def indexes(self, view: Snapshot, *, refresh: bool = True) -> Sequence[ArchiveIndex[Any, Any]]:
        return self.inner.indexes(_questions_of(view), refresh=refresh)

    def _require_answers(self, view: Snapshot) -> View:
        if view.kind != "answers" or not isinstance(view, View):
            raise SettingsError(f"{self.name}: ranks answers; to rank questions, use {self.inner.name}")
        return view


def _questions_of(view: Snapshot) -> Snapshot:
    return replace(view, kind="questions") if isinstance(view, View) else view


class ByQuestionSearcher(Searcher):
    """See ByQuestionRanker."""

    def __init__(self, name: str, view: View, inner: Searcher) -> None:
        super().__init__(name, view)
        self.inner, self._answers = inner, view
        self.correctors = inner.correctors
        self.detects_language, self.bridges_languages = inner.detects_language, inner.bridges_languages

    def retrieve(self, queries: Sequence[ResolvedQuery], k: int, allowed: AllowedDocs | None = None) -> Retrieved:
        """See Searcher.retrieve; a question does not find its own answers."""
        depth = k
        queries = exclude_own(self.inner.view, queries)
        while True:
            questions = self.inner.retrieve(queries, depth)
            answers = docids_of_answers(self._answers, questions.distinct_docids)
            rows = zip(questions.docids, questions.scores, strict=True)
            found = [_answers(docids, scores, answers, k, allowed) for docids, scores in rows]
            pairs = zip(found, questions.docids, strict=True)
            if not any(len(few) < k and len(docids) == depth for (few, _), docids in pairs):
                docids, scores = [row[0] for row in found], [row[1] for row in found]
                return Retrieved(queries, docids, scores, scores, vectors=questions.vectors)
            depth *= DEPTH_FACTOR

    def score(
        self, queries: Sequence[ResolvedQuery], docids: Sequence[Docids], known: Retrieved | None = None
    ) -> Retrieved:
        questions = docids_of_questions(self._answers, {int(docid) for own in docids for docid in own})
        rows = [np.array([questions.get(int(n), -1) for n in own], np.int64) for own in docids]
        scored = self.inner.score(exclude_own(self.inner.view, queries), rows)
        return Retrieved(queries, docids, scored.scores, scored.scores, vectors=scored.vectors)

    def explain(
        self, retrieved: Retrieved, docids: Sequence[Docids], texts: Texts, *, exact: bool = False
    ) -> list[Explanations]:
        return [{} for _ in docids]  # shared words of the questions do not explain the answers


def _answers(
    questions: Docids, scores: Scores, answers: Mapping[int, Sequence[int]], k: int, allowed: AllowedDocs | None
) -> tuple[Docids, Scores]:
    """Return the answers to the retrieved questions, in the questions' order, with the questions' scores."""
    lists = [answers.get(docid, ()) for docid in questions.tolist()]
    docids = np.array([answer for ids in lists for answer in ids], np.int64)
    scores = np.repeat(scores, np.array([len(ids) for ids in lists], np.int64))
    wanted = slice(None) if allowed is None else np.isin(docids, allowed.docids)
    return docids[wanted][:k], scores[wanted][:k]
