"""Training signals: pairs of texts that match according to labels or metadata, one function each, see SIGNALS.

Which labels a model learns from its pairs is stored with it, so that it is not evaluated on these.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from askalike.core.errors import SettingsError
from askalike.core.iteration import chunks
from askalike.core.model_folders import LearnedLabels
from askalike.core.records import Answer, Question, Split, TrainingPair
from askalike.labels.splits import restrict_split
from askalike.store import Clusters, TrainingView, View, imported_splits, read_labels, shuffle_names
from askalike.store.contents import groups_sharing
from askalike.store.feedback import training_pairs_from_feedback
from askalike.store.labels import imported_queries, labelled_ids, ranks_answers

LABEL_SIGNALS = ("duplicates", "judgements", "rephrasings", "feedback")
"""The signals whose pairs are labelled as asking the same."""
RARE_TAG_SHARE = 0.005
"""A tag is rare if at most this share of the questions have it."""
RARE_TAG_COUNT = 20
"""A tag is also rare if at most this many questions have it."""

TextPair = tuple[Question, Question | Answer]


class SignalSource(NamedTuple):
    """The input of a signal: a view, the duplicate clusters of the whole archive, and the seed for sampling."""

    view: TrainingView
    clusters: Clusters
    seed: int = 0


Signal = Callable[[SignalSource], Iterator[TextPair]]


def training_pairs(view: TrainingView, signals: Sequence[str], seed: int = 0) -> Iterator[TrainingPair]:
    """Yield the pairs of these signals, one signal after the other, each in the archive's order.

    No pair of two questions has one from a held-out duplicate cluster of the view. No pair has a question
    excluded by the view. The query of a label is in its positive's cluster; that of another signal has its own.
    Raises SettingsError for an unknown signal.
    """
    if unknown := [name for name in signals if name not in SIGNALS]:
        raise SettingsError(f"no signal is called {', '.join(unknown)}; there are: {', '.join(SIGNALS)}")
    return _generate_pairs(SignalSource(view, view.clusters(), seed), signals)


def count_pairs(view: TrainingView, signals: Sequence[str] | None = None) -> dict[str, int]:
    """Count the pairs of each signal (of all signals if None). Reads all pairs."""
    names = list(SIGNALS) if signals is None else signals
    counts = Counter(pair.signal for pair in training_pairs(view, names))
    return {name: counts[name] for name in names}


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


def duplicates(source: SignalSource) -> Iterator[TextPair]:
    """Yield each question that was closed as a duplicate, with its original."""
    pairs = ((x.source, x.target) for x in source.view.links("duplicate") if x.source != x.target)
    return _read_text_pairs(source.view, pairs)


def related(source: SignalSource) -> Iterator[TextPair]:
    """Yield questions that were linked as related and are not in the same duplicate cluster."""
    links = source.view.links("related")
    cluster_of = source.clusters.cluster_of
    pairs = ((x.source, x.target) for x in links if cluster_of(x.source) != cluster_of(x.target))
    return _read_text_pairs(source.view, pairs)


def title_body(source: SignalSource) -> Iterator[TextPair]:
    """Yield each question's title with its body."""
    for _, q in source.view.questions():
        if q.title.strip() and q.body.strip():
            title = Question(q.id, q.title, language=q.language)
            yield title, Question(q.id, "", q.body, q.markup, language=q.language)


def question_answer(source: SignalSource) -> Iterator[TextPair]:
    """Yield each question with its accepted answer, else the one with most votes, else the first.

    For the answers that count see question_answers.
    """
    seen: set[str] = set()
    for question, answer in question_answers(source):
        if question.id not in seen:
            seen.add(question.id)
            yield question, answer


def question_answers(source: SignalSource) -> Iterator[tuple[Question, Answer]]:
    """Yield each question with each of its answers, the accepted one first, then those with most votes.

    If a data set labels answers, only those labelled Good count. Answers after the view's end do not count. Questions
    whose answers are ranked in a held-out split, and their duplicates, are left out.
    """
    held_out = _held_out_answer_clusters(source)
    questions = (q for _, q in source.view.questions() if source.clusters.cluster_of(q.id) not in held_out)
    for chunk in chunks(questions):
        answers = source.view.get_answers_to([question.id for question in chunk])
        for question in chunk:
            good = (a for a in answers[question.id] if a.label in (None, "Good") and a.body.strip())
            yield from ((question, answer) for answer in good if _predates_view_end(answer, source.view))


