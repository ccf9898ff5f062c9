"""What a recipe learns from: an archive's pairs, its dev queries, and the texts they need."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from askalike.archive.feedback import rejected
from askalike.archive.pairs import pairs
from askalike.archive.view import View
from askalike.encoders._recipe import DataSettings
from askalike.text.features._features import Text
from askalike.types import Answer, Pair, Question, Split

CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class Data:
    """Training pairs, dev queries with what is relevant to them, and the documents that those rank."""

    pairs: Sequence[Pair]
    dev: Split
    documents: Mapping[str, Text]
    answers: bool


def gathered(view: View, settings: DataSettings, dev: Split | None, documents: int, seed: int) -> Data:
    """The pairs of a view's signals; dev is the split given, or some clusters that are kept back from training."""
    found = _capped(pairs(view, settings.signals, seed), settings.of_cluster, seed)
    if dev is not None:
        return Data(found, dev, _documents(view, dev, {}, documents, seed), False)
    found, kept = _cut(found, settings, seed)
    answers = bool(kept) and isinstance(kept[0].positive, Answer)
    split = _split([pair for pair in kept if isinstance(pair.positive, Answer) == answers])
    own = {pair.positive.id: pair.positive for pair in kept}
    return Data(found, split, _documents(view, split, own, documents, seed), answers)


def judged_irrelevant(view: View, most: int) -> dict[str, list[str]]:
    """Query id → at most so many questions judged irrelevant to it, in splits that the view does not hide.

    Judged are those of evaluation sets, and what people said over HTTP.
    """
    found: dict[str, list[str]] = defaultdict(list)
    sql = (
        "SELECT split, query_id, document_id FROM judgements WHERE of = 'questions' AND relevance <= 0 ORDER BY 1, 2, 3"
    )
    for split, query, document in view.connection.execute(sql) if most else ():
        if split not in view.hidden and len(found[query]) < most:
            found[query].append(document)
    for query, documents in rejected(view.connection).items() if most else ():
        found[query] += documents[: most - len(found[query])]
    return found


def _capped(found: Iterable[Pair], most: int, seed: int) -> list[Pair]:
    """At most so many pairs of each cluster and signal, in their order."""
    by_cluster: dict[tuple[str, str], list[int]] = defaultdict(list)
    listed = list(found)
    for number, pair in enumerate(listed):
        by_cluster[pair.cluster, pair.signal].append(number)
    random = np.random.default_rng(seed)
    kept = [n if len(n) <= most else random.permutation(n)[:most].tolist() for n in by_cluster.values()]
    return [listed[number] for number in sorted(number for numbers in kept for number in numbers)]


def _cut(found: list[Pair], settings: DataSettings, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Training pairs and dev pairs; no cluster has both."""
    clusters = sorted({pair.cluster for pair in found})
    order = np.random.default_rng(seed).permutation(len(clusters))
    most = min(round(len(clusters) * settings.dev_share), settings.dev_queries)
    dev = {clusters[n] for n in order[: max(most, 1)]}
    return [p for p in found if p.cluster not in dev], [p for p in found if p.cluster in dev]


def _split(kept: Sequence[Pair]) -> Split:
    """One query for each dev cluster, with every document that its cluster has for it."""
    queries: dict[str, Question] = {}
    qrels: dict[str, dict[str, int]] = {}
    asked: dict[str, str] = {}
    for pair in kept:
        if asked.setdefault(pair.cluster, pair.query.id) == pair.query.id:
            queries[pair.query.id] = pair.query
            qrels.setdefault(pair.query.id, {})[pair.positive.id] = 1
    return Split(queries, qrels)


def _documents(view: View, dev: Split, own: Mapping[str, Text], most: int, seed: int) -> dict[str, Text]:
    """What is relevant to a dev query, or one of its candidates, and `most` others, drawn with the seed.

    `own` are documents as their signal has them (a body without its title): others are of the same kind.
    """
    answers = any(isinstance(text, Answer) for text in own.values())
    bodies = bool(own) and all(isinstance(text, Question) and not text.title for text in own.values())
    needed = {id for grades in dev.qrels.values() for id in grades}
    needed |= {id for ids in (dev.candidates or {}).values() for id in ids}
    texts = _texts(view, answers)
    total = len(view) if not answers else sum(1 for _ in _texts(view, answers))
    lucky = set(np.random.default_rng(seed).permutation(total)[:most].tolist())
    return {
        text.id: own.get(text.id) or (_body(text) if bodies else text)
        for number, text in enumerate(texts)
        if number in lucky or text.id in needed
    }


def _texts(view: View, answers: bool) -> Iterator[Text]:
    if not answers:
        return (question for _, question in view.questions())
    ids = (question.id for _, question in view.questions())
    chunks = iter(lambda: list(islice(ids, CHUNK)), [])
    return (answer for chunk in chunks for own in view.answers_to(chunk).values() for answer in own)


def _body(text: Text) -> Text:
    return Question(text.id, "", text.body, text.markup, language=getattr(text, "language", None))
