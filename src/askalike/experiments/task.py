"""What an experiment ranks for a query: an archive's questions, or its answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from askalike.errors import ArchiveError
from askalike.experiments.measuring import rank_split
from askalike.labels.splits import identical_answers, load_split
from askalike.rankers import Ranker, Searcher, open_current
from askalike.store import Archive, View
from askalike.types import Columns, DocumentKind, Progress, Run, Split


@dataclass(frozen=True, slots=True)
class RankingTask:
    """The documents of a task: questions, or answers, of which identical ones are one document.

    representatives: answer id → the id of the first identical answer; empty for questions.
    """

    archive: Archive
    kind: DocumentKind = "questions"
    representatives: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_archive(cls, archive: Archive, kind: DocumentKind) -> Self:
        """Return the task on an archive. Raises ArchiveError where answers are to be ranked and there are none."""
        if kind == "questions":
            return cls(archive)
        view = archive.view(kind="answers")
        if not (representatives := identical_answers(view)):
            what = f"its {len(view)} answers are empty" if len(view) else "it has no answers"
            raise ArchiveError(f"{archive.path}: {what}, so there is nothing to rank; import questions with answers")
        return cls(archive, kind, representatives)

    def training_view(self, held_out_splits: Sequence[str]) -> View:
        """Return a view of all documents that hides the labels of the held-out splits from whoever learns."""
        return self.archive.view(kind=self.kind, held_out_splits=held_out_splits)

    @property
    def documents(self) -> View:
        """The documents that are ranked."""
        return self.archive.view(kind=self.kind)

    def labels(self, split_name: str) -> Split:
        """Return the queries of a split and their relevant documents. Raises ArchiveError for an unknown split."""
        split = load_split(self.archive, split_name, self.kind)
        if self.kind == "questions":
            return split
        qrels = {query: self._merge_grades(grades) for query, grades in split.qrels.items()}
        if split.candidates is None:
            return Split(split.queries, qrels)
        pools = {query: list(self._merge_grades(dict.fromkeys(ids, 0))) for query, ids in split.candidates.items()}
        return Split(split.queries, qrels, pools)

    def rank(self, searcher: Searcher, labels: Split, k: int) -> Run:
        """Return the k best documents of each query."""
        n_identical = len(self.representatives) - len(set(self.representatives.values()))
        run = searcher.rank(labels.queries, k + n_identical, candidates=labels.candidates)
        if self.kind == "questions":
            return run
        return Run({query: self._deduplicate(run.columns(query), k) for query in run})

    def fit_and_rank(
        self,
        ranker: Ranker,
        labels: Split,
        k: int,
        held_out_splits: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Run:
        """Fit and build a ranker, then `rank`. The labels of the held-out splits are hidden from it."""
        if self.kind == "questions":
            return rank_split(self.archive, ranker, labels, k, progress, held_out_splits)
        view = self.training_view(held_out_splits)
        return self.rank(open_current(ranker.fit(view), view, progress), labels, k)

    def _deduplicate(self, columns: Columns, k: int) -> Columns:
        """Return the first k documents, each once, where the best of its identical answers stands."""
        ids, scores = columns
        positions: dict[str, int] = {}
        for position, id in enumerate(ids):
            if id in self.representatives:
                positions.setdefault(self.representatives[id], position)
        first = list(positions)[:k]
        return first, scores[[positions[id] for id in first]]

    def _merge_grades(self, grades: Mapping[str, int]) -> dict[str, int]:
        """Return each document's grade under its representative; the highest grade of several identical answers."""
        merged: dict[str, int] = {}
        for id, grade in grades.items():
            if id in self.representatives:
                representative = self.representatives[id]
                merged[representative] = max(grade, merged.get(representative, grade))
        return merged
