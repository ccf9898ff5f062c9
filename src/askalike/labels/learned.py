"""The labels that a model has learned: no model is evaluated on labels that it was trained on."""

from collections.abc import Callable, Iterable

from askalike.core.errors import SettingsError
from askalike.core.model_folders import LearnedLabels
from askalike.core.types import Answer, Split, TrainingPair
from askalike.labels.splits import document_kind, labelled_splits, load_split, restrict_split
from askalike.store import Archive, Clusters
from askalike.store.labels import labelled_ids

LABEL_SIGNALS = ("duplicates", "judgements", "rephrasings", "feedback")
"""The signals whose pairs are labelled as asking the same."""


def collect_learned(pairs: Iterable[TrainingPair], dev: Split, dev_ranks_answers: bool) -> LearnedLabels:
    """Return the labels in training pairs, and those of the dev queries that chose the best epoch."""
    pairs = list(pairs)
    duplicates = {id for p in pairs if p.signal in LABEL_SIGNALS for id in (p.query.id, p.positive.id)}
    answers = {pair.query.id for pair in pairs if isinstance(pair.positive, Answer)}
    if dev_ranks_answers:
        answers.update(labelled_ids(dev, "answers"))
    else:
        labelled = {id for id, query in dev.queries.items() if set(dev.qrels.get(id, ())) - {query.id}}
        duplicates.update(labelled_ids(restrict_split(dev, labelled)))
    return LearnedLabels(frozenset(duplicates), frozenset(answers))


def count_learned(learned: LearnedLabels, archive: Archive, labels: Split, rank_answers: bool = False) -> int:
    """Return the number of queries of a split whose clusters have labels that the model was trained on."""
    if not (learned and labels.has_labels):
        return 0
    is_learned = learned_test(learned, archive, rank_answers)
    texts = {id: [query.id] for id, query in labels.queries.items()}
    for id, grades in labels.qrels.items() if not rank_answers else ():
        texts.get(id, []).extend(document for document, grade in grades.items() if grade > 0)
    return sum(any(map(is_learned, ids)) for ids in texts.values())


def learned_test(learned: LearnedLabels, archive: Archive, rank_answers: bool = False) -> Callable[[str], bool]:
    """Return a function that returns whether the model was trained on a label of a text's cluster."""
    clusters = Clusters.read(archive)
    known = {clusters.cluster_of(id) for id in (learned.answers if rank_answers else learned.duplicates)}
    return lambda id: clusters.cluster_of(id) in known


def unlearned_splits(learned: LearnedLabels, archive: Archive) -> list[str]:
    """Return the names of the splits suitable for testing the model, those named test first."""
    names = labelled_splits(archive, "questions") + labelled_splits(archive, "answers")
    tests = [name for name in names if not count_learned(learned, archive, *_load(archive, name))]
    return sorted(tests, key=lambda name: name.split("/")[-1] != "test")


def require_unlearned(
    learned: LearnedLabels, archive: Archive, model: str, labels: Split, *, rank_answers: bool = False
) -> None:
    """Raise SettingsError if the model was trained on labels that it is to be evaluated on."""
    if n := count_learned(learned, archive, labels, rank_answers=rank_answers):
        tests = ", ".join(unlearned_splits(learned, archive)) or "none; make one (askalike split) and train again"
        raise SettingsError(
            f"{model} was trained on the labels of {n} of these {len(labels.queries)} queries, so they cannot "
            f"test it; splits that it has not learned from: {tests}"
        )


def _load(archive: Archive, name: str) -> tuple[Split, bool]:
    kind = document_kind(archive, name)
    return load_split(archive, name, kind), kind == "answers"
