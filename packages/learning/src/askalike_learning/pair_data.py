"""Training data from labels: an archive's pairs, its dev queries, and the documents that these rank."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from askalike import Answer, Question, Split, TrainingView, View
from askalike.plugin.features import Text
from askalike.plugin.training import (
    Clusters,
    TrainingPair,
    chunks,
    imported_queries,
    irrelevant_judgements,
    rejected_documents,
    training_pairs,
)
from askalike_learning.recipes import DataSettings

Pairs = list[TrainingPair]


class TrainingData(NamedTuple):
    """Training pairs, dev queries to choose the best epoch, and the documents ranked for these, by id."""

    pairs: Sequence[TrainingPair]
    dev: Split
    documents: Mapping[str, Text]
    documents_are_answers: bool


def collect_training_data(view: TrainingView, settings: DataSettings, limit: int, seed: int) -> TrainingData:
    """Return the pairs of a view's signals, dev queries (the view's or held-out ones), and `limit` documents."""
    every = training_pairs(view, settings.signals, seed)
    pairs = _draw_pairs(every, settings.max_pairs_per_query, seed, lambda pair: pair.query.id)
    pairs = _draw_pairs(
        pairs, settings.max_pairs_per_cluster, seed, lambda pair: pair.cluster, balanced=settings.balanced
    )
    pairs = _draw_pairs(pairs, settings.max_pairs, seed, lambda pair: pair.signal)
    irrelevant = _irrelevant_pairs(view) if settings.irrelevant else []
    if view.dev is not None:
        are_answers = view.kind == "answers"
        documents = _dev_documents(view, view.dev, {}, are_answers, limit, seed)
        return TrainingData(pairs + irrelevant, view.dev, documents, are_answers)
    pairs, dev_pairs = _split_by_cluster(pairs, settings, seed)
    dev_queries = {pair.query.id for pair in dev_pairs}
    pairs += [pair for pair in irrelevant if pair.query.id not in dev_queries]
    are_answers = bool(dev_pairs) and isinstance(dev_pairs[0].positive, Answer)
    split = _build_dev_split([pair for pair in dev_pairs if isinstance(pair.positive, Answer) == are_answers])
    positives = {pair.positive.id: pair.positive for pair in dev_pairs}
    documents = _dev_documents(view, split, positives, are_answers, limit, seed)
    return TrainingData(pairs, split, documents, are_answers)


def read_irrelevant_judgements(view: View, limit: int) -> dict[str, list[str]]:
    """Return query id → at most `limit` ids of questions judged irrelevant to it, without held-out splits."""
    if not limit:
        return {}
    clusters = view.clusters()
    irrelevant = defaultdict[str, list[str]](list)
    for _, query, document in _visible_irrelevant_judgements(view, clusters):
        irrelevant[query].append(document)
    for query, documents in rejected_documents(view, view.before).items():
        irrelevant[query] += [document for document in documents if not clusters.is_held_out(query, document)]
    return {query: list(dict.fromkeys(documents))[:limit] for query, documents in irrelevant.items() if documents}


def _visible_irrelevant_judgements(view: View, clusters: Clusters) -> Iterator[tuple[str, str, str]]:
    """Yield split, query id and document id of each question judged irrelevant, without held-out splits."""
    for split, query, document in irrelevant_judgements(view, view.before):
        if split not in view.held_out_splits and not clusters.is_held_out(query, document):
            yield split, query, document


def _irrelevant_pairs(view: TrainingView) -> Pairs:
    """Return each query of an imported split with each question judged irrelevant to it, without held-out splits."""
    clusters = view.clusters()
    judged = defaultdict[str, list[tuple[str, str]]](list)
    for split, query, document in _visible_irrelevant_judgements(view, clusters):
        judged[split].append((query, document))
    pairs: Pairs = []
    for split, ids in judged.items():
        queries = {query.id: query for query in imported_queries(view, split).values()}
        documents = view.get_questions({document for _, document in ids} - view.excluded_ids)
        pairs += (
            TrainingPair(queries[query], documents[document], clusters.cluster_of(document), "judgements", False)
            for query, document in ids
            if document in documents and query not in view.excluded_ids
        )
    return pairs


def _draw_pairs(
    pairs: Iterable[TrainingPair],
    limit: int,
    seed: int,
    group: Callable[[TrainingPair], str],
    *,
    balanced: bool = False,
) -> Pairs:
    """Return at most `limit` pairs per group and signal, drawn with the seed, in the original order; 0: no limit.

    balanced: exactly `limit` pairs; a smaller group repeats some.
    """
    all_pairs = list(pairs)
    if not limit:
        return all_pairs
    members: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, pair in enumerate(all_pairs):
        members[group(pair), pair.signal].append(number)
    random = np.random.default_rng(seed)
    drawn = [n if len(n) <= limit else random.permutation(n)[:limit].tolist() for n in members.values()]
    if balanced:
        drawn = [np.resize(numbers, limit).tolist() for numbers in drawn]
    return [all_pairs[number] for number in sorted(number for numbers in drawn for number in numbers)]


def _split_by_cluster(pairs: Pairs, settings: DataSettings, seed: int) -> tuple[Pairs, Pairs]:
    """Return training pairs and dev pairs, from disjoint clusters."""
    clusters = sorted({pair.cluster for pair in pairs})
    order = np.random.default_rng(seed).permutation(len(clusters))
    dev_count = min(round(len(clusters) * settings.dev_share), settings.dev_queries)
    dev = {clusters[n] for n in order[: max(dev_count, 1)]}
    return [p for p in pairs if p.cluster not in dev], [p for p in pairs if p.cluster in dev]


def _build_dev_split(pairs: Sequence[TrainingPair]) -> Split:
    """Return a split with one query per cluster, and all documents of the cluster."""
    queries: dict[str, Question] = {}
    qrels: dict[str, dict[str, int]] = {}
    query_by_cluster: dict[str, str] = {}
    for pair in pairs:
        if query_by_cluster.setdefault(pair.cluster, pair.query.id) == pair.query.id:
            queries[pair.query.id] = pair.query
            qrels.setdefault(pair.query.id, {})[pair.positive.id] = 1
    return Split(queries, qrels)


def _dev_documents(
    view: View, dev: Split, positives: Mapping[str, Text], are_answers: bool, limit: int, seed: int
) -> dict[str, Text]:
    """Return the relevant documents and candidates of dev queries, and `limit` documents drawn with the seed, by id.

    positives: documents as yielded by their signal; if these are bodies without titles, so are all others.
    """
    bodies = bool(positives) and all(isinstance(text, Question) and not text.title for text in positives.values())
    needed = {id for grades in dev.qrels.values() for id in grades}
    needed |= {id for ids in (dev.candidates or {}).values() for id in ids}
    texts = iterate_texts(view, of_answers=are_answers)
    total = len(view) if not are_answers else sum(1 for _ in iterate_texts(view, of_answers=are_answers))
    drawn = set(np.random.default_rng(seed).permutation(total)[:limit].tolist())
    chosen = (text for number, text in enumerate(texts) if number in drawn or text.id in needed)
    return {text.id: positives.get(text.id) or (_without_title(text) if bodies else text) for text in chosen}


def iterate_texts(view: View, *, of_answers: bool) -> Iterator[Text]:
    """Yield a view's questions, or the answers to them."""
    if not of_answers:
        return (question for _, question in view.questions())
    ids = (question.id for _, question in view.questions())
    return (answer for chunk in chunks(ids) for answers in view.get_answers_to(chunk).values() for answer in answers)


def _without_title(text: Text) -> Text:
    return Question(text.id, "", text.body, text.markup, language=getattr(text, "language", None))
