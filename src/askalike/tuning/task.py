"""Pseudo-queries: queries made from an archive's own texts and links, for choosing a ranker without labels."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from askalike.core.errors import ArchiveError
from askalike.core.types import Qrels, Question, Split
from askalike.core.values import format_count
from askalike.labels import partitions
from askalike.labels.splits import load_split, sample_queries, type_titles, uncut_splits
from askalike.store import Archive, content_hash, imported_splits, sample_questions, shuffle_names
from askalike.store.labels import delete_partition
from askalike.text.clean import plain_text
from askalike.text.passages import split_sentences

MAX_SAMPLED = 5_000
"""Maximum number of questions that queries are made from."""
MAX_QUERIES = 1_000
MIN_QUERIES = 40
ANSWER_WORDS = 25
"""Number of first words of an answer that form a query."""
MIN_WORDS = 4
"""Minimum number of words of a text that makes a query."""
KEPT_TITLE_SHARE = 0.6
"""The share of a title's words kept in a query made from it."""
Pairs = Iterator[tuple[str, Question]]


@dataclass(frozen=True, slots=True)
class PseudoQuerySource:
    """A way to make queries: pairs of the id of the relevant question and the query.

    fixed: settings of every ranker while it is tried on these queries.
    """

    name: str
    make: Callable[[Archive, Sequence[Question], int], Pairs]
    fixed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PseudoQueries:
    """The queries of a source: half of them for choosing, half for measuring. fixed: see PseudoQuerySource."""

    name: str
    dev: Split
    test: Split
    fixed: Mapping[str, Any]


def make_pseudo_queries(archive: Archive, seed: int = 0) -> Iterator[PseudoQueries]:
    """Yield the queries of each source for which the archive has enough texts, in the order of SOURCES."""
    questions = list(sample_questions(archive.view(), MAX_SAMPLED, seed))
    for source in SOURCES:
        queries: dict[str, Question] = {}
        relevant: dict[str, dict[str, int]] = defaultdict(dict)
        for id, query in source.make(archive, questions, seed):
            queries[query.id] = query
            relevant[query.id][id] = 1
        drawn = shuffle_names(queries, seed)[:MAX_QUERIES]
        if len(drawn) >= MIN_QUERIES:
            half = len(drawn) // 2
            dev, test = (_make_split(ids, queries, relevant) for ids in (drawn[:half], drawn[half:]))
            yield PseudoQueries(source.name, dev, test, source.fixed)


def _queries_from_related_links(archive: Archive, questions: Sequence[Question], seed: int) -> Pairs:
    """Yield each question that is linked to another one as related, with that one's id."""
    links = list(archive.view().links("related"))
    linking = archive.view().get_questions({link.source for link in links})
    for link in links:
        if link.source in linking:
            yield link.target, linking[link.source]


def _queries_from_answers(archive: Archive, questions: Sequence[Question], seed: int) -> Pairs:
    """Yield the id of a question with the first words of its first answer, unless they are repeated elsewhere."""
    answers = archive.view().get_answers_to(q.id for q in questions)
    firsts = [(id, own[0]) for id, own in answers.items() if own]
    texts = {id: " ".join(plain_text(a.body, a.markup).split()[:ANSWER_WORDS]) for id, a in firsts}
    counts = Counter(texts.values())
    for question in questions:
        text = texts.get(question.id, "")
        if counts[text] == 1 and len(text.split()) >= MIN_WORDS:
            yield question.id, _make_query(question, text)


def _queries_from_titles(archive: Archive, questions: Sequence[Question], seed: int) -> Pairs:
    """Yield the title of each question that has a body as the body of a query, for rankers that search only bodies."""
    for question in questions:
        if question.title.strip() and question.body.strip():
            yield question.id, Question(_query_id(question), "", question.title, language=question.language)


def _queries_from_first_sentences(archive: Archive, questions: Sequence[Question], seed: int) -> Pairs:
    """Yield the first sentence of each body, if it is not the title."""
    for question in questions:
        sentences = split_sentences(plain_text(question.body, question.markup))
        text = sentences[0] if sentences else ""
        if len(text.split()) >= MIN_WORDS and text.strip() != question.title.strip():
            yield question.id, _make_query(question, text)


def _queries_from_unfinished_titles(archive: Archive, questions: Sequence[Question], seed: int) -> Pairs:
    """Yield the first words of each title of four words or more, as the split `known@60`."""
    titles = {q.id: _make_query(q, q.title) for q in questions if len(q.title.split()) >= MIN_WORDS}
    yield from type_titles(Split(titles, {}), KEPT_TITLE_SHARE).queries.items()


# Those that always agreed with labels come first; see experiments/log/2026-11.md.
SOURCES = (
    PseudoQuerySource("an answer's first words → its question", _queries_from_answers),
    PseudoQuerySource("a body's first sentence → its title", _queries_from_first_sentences, {"fields": "title"}),
    PseudoQuerySource("a question → one that it is linked to as related", _queries_from_related_links),
    PseudoQuerySource("a title → its body", _queries_from_titles, {"fields": "body"}),
    PseudoQuerySource("the first words of a title → its question", _queries_from_unfinished_titles),
)


def _make_query(question: Question, text: str) -> Question:
    return Question(_query_id(question), text, language=question.language)


def _query_id(question: Question) -> str:
    """Return a new id for a query, as a query never finds the question with its own id."""
    return f"{question.id} proxy"


def _make_split(ids: Sequence[str], queries: Mapping[str, Question], relevant: Qrels) -> Split:
    return Split({id: queries[id] for id in ids}, {id: relevant[id] for id in ids})


