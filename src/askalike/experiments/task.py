"""What an experiment ranks for a query: an archive's questions, or its answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from askalike.errors import ArchiveError
from askalike.experiments import measuring
from askalike.labels.splits import DocumentKind, identical_answers, load_split, splits_to_hold_out
from askalike.rankers import Ranker, build_with_retry
from askalike.store.archive import Archive
from askalike.store.view import View
from askalike.types import Columns, Progress, Run, Split


@dataclass(frozen=True, slots=True)
class RankingTask:
    """Questions, or answers, of which those that say the same are one document: the first of them."""

    archive: Archive
    kind: DocumentKind = "questions"
    representatives: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_archive(cls, archive: Archive, kind: DocumentKind) -> Self:
        """The task on an archive. Raises ArchiveError where it is answers, and there are none."""
        if kind == "questions":
            return cls(archive)
        view = archive.view(kind="answers")
        if not (same := identical_answers(view)):
            what = f"its {len(view)} answers are empty" if len(view) else "it has no answers"
            raise ArchiveError(f"{archive.path}: {what}, so there is nothing to rank; import questions with answers")
        return cls(archive, kind, same)

    def training_view(self, split_name: str) -> View:
        """What a ranker may see that is measured on a split of that name: all that is ranked, not all that is known."""
        return self.archive.view(kind=self.kind, held_out_splits=splits_to_hold_out(self.archive, split_name))

    def _held_out_splits(self, split_name: str) -> list[str]:
        return splits_to_hold_out(self.archive, split_name) if split_name else []

    @property
    def documents(self) -> View:
        """What is ranked."""
        return self.archive.view(kind=self.kind)

    def labels(self, split_name: str) -> Split:
        """The queries of a split, and what is right for them. Raises ArchiveError where there is no such split."""
        found = load_split(self.archive, split_name, self.kind)
        if self.kind == "questions":
            return found
        qrels = {query: _merge_grades(grades, self.representatives) for query, grades in found.qrels.items()}
        if found.candidates is None:
            return Split(found.queries, qrels)
        pools = {
            query: list(_merge_grades(dict.fromkeys(ids, 0), self.representatives))
            for query, ids in found.candidates.items()
        }
        return Split(found.queries, qrels, pools)

    def rank(self, ranker: Ranker, labels: Split, k: int) -> Run:
        """The k best documents of each query, by a ranker that has indexed them."""
        spare = len(self.representatives) - len(set(self.representatives.values()))
        run = ranker.rank(labels.queries, k + spare, candidates=labels.candidates)
        return (
            run if self.kind == "questions" else Run({query: self._deduplicate(run.columns(query), k) for query in run})
        )

    def fit_and_rank(self, ranker: Ranker, labels: Split, split_name: str, k: int, progress: Progress | None) -> Run:
        """As `rank`, after the ranker has learned and indexed; `name` is the split, of which it must not learn."""
        if self.kind == "questions":
            return measuring.rank_split(self.archive, ranker, labels, k, progress, self._held_out_splits(split_name))
        view = self.training_view(split_name)
        fitted = ranker.fit(view)  # what has learned already is as it is
        return self.rank(build_with_retry(fitted, view, progress), labels, k)

    def _deduplicate(self, columns: Columns, k: int) -> Columns:
        """The first k documents, each once: where the best of those that say the same stands."""
        ids, scores = columns
        places: dict[str, int] = {}
        for place, id in enumerate(ids):
            if id in self.representatives:
                places.setdefault(self.representatives[id], place)
        kept = list(places)[:k]
        return kept, scores[[places[id] for id in kept]]


def _merge_grades(grades: Mapping[str, int], representatives: Mapping[str, str]) -> dict[str, int]:
    """Each document's grade under the name of the first that says the same; the highest of several."""
    found: dict[str, int] = {}
    for id, grade in grades.items():
        if id in representatives:
            found[representatives[id]] = max(grade, found.get(representatives[id], grade))
    return found
