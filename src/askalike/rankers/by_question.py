"""Ranks answers by their questions: first the answers to the question that is most like the query."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from pydantic import Field

from askalike import config
from askalike.errors import SettingsError
from askalike.rankers._numbered import DocidRanker, Docids, ResolvedQuery, Scores, resolve_queries
from askalike.store.view import View
from askalike.types import Explanation, Progress, TopDocs


class ByQuestionSettings(config.Settings):
    """Who ranks the questions."""

    ranker: str = Field("lm_jelinek_mercer", description="who ranks the questions; further settings are its own")


class ByQuestionRanker(DocidRanker):
    """An answer scores as its question does; those of one question come in the archive's order of answers."""

    def __init__(self, inner: DocidRanker, settings: ByQuestionSettings, name: str = "by_question") -> None:
        self.name = name
        self.inner = inner
        self.settings = settings

    @classmethod
    def from_settings(cls, name: str, values: Mapping[str, Any], archive: Path | None = None) -> Self:
        """With these settings; those that are not its own are the inner ranker's."""
        from askalike.rankers import create

        own = {key: value for key, value in values.items() if key in ByQuestionSettings.model_fields}
        settings = config.validate_settings(ByQuestionSettings, own, name)
        rest = {key: value for key, value in values.items() if key not in own}
        inner = create(settings.ranker, rest, archive)
        if not isinstance(inner, DocidRanker):
            raise SettingsError(f"{name}: {settings.ranker} cannot rank for another ranker")
        return cls(inner, settings, name)

    @property
    def values(self) -> Mapping[str, Any]:
        """See Ranker.values; all but `ranker` are the inner one's."""
        return {**self.inner.values, **self.settings.model_dump()}

    def fit(self, view: View) -> Self:
        """Lets the inner ranker learn."""
        self.inner.fit(view)
        return self

    def build(self, view: View, progress: Progress | None = None) -> Self:
        """Indexes the questions. Raises SettingsError for a view of questions: those have rankers enough."""
        if view.kind != "answers":
            raise SettingsError(f"{self.name}: ranks answers; to rank questions, use {self.inner.name}")
        self._view = view
        self.inner.build(replace(view, kind="questions"), progress)
        return self

    def index_paths(self, view: View) -> Sequence[Path]:
        """Those of the inner ranker's index of the questions."""
        return self.inner.index_paths(replace(view, kind="questions"))

    def prepare(self, view: View, queries: Sequence[ResolvedQuery], prefix: bool) -> Any:
        """The queries as the inner ranker knows them; none finds the answers of the question that it is itself."""
        questions = replace(view, kind="questions")
        own = resolve_queries(questions, {one.query.id: one.query for one in queries})
        return self.inner.prepare(questions, list(own.values()), prefix)

    def retrieve(self, prepared: Any, k: int, allowed: Docids | None) -> list[TopDocs]:
        """See Numbered.find."""
        view = self._require_view()
        found = self.inner.retrieve(prepared, k, None)
        answers = view.docids_of_answers(np.unique(np.concatenate([f.docids for f in found])) if found else ())
        return [_expand_to_answers(one, answers, k, allowed) for one in found]

    def score(self, prepared: Any, candidates: Sequence[Docids]) -> list[Scores]:
        """See Numbered.score."""
        questions = self._require_view().docids_of_questions({int(n) for numbers in candidates for n in numbers})
        rows = [np.array([questions.get(int(n), -1) for n in numbers], np.int64) for numbers in candidates]
        return self.inner.score(prepared, rows)

    def explain_resolved(
        self, view: View, resolved: ResolvedQuery, ids: Sequence[str], prefix: bool = False
    ) -> Mapping[str, Explanation]:
        """None: what the questions have in common says little about their answers."""
        return {}


def _expand_to_answers(
    top_docs: TopDocs, answers: Mapping[int, Sequence[int]], k: int, allowed: Docids | None
) -> TopDocs:
    """The answers of the questions found, in their order."""
    rows = [
        (a, score)
        for n, score in zip(top_docs.docids.tolist(), top_docs.scores, strict=True)
        for a in answers.get(n, ())
    ]
    if allowed is not None:
        wanted = set(allowed.tolist())
        rows = [row for row in rows if row[0] in wanted]
    numbers, scores = zip(*rows[:k], strict=True) if rows else ((), ())
    return TopDocs(np.array(numbers, np.int64), np.array(scores, np.float64))
