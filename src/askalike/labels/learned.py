"""The labels that a model was trained on, and must not be evaluated on."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from askalike.core.errors import SettingsError
from askalike.core.types import Answer, Split, TrainingPair
from askalike.labels.splits import document_kind, labelled_splits, load_split, restrict_split
from askalike.store import Archive, Clusters
from askalike.store.labels import labelled_ids

LEARNED_FILE = "learned.json"
LABEL_SIGNALS = ("duplicates", "judgements", "rephrasings", "feedback")
"""The signals whose pairs are labelled as asking the same."""


@dataclass(frozen=True, slots=True)
class LearnedLabels:
    """The ids of the questions whose duplicates or answers a model was trained on.

    all_but: for a model of an earlier version, which recorded no ids: it may have been trained on all labels except
    those of the splits with these names.
    """

    duplicates: frozenset[str] = frozenset()
    answers: frozenset[str] = frozenset()
    all_but: frozenset[str] | None = None

    def __bool__(self) -> bool:
        return bool(self.duplicates or self.answers or self.all_but is not None)

    def __or__(self, other: "LearnedLabels") -> "LearnedLabels":
        known = [labels.all_but for labels in (self, other) if labels.all_but is not None]
        all_but = frozenset.intersection(*known) if known else None
        return LearnedLabels(self.duplicates | other.duplicates, self.answers | other.answers, all_but)

    @classmethod
    def from_training(cls, pairs: Iterable[TrainingPair], dev: Split, dev_ranks_answers: bool) -> Self:
        """Return the labels in training pairs, and those of the dev queries that chose the best epoch."""
        pairs = list(pairs)
        duplicates = {id for p in pairs if p.signal in LABEL_SIGNALS for id in (p.query.id, p.positive.id)}
        answers = {pair.query.id for pair in pairs if isinstance(pair.positive, Answer)}
        if dev_ranks_answers:
            answers.update(labelled_ids(dev, "answers"))
        else:
            labelled = {id for id, query in dev.queries.items() if set(dev.qrels.get(id, ())) - {query.id}}
            duplicates.update(labelled_ids(restrict_split(dev, labelled)))
        return cls(frozenset(duplicates), frozenset(answers))

    @classmethod
    def read(cls, folder: Path, model: Mapping[str, Any]) -> Self:
        """Read the training labels of the model in a folder. model: the tables of its model.toml."""
        path = folder / LEARNED_FILE
        if path.exists():
            ids = json.loads(path.read_text(encoding="utf-8"))
            all_but = frozenset(ids["all_but"]) if "all_but" in ids else None
            return cls(frozenset(ids["duplicates"]), frozenset(ids["answers"]), all_but)
        signals = model.get("data", {}).get("signals", LABEL_SIGNALS)
        if model.get("teacher", {}).get("encoder") or not {*LABEL_SIGNALS, "question_answer", "question_answers"} & {
            *signals
        }:
            return cls()
        return cls(all_but=frozenset(model.get("trained", {}).get("held_out_splits", ())))

    def write(self, folder: Path) -> None:
        """Write the file for `read`."""
        ids = {"duplicates": sorted(self.duplicates), "answers": sorted(self.answers)}
        ids |= {} if self.all_but is None else {"all_but": sorted(self.all_but)}
        (folder / LEARNED_FILE).write_text(json.dumps(ids, ensure_ascii=False), encoding="utf-8")

    def count_queries(self, archive: Archive, labels: Split, rank_answers: bool = False) -> int:
        """Return the number of queries of a split whose clusters have labels that the model was trained on."""
        if not self:
            return 0
        is_learned = self.cluster_test(archive, rank_answers)
        texts = {id: [query.id] for id, query in labels.queries.items()}
        for id, grades in labels.qrels.items() if not rank_answers else ():
            texts.get(id, []).extend(document for document, grade in grades.items() if grade > 0)
        return sum(any(map(is_learned, ids)) for ids in texts.values())

    def cluster_test(self, archive: Archive, rank_answers: bool = False) -> Callable[[str], bool]:
        """Return a function that returns whether the model was trained on a label of a text's cluster."""
        clusters = Clusters.read(archive, sorted(self.all_but or ()))
        learned = {clusters.cluster_of(id) for id in (self.answers if rank_answers else self.duplicates)}
        if self.all_but is None:
            return lambda id: clusters.cluster_of(id) in learned
        return lambda id: clusters.cluster_of(id) in learned or not clusters.is_held_out(id)

    def unlearned_splits(self, archive: Archive) -> list[str]:
        """Return the names of the splits suitable for testing the model, those named test first."""
        names = labelled_splits(archive, "questions") + labelled_splits(archive, "answers")
        tests = [name for name in names if not self.count_queries(archive, *_load(archive, name))]
        return sorted(tests, key=lambda name: name.split("/")[-1] != "test")

    def require_unlearned(self, archive: Archive, model: str, labels: Split, *, rank_answers: bool = False) -> None:
        """Raise SettingsError if the model was trained on labels that it is to be evaluated on."""
        if n := self.count_queries(archive, labels, rank_answers=rank_answers):
            tests = ", ".join(self.unlearned_splits(archive)) or "none; make one (askalike split) and train again"
            raise SettingsError(
                f"{model} was trained on the labels of {n} of these {len(labels.queries)} queries, so they cannot "
                f"test it; splits that it has not learned from: {tests}"
            )


def _load(archive: Archive, name: str) -> tuple[Split, bool]:
    kind = document_kind(archive, name)
    return load_split(archive, name, kind), kind == "answers"