def same_category(source: SignalSource) -> Iterator[TextPair]:
    """Yield pairs of questions of the same category: each has one or two partners, drawn with the seed."""
    return _pair_neighbours(source, groups_sharing(source.view, "category"))


def same_tag(source: SignalSource) -> Iterator[TextPair]:
    """Yield pairs of questions that share a rare tag: one or two partners per tag, drawn with the seed."""
    max_size = max(RARE_TAG_COUNT, RARE_TAG_SHARE * len(source.view))
    groups = ((tag, ids) for tag, ids in groups_sharing(source.view, "tag") if len(ids) <= max_size)
    return _pair_neighbours(source, groups)


def rephrasings(source: SignalSource) -> Iterator[TextPair]:
    """Yield each rephrasing of a question, as `ID#N`, with the question."""
    for _, question in source.view.questions():
        for n, text in enumerate(question.rephrasings, 1):
            yield Question(f"{question.id}#{n}", text, language=question.language), question


def judgements(source: SignalSource) -> Iterator[TextPair]:
    """Yield the queries of imported splits with the questions judged relevant to them, without held-out clusters."""
    for split in imported_splits(source.view):
        queries = imported_queries(source.view, split)
        labels = (x for x in read_labels(source.view, split) if not source.clusters.is_held_out(x.text_id))
        pairs = ((queries[x.query_id], x.relevant_id) for x in labels if x.relevant_id not in (None, x.text_id))
        for chunk in chunks(pairs):
            documents = source.view.get_questions(id for _, id in chunk if id)
            for query, id in chunk:
                if id in documents and _predates_view_end(query, source.view):
                    yield query, documents[id]


def feedback(source: SignalSource) -> Iterator[TextPair]:
    """Yield queries over HTTP with the questions that users marked as asking the same."""
    for chunk in chunks(j for j in training_pairs_from_feedback(source.view, source.view.before) if j.relevant):
        questions = source.view.get_questions({j.document_id for j in chunk})
        yield from ((j.query, questions[j.document_id]) for j in chunk if j.document_id in questions)


_ALL = (
    duplicates, related, title_body, question_answer, question_answers, same_category, same_tag, rephrasings,
    judgements, feedback,
)  # fmt: skip
SIGNALS: Mapping[str, Signal] = {signal.__name__: signal for signal in _ALL}
"""Signal name → function. To add a signal, add a function here."""


def _generate_pairs(source: SignalSource, signals: Sequence[str]) -> Iterator[TrainingPair]:
    for name in signals:
        for query, positive in SIGNALS[name](source):
            text = positive.question_id if isinstance(positive, Answer) else positive.id
            if source.view.excluded_ids & {query.id, text}:
                continue
            if query.id == text or not source.clusters.is_held_out(query.id, text):
                cluster, other = source.clusters.cluster_of(text), source.clusters.cluster_of(query.id)
                is_label = name in LABEL_SIGNALS or other == cluster
                yield TrainingPair(query, positive, cluster, name, query_cluster="" if is_label else other)


def _held_out_answer_clusters(source: SignalSource) -> frozenset[str]:
    """Return the clusters of the questions whose answers are ranked in a held-out split."""
    splits = [name for name in source.view.held_out_splits if ranks_answers(source.view, name)]
    texts = [label.text_id for name in splits for label in read_labels(source.view, name)]
    texts += source.view.held_out_ids if source.view.kind == "answers" else ()
    return frozenset(map(source.clusters.cluster_of, texts))


def _predates_view_end(text: Question | Answer, view: View) -> bool:
    return view.before is None or (text.created_at is not None and text.created_at < view.before)


def _pair_neighbours(source: SignalSource, groups: Iterable[tuple[str, list[str]]]) -> Iterator[TextPair]:
    """Yield each question of a group with the next one, in a seeded order."""
    ids = (pair for _, members in groups for pair in pairwise(shuffle_names(members, source.seed)))
    return _read_text_pairs(source.view, ids)


def _read_text_pairs(view: View, ids: Iterable[tuple[str, str]]) -> Iterator[TextPair]:
    for chunk in chunks(ids):
        questions = view.get_questions({id for pair in chunk for id in pair})
        yield from ((questions[a], questions[b]) for a, b in chunk if a in questions and b in questions)