MIN_UNNESTED = 500
"""With fewer labelled queries, all of them are used to choose and to measure, in nested folds."""
MIN_LABELLED = 10
"""With fewer labelled queries, pseudo-queries are used instead."""
MIN_MEANINGFUL = 30
"""With fewer labelled queries, any choice is within noise."""
MAX_DEV_QUERIES = 1_000
"""Maximum number of queries to choose on if others measure."""
PARTITION = "tune"
PARTITION_HASH_KEY = "tune_cut_of"
"""The key in the archive's metadata of the content hash at the time of the division."""
LABEL_SHARES = (0.5, 0.25, 0.25)
"""The shares of train, dev and test, for labels that are not divided by an evaluation set."""
TRAIN_SHARES = (0.9, 0.1)
"""The shares of train and test into which a given train split is divided if there is no other split to choose on."""


@dataclass(frozen=True, slots=True)
class TuningTask:
    """The queries to choose on (`dev`) and to measure on (`test`; None: both on dev, in nested folds).

    held_out_splits: splits that are not used for training. full_calibration_split: the split to calibrate on;
    held_out_calibration_split is the one for rankers that have learned from labels; both None without labels.
    has_pseudo_queries: whether queries made from the archive's texts replace labels. fixed: settings of every ranker
    while it is tried. seed: that of the nested folds.
    """

    name: str
    dev: Split
    test: Split | None = None
    held_out_splits: tuple[str, ...] = ()
    held_out_calibration_split: str | None = None
    full_calibration_split: str | None = None
    has_pseudo_queries: bool = False
    fixed: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    @property
    def evaluation_split(self) -> Split:
        """The queries to measure on."""
        return self.test or self.dev

    @property
    def excluded_ids(self) -> frozenset[str]:
        """The ids of queries, or of the questions that pseudo-queries were made from: not used for training."""
        splits = (self.dev, self.evaluation_split)
        if self.has_pseudo_queries:
            return frozenset(id for split in splits for grades in split.qrels.values() for id in grades)
        return frozenset(query.id for split in splits for query in split.queries.values())

    @property
    def remarks(self) -> Sequence[str]:
        """Caveats about the figures: that they are from pseudo-queries, or from few queries."""
        if self.has_pseudo_queries:
            what = f"no labels: chosen and measured on pseudo-queries, {self.name}; real questions may differ."
            return [f"{what} Duplicate links, rephrasings or an evaluation set would tell more"]
        n = len(self.evaluation_split.qrels)
        text = f"{format_count(n, 'labelled query')}: the choice is within noise; at least {MIN_MEANINGFUL} are needed"
        return [text] if n < MIN_MEANINGFUL else []


def make_task(archive: Archive, seed: int = 0) -> TuningTask:
    """Return the task of an evaluation set's splits, else of labels by cluster or in folds, else of pseudo-queries.

    Makes the partition `tune` if labels must be divided. Raises ArchiveError if there is nothing to tune on.
    """
    names = uncut_splits(archive)
    if "train" in names and len(names) > 1:
        return _task_from_given_splits(archive, names, seed)
    splits = [(name, load_split(archive, name)) for name in names]
    name, labels = max(splits, key=lambda split: len(split[1].qrels), default=("", Split({}, {})))
    if len(labels.qrels) < MIN_LABELLED:
        return _make_pseudo_task(archive, seed)
    if len(labels.qrels) < MIN_UNNESTED:
        return TuningTask(f"{name}, nested folds", labels, None, (name,), name, name, seed=seed)
    _cut_partition(archive, name, LABEL_SHARES, seed)
    dev, test = f"{PARTITION}/dev", f"{PARTITION}/test"
    return TuningTask(name, _sample_dev(archive, dev, seed), load_split(archive, test), (dev, test), test, name)


def _task_from_given_splits(archive: Archive, names: Sequence[str], seed: int) -> TuningTask:
    """Measure on test, or on dev without one. Choose on dev, or on a tenth of train if dev is used to measure."""
    test = "test" if "test" in names else next(name for name in names if name != "train")
    if "dev" in names and test != "dev":
        dev = "dev"
    else:
        _cut_partition(archive, "train", TRAIN_SHARES, seed)
        dev = f"{PARTITION}/test"
    held_out = tuple(dict.fromkeys([dev, *(name for name in imported_splits(archive) if name != "train")]))
    name, labels = f"{dev}, measured on {test}", _sample_dev(archive, dev, seed)
    return TuningTask(name, labels, load_split(archive, test), held_out, test, test)


def _sample_dev(archive: Archive, name: str, seed: int) -> Split:
    """Return at most MAX_DEV_QUERIES queries: more make each trial slower, and hardly change the choice."""
    return sample_queries(load_split(archive, name), MAX_DEV_QUERIES, seed)


def _cut_partition(archive: Archive, split_name: str, shares: Sequence[float], seed: int) -> None:
    """Divide a split, again if the archive has changed since then, as an old division lacks new queries."""
    content = content_hash(archive)
    if archive.meta.get(PARTITION_HASH_KEY) != content:
        delete_partition(archive, PARTITION)
    settings = {"shares": list(shares), "seed": seed}
    partitions.create_partition(archive, "cluster", settings, source_split=split_name, name=PARTITION, replace=True)
    archive.set_meta(**{PARTITION_HASH_KEY: content})


def _make_pseudo_task(archive: Archive, seed: int) -> TuningTask:
    """Return the task of the first pseudo-queries for which the archive has enough texts."""
    for pseudo in make_pseudo_queries(archive, seed):
        return TuningTask(pseudo.name, pseudo.dev, pseudo.test, has_pseudo_queries=True, fixed=pseudo.fixed, seed=seed)
    raise ArchiveError(
        f"{archive.path}: nothing to tune on: no labels, and fewer than {MIN_QUERIES} questions with an answer, a body "
        "or a title of several words"
    )
