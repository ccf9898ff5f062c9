"""What an experiment ranks for a query: an archive's questions, or its answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from askalike.archive.alike import alike
from askalike.archive.splits import Of, held_out, split
from askalike.archive.store import Archive
from askalike.archive.view import View
from askalike.errors import ArchiveError
from askalike.experiment import measuring
from askalike.rankers import Ranker, caught_up
from askalike.rankers._ranker import Progress
from askalike.types import Columns, Run, Split


@dataclass(frozen=True, slots=True)
class Task:
    """Questions, or answers, of which those that say the same are one document: the first of them."""

    archive: Archive
    of: Of = "questions"
    same: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def on(cls, archive: Archive, of: Of) -> Self:
        """The task on an archive. Raises ArchiveError where it is answers, and there are none."""
        if of == "questions":
            return cls(archive)
        view = archive.view(of="answers")
        if not (same := alike(view)):
            what = f"its {len(view)} answers are empty" if len(view) else "it has no answers"
            raise ArchiveError(f"{archive.path}: {what}, so there is nothing to rank; import questions with answers")
        return cls(archive, of, same)

    def learnable(self, name: str) -> View:
        """What a ranker may see that is measured on a split of that name: all that is ranked, not all that is known."""
        return self.archive.view(of=self.of, hidden=held_out(self.archive, name))

    def _unknown(self, name: str) -> list[str]:
        return held_out(self.archive, name) if name else []

    @property
    def documents(self) -> View:
        """What is ranked."""
        return self.archive.view(of=self.of)

    def labels(self, name: str) -> Split:
        """The queries of a split, and what is right for them. Raises ArchiveError where there is no such split."""
        found = split(self.archive, name, self.of)
        if self.of == "questions":
            return found
        qrels = {query: _first(grades, self.same) for query, grades in found.qrels.items()}
        if found.candidates is None:
            return Split(found.queries, qrels)
        pools = {query: list(_first(dict.fromkeys(ids, 0), self.same)) for query, ids in found.candidates.items()}
        return Split(found.queries, qrels, pools)

    def rank(self, ranker: Ranker, labels: Split, k: int) -> Run:
        """The k best documents of each query, by a ranker that has indexed them."""
        spare = len(self.same) - len(set(self.same.values()))
        run = ranker.rank(labels.queries, k + spare, candidates=labels.candidates)
        return run if self.of == "questions" else Run({query: self._once(run.columns(query), k) for query in run})

    def learned_and_ranked(self, ranker: Ranker, labels: Split, name: str, k: int, progress: Progress | None) -> Run:
        """As `rank`, after the ranker has learned and indexed; `name` is the split, of which it must not learn."""
        if self.of == "questions":
            return measuring.ranked(self.archive, ranker, labels, k, progress, self._unknown(name))
        view = self.learnable(name)
        fitted = ranker.fit(view)  # what has learned already is as it is
        return self.rank(caught_up(fitted, view, progress), labels, k)

    def _once(self, columns: Columns, k: int) -> Columns:
        """The first k documents, each once: where the best of those that say the same stands."""
        ids, scores = columns
        places: dict[str, int] = {}
        for place, id in enumerate(ids):
            if id in self.same:
                places.setdefault(self.same[id], place)
        kept = list(places)[:k]
        return kept, scores[[places[id] for id in kept]]


def _first(grades: Mapping[str, int], same: Mapping[str, str]) -> dict[str, int]:
    """Each document's grade under the name of the first that says the same; the highest of several."""
    found: dict[str, int] = {}
    for id, grade in grades.items():
        if id in same:
            found[same[id]] = max(grade, found.get(same[id], grade))
    return found
