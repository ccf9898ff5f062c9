"""Training signals: what an archive itself says belongs together, as pairs of texts. One function a signal."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from askalike.archive.clusters import Clusters
from askalike.archive.feedback import to_learn
from askalike.archive.labels import given, given_queries, labels, of_answers
from askalike.archive.sample import shuffled
from askalike.archive.view import View, chunks
from askalike.errors import SettingsError
from askalike.types import Answer, LinkKind, Pair, Question

RARE = 0.005
"""A tag says something where at most this part of the questions have it, or few have it,"""
FEW = 20
"""namely so many."""

Texts = tuple[Question, Question | Answer]


@dataclass(frozen=True, slots=True)
class Source:
    """What signals are read from: a view, the duplicate clusters of the whole archive, and a seed for drawing."""

    view: View
    clusters: Clusters
    seed: int = 0


Signal = Callable[[Source], Iterator[Texts]]


def pairs(view: View, signals: Sequence[str], seed: int = 0) -> Iterator[Pair]:
    """The pairs of these signals, one signal after the other, each in the archive's order; streams.

    A pair of two questions never touches a duplicate cluster that a split hidden from the view knows of; none touches a
    question that the view withholds. A pair's
    cluster is that of its positive; `View.clusters()` knows that of any text by its id, for those who draw negatives.
    Raises SettingsError where there is no such signal.
    """
    if unknown := [name for name in signals if name not in SIGNALS]:
        raise SettingsError(f"no signal is called {', '.join(unknown)}; there are: {', '.join(SIGNALS)}")
    return _pairs(Source(view, view.clusters(), seed), signals)


def counts(view: View, signals: Sequence[str] | None = None) -> dict[str, int]:
    """How many pairs each signal has (each there is, if None). Reads them all."""
    names = list(SIGNALS) if signals is None else signals
    found = Counter(pair.signal for pair in pairs(view, names))
    return {name: found[name] for name in names}


def duplicates(source: Source) -> Iterator[Texts]:
    """Each question that was closed as a duplicate, with its original."""
    return _linked(source, "duplicate")


def related(source: Source) -> Iterator[Texts]:
    """Questions that somebody linked without calling them the same; none of one duplicate cluster."""
    return _linked(source, "related", lambda a, b: source.clusters.of(a) != source.clusters.of(b))


def title_body(source: Source) -> Iterator[Texts]:
    """Each question's title with its body."""
    for _, q in source.view.questions():
        if q.title.strip() and q.body.strip():
            title = Question(q.id, q.title, language=q.language)
            yield title, Question(q.id, "", q.body, q.markup, language=q.language)


def question_answer(source: Source) -> Iterator[Texts]:
    """Each question with its accepted answer, else the one with most votes, else the first.

    Where a data set judges answers, one that it does not call Good is none; so is one from after the view's end.
    Questions of which a hidden split knows the answers, and their duplicates, are left out.
    """
    unseen = _unanswered(source)
    shown = (question for _, question in source.view.questions() if source.clusters.of(question.id) not in unseen)
    for chunk in chunks(shown):
        answers = source.view.answers_to([question.id for question in chunk])
        for question in chunk:
            good = (a for a in answers[question.id] if a.label in (None, "Good") and a.body.strip())
            if best := next((a for a in good if _in_time(a, source.view)), None):
                yield question, best


def same_category(source: Source) -> Iterator[Texts]:
    """Questions of one category, each with one or two partners, drawn with the seed."""
    return _neighbours(source, source.view.alike("category"))


def same_tag(source: Source) -> Iterator[Texts]:
    """Questions with a rare tag in common, each with one or two partners a tag, drawn with the seed.

    Rare are tags of at most 1 in 200 questions, or of no more than 20.
    """
    most = max(FEW, RARE * len(source.view))
    return _neighbours(source, ((tag, ids) for tag, ids in source.view.alike("tag") if len(ids) <= most))


def rephrasings(source: Source) -> Iterator[Texts]:
    """Each other phrasing of a question, as `ID#N`, with the question."""
    for _, question in source.view.questions():
        for n, text in enumerate(question.rephrasings, 1):
            yield Question(f"{question.id}#{n}", text, language=question.language), question


def judgements(source: Source) -> Iterator[Texts]:
    """The queries of given evaluation sets with what is judged relevant to them, where no hidden split knows of it."""
    connection = source.view.connection
    for split in given(connection):
        queries = given_queries(connection, split)
        known = (x for x in labels(connection, split) if not source.clusters.hides(x.text))
        for chunk in chunks((queries[x.query], x.relevant) for x in known if x.relevant not in (None, x.query)):
            documents = source.view.get(id for _, id in chunk if id)
            for query, id in chunk:
                if id in documents and _in_time(query, source.view):
                    yield query, documents[id]


def feedback(source: Source) -> Iterator[Texts]:
    """What people asked over HTTP, with the question of which they said that it asks the same; nothing held out."""
    right = (j for j in to_learn(source.view.connection, source.view.before) if j.right)
    for chunk in chunks(right):
        questions = source.view.get({j.document for j in chunk})
        yield from ((j.query, questions[j.document]) for j in chunk if j.document in questions)


SIGNALS: Mapping[str, Signal] = {
    signal.__name__: signal
    for signal in (
        duplicates,
        related,
        title_body,
        question_answer,
        same_category,
        same_tag,
        rephrasings,
        judgements,
        feedback,
    )
}
"""A new signal is a function from Source to pairs of texts, added here."""


def _pairs(source: Source, signals: Sequence[str]) -> Iterator[Pair]:
    for name in signals:
        for query, positive in SIGNALS[name](source):
            text = positive.question_id if isinstance(positive, Answer) else positive.id
            if source.view.withheld & {query.id, text}:
                continue
            if query.id == text or not source.clusters.hides(query.id, text):
                yield Pair(query, positive, source.clusters.of(text), name)


def _unanswered(source: Source) -> frozenset[str]:
    """The clusters whose answers a split hidden from the view looks for."""
    connection = source.view.connection
    splits = [name for name in source.view.hidden if of_answers(connection, name)]
    return frozenset(source.clusters.of(label.text) for name in splits for label in labels(connection, name))


def _linked(source: Source, kind: LinkKind, keep: Callable[[str, str], bool] = lambda a, b: a != b) -> Iterator[Texts]:
    links = source.view.links(kind)
    return _texts(source.view, ((link.source, link.target) for link in links if keep(link.source, link.target)))


def _in_time(text: Question | Answer, view: View) -> bool:
    return view.before is None or (text.created_at is not None and text.created_at < view.before)


def _neighbours(source: Source, groups: Iterable[tuple[str, list[str]]]) -> Iterator[Texts]:
    """Every question of a group with the next one, in a seeded order."""
    ids = (pair for _, own in groups for pair in pairwise(shuffled(own, source.seed)))
    return _texts(source.view, ids)


def _texts(view: View, ids: Iterable[tuple[str, str]]) -> Iterator[Texts]:
    for chunk in chunks(ids):
        found = view.get({id for pair in chunk for id in pair})
        yield from ((found[a], found[b]) for a, b in chunk if a in found and b in found)
