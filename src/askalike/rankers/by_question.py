"""Ranks answers by their questions: first the answers to the question that is most similar to the query."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from pydantic import Field

from askalike import rankers
from askalike.core.config import Settings, validate_settings
from askalike.core.errors import SettingsError
from askalike.core.types import AllowedDocs, Progress, TopDocs, Vectors
from askalike.index.engine import ArchiveIndex
from askalike.index.rows import find_distinct
from askalike.labels.learned import LearnedLabels
from askalike.rankers._queries import ResolvedQuery
from askalike.rankers._ranker import DEPTH_FACTOR, Docids, Explanations, Ranker, Scores, Searcher, Texts
from askalike.store import TrainingView, View


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

    def build(self, view: View, progress: Progress | None = None) -> None:
        """Build the index of the questions. Raises SettingsError for a view of questions."""
        self.inner.build(self._questions(view), progress)

    def open(self, view: View) -> "ByQuestionSearcher":
        return ByQuestionSearcher(self.name, view, self.inner.open(self._questions(view)))

    def index_paths(self, view: View) -> Sequence[Path]:
        return self.inner.index_paths(replace(view, kind="questions"))

    def start_rebuild(self, view: View) -> None:
        self.inner.start_rebuild(replace(view, kind="questions"))

    def indexes(self, view: View, *, refresh: bool = True) -> Sequence[ArchiveIndex[Any, Any]]:
        return self.inner.indexes(replace(view, kind="questions"), refresh=refresh)

    def _questions(self, view: View) -> View:
        if view.kind != "answers":
            raise SettingsError(f"{self.name}: ranks answers; to rank questions, use {self.inner.name}")
        return replace(view, kind="questions")


class ByQuestionSearcher(Searcher):
    """See ByQuestionRanker."""

    def __init__(self, name: str, view: View, inner: Searcher) -> None:
        super().__init__(name, view)
        self.inner = inner

    def correct(self, queries: list[ResolvedQuery], prefix: bool) -> list[ResolvedQuery]:
        return self.inner.correct(queries, prefix)

    def prepare(self, queries: Sequence[ResolvedQuery], prefix: bool) -> Any:
        """Return the queries prepared by the inner ranker; a question does not find its own answers."""
        own = rankers.resolve_queries(self.inner.view, {str(n): one.query for n, one in enumerate(queries)})
        return self.inner.prepare(own, prefix)

    def query_vectors(self, prepared: Any) -> Vectors | None:
        return self.inner.query_vectors(prepared)

    def retrieve(self, prepared: Any, k: int, allowed: AllowedDocs | None) -> list[TopDocs]:
        depth = k
        while True:
            questions = self.inner.retrieve(prepared, depth, None)
            docids = find_distinct(np.concatenate([top.docids for top in questions])) if questions else ()
            answers = self.view.docids_of_answers(docids)
            found = [_answers(top, answers, k, allowed) for top in questions]
            pairs = zip(found, questions, strict=True)
            if not any(len(few.docids) < k and len(top.docids) == depth for few, top in pairs):
                return found
            depth *= DEPTH_FACTOR

    def score(self, prepared: Any, candidates: Sequence[Docids]) -> list[Scores]:
        questions = self.view.docids_of_questions({int(docid) for docids in candidates for docid in docids})
        rows = [np.array([questions.get(int(n), -1) for n in docids], np.int64) for docids in candidates]
        return self.inner.score(prepared, rows)

    def explain(self, prepared: Any, row: int, docids: Docids, texts: Texts) -> Explanations:
        return {}  # shared words of the questions do not explain the answers


def _answers(top: TopDocs, answers: Mapping[int, Sequence[int]], k: int, allowed: AllowedDocs | None) -> TopDocs:
    """Return the answers to the retrieved questions, in the questions' order."""
    lists = [answers.get(docid, ()) for docid in top.docids.tolist()]
    docids = np.array([answer for ids in lists for answer in ids], np.int64)
    scores = np.repeat(top.scores, np.array([len(ids) for ids in lists], np.int64))
    wanted = slice(None) if allowed is None else np.isin(docids, allowed.docids)
    return TopDocs(docids[wanted][:k], scores[wanted][:k])
