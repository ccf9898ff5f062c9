"""What a recipe learns from: an archive's pairs, its dev queries, and the texts they need."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from askalike.encoders._recipe import DataSettings
from askalike.iteration import chunks
from askalike.labels.training_pairs import training_pairs
from askalike.store.feedback import rejected_documents
from askalike.store.labels import irrelevant_judgements
from askalike.store.view import View
from askalike.text.features._features import Text
from askalike.types import Answer, Question, Split, TrainingPair


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Training pairs, dev queries with what is relevant to them, and the documents that those rank."""

    pairs: Sequence[TrainingPair]
    dev: Split
    documents: Mapping[str, Text]
    documents_are_answers: bool


def collect_training_data(
    view: View, settings: DataSettings, dev: Split | None, document_count: int, seed: int
) -> TrainingData:
    """The pairs of a view's signals; dev is the split given, or some clusters that are kept back from training."""
    found = _cap_pairs_per_cluster(training_pairs(view, settings.signals, seed), settings.of_cluster, seed)
    if dev is not None:
        return TrainingData(found, dev, _select_dev_documents(view, dev, {}, document_count, seed), False)
    found, kept = _split_by_cluster(found, settings, seed)
    answers = bool(kept) and isinstance(kept[0].positive, Answer)
    split = _build_dev_split([pair for pair in kept if isinstance(pair.positive, Answer) == answers])
    own = {pair.positive.id: pair.positive for pair in kept}
    return TrainingData(found, split, _select_dev_documents(view, split, own, document_count, seed), answers)


def read_irrelevant_judgements(view: View, limit: int) -> dict[str, list[str]]:
    """Query id → at most so many questions judged irrelevant to it, in splits that the view does not hide.

    Judged are those of evaluation sets, and what people said over HTTP.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for split, query, document in irrelevant_judgements(view) if limit else ():
        if split not in view.held_out_splits and len(found[query]) < limit:
            found[query].append(document)
    for query, documents in rejected_documents(view).items() if limit else ():
        found[query] += documents[: limit - len(found[query])]
    return found


def _cap_pairs_per_cluster(pairs: Iterable[TrainingPair], limit: int, seed: int) -> list[TrainingPair]:
    """At most so many pairs of each cluster and signal, in their order."""
    by_cluster: dict[tuple[str, str], list[int]] = defaultdict(list)
    listed = list(pairs)
    for number, pair in enumerate(listed):
        by_cluster[pair.cluster, pair.signal].append(number)
    random = np.random.default_rng(seed)
    kept = [n if len(n) <= limit else random.permutation(n)[:limit].tolist() for n in by_cluster.values()]
    return [listed[number] for number in sorted(number for numbers in kept for number in numbers)]


def _split_by_cluster(
    pairs: list[TrainingPair], settings: DataSettings, seed: int
) -> tuple[list[TrainingPair], list[TrainingPair]]:
    """Training pairs and dev pairs; no cluster has both."""
    clusters = sorted({pair.cluster for pair in pairs})
    order = np.random.default_rng(seed).permutation(len(clusters))
    most = min(round(len(clusters) * settings.dev_share), settings.dev_queries)
    dev = {clusters[n] for n in order[: max(most, 1)]}
    return [p for p in pairs if p.cluster not in dev], [p for p in pairs if p.cluster in dev]


def _build_dev_split(pairs: Sequence[TrainingPair]) -> Split:
    """One query for each dev cluster, with every document that its cluster has for it."""
    queries: dict[str, Question] = {}
    qrels: dict[str, dict[str, int]] = {}
    asked: dict[str, str] = {}
    for pair in pairs:
        if asked.setdefault(pair.cluster, pair.query.id) == pair.query.id:
            queries[pair.query.id] = pair.query
            qrels.setdefault(pair.query.id, {})[pair.positive.id] = 1
    return Split(queries, qrels)


def _select_dev_documents(
    view: View, dev: Split, signal_documents: Mapping[str, Text], limit: int, seed: int
) -> dict[str, Text]:
    """What is relevant to a dev query, or one of its candidates, and `most` others, drawn with the seed.

    `own` are documents as their signal has them (a body without its title): others are of the same kind.
    """
    answers = any(isinstance(text, Answer) for text in signal_documents.values())
    bodies = bool(signal_documents) and all(
        isinstance(text, Question) and not text.title for text in signal_documents.values()
    )
    needed = {id for grades in dev.qrels.values() for id in grades}
    needed |= {id for ids in (dev.candidates or {}).values() for id in ids}
    texts = _iterate_texts(view, answers)
    total = len(view) if not answers else sum(1 for _ in _iterate_texts(view, answers))
    lucky = set(np.random.default_rng(seed).permutation(total)[:limit].tolist())
    return {
        text.id: signal_documents.get(text.id) or (_without_title(text) if bodies else text)
        for number, text in enumerate(texts)
        if number in lucky or text.id in needed
    }


def _iterate_texts(view: View, of_answers: bool) -> Iterator[Text]:
    if not of_answers:
        return (question for _, question in view.questions())
    ids = (question.id for _, question in view.questions())
    return (answer for chunk in chunks(ids) for own in view.get_answers_to(chunk).values() for answer in own)


def _without_title(text: Text) -> Text:
    return Question(text.id, "", text.body, text.markup, language=getattr(text, "language", None))
