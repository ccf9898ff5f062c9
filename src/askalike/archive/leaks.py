"""Checks for leaks: what lets a ranker know the answers that it is measured by."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

from askalike.archive.clusters import Clusters
from askalike.archive.findings import Finding, Subject, tallied
from askalike.archive.labels import given, labels, parts
from askalike.archive.sample import SIZE, sampled_answers
from askalike.archive.splits import documents_of, split
from askalike.archive.store import Archive
from askalike.archive.templates import WORD, eight_words
from askalike.archive.view import chunks
from askalike.types import Answer, Question, Split

NEARLY = 0.8
"""Two texts are nearly the same where this part of all their different terms is in both (Jaccard)."""
QUOTED_WORDS = 5
"""A title of fewer words may stand in its answer by chance."""


def same_text_across_splits(subject: Subject) -> Finding:
    """Queries of a split not for training whose text a query or relevant question of another split nearly has.

    Nothing is estimated: see Nearby. Holds the terms of those queries, and streams all other texts past them.
    """
    near: dict[tuple[str, str], str] = {}
    asked = 0
    for splits in _sets(subject):
        queries = Nearby()
        for name in filter(_is_measured, splits):
            for id, query in _split(subject, name).queries.items():
                queries.add(name, id, _terms(subject, query))
        asked += len(queries)
        for name in splits if len(queries) else ():
            for id, text in _texts(subject, name):
                for own, query_id in queries.near(name, _terms(subject, text)):
                    near.setdefault((own, query_id), f"{query_id} ({own}) ~ {id} ({name})")
    count, examples = tallied(near.values())
    meaning = "What is learned from one split is asked in another; cut by cluster, or take these texts out of one."
    return Finding("same_text_across_splits", count, asked, "queries of dev, test and folds", meaning, examples)


def clusters_across_splits(subject: Subject) -> Finding:
    """Queries of a split not for training whose duplicate cluster another split beside it knows of, too.

    A chain of links is enough: the test query's original may be the duplicate of what a training pair has.
    """
    connection = subject.view.connection
    clusters = Clusters.read(connection)
    found: list[str] = []
    asked = 0
    for splits in _sets(subject):
        known = {name: {x.query: clusters.of(x.text) for x in labels(connection, name)} for name in splits}
        among = Counter(cluster for own in known.values() for cluster in set(own.values()))
        for name in filter(_is_measured, splits):
            asked += len(known[name])
            found += [f"{id} ({name})" for id, cluster in known[name].items() if among[cluster] > 1]
    count, examples = tallied(found)
    meaning = "Training pairs give these queries' answers away through a chain of links; cut by cluster."
    return Finding("clusters_across_splits", count, asked, "queries of dev, test and folds", meaning, examples)


def related_duplicates(subject: Subject) -> Finding:
    """Duplicate links whose two ends a related link joins as well."""
    both = "JOIN questions s ON s.id = l.source JOIN questions t ON t.id = l.target WHERE l.kind = "
    joined = (
        f"FROM links l {both}'duplicate' AND (EXISTS (SELECT 1 FROM links r WHERE r.kind = 'related' AND "
        "r.source = l.source AND r.target = l.target) OR EXISTS (SELECT 1 FROM links r WHERE r.kind = 'related' AND "
        "r.source = l.target AND r.target = l.source))"
    )
    clusters = Clusters.read(subject.view.connection)
    inside = sum(clusters.of(link.source) == clusters.of(link.target) for link in subject.view.links("related"))
    related = subject.one(f"SELECT COUNT(*) FROM links l {both}'related'")
    return Finding(
        "related_duplicates",
        subject.one(f"SELECT COUNT(*) {joined}"),
        subject.one(f"SELECT COUNT(*) FROM links l {both}'duplicate'"),
        "duplicate links",
        "Related links learned from as they are carry these labels; askalike's training signals leave them out.",
        subject.examples(f"SELECT l.source || ' → ' || l.target {joined}"),
        (f"{inside:,} of {related:,} related links are inside a duplicate cluster",) if inside else (),
    )


def answers_quoting_questions(subject: Subject) -> Finding:
    """Answers that hold their question's title, or eight words of its text in a row; of a sample of at most 20,000."""
    total = subject.one("SELECT COUNT(*) FROM answers")
    n = min(SIZE, total)
    sampled = subject.track(sampled_answers(subject.view), total=n, description="answers quoting questions")
    count, examples = tallied(_quoting(subject, sampled))
    meaning = "A model of questions and answers learns from these to compare words; know it, or leave them out."
    of = "answers" if total <= SIZE else "sampled answers"
    return Finding("answers_quoting_questions", count, n, of, meaning, examples)


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """The part of all terms of two texts that both have."""
    both = len(one & other)
    return both / max(len(one) + len(other) - both, 1)


@dataclass(slots=True)
class Nearby:
    """Finds those of its texts that are nearly a given one: such texts share a term among the rarest few of each."""

    texts: list[tuple[str, str, frozenset[str]]] = field(default_factory=list)
    frequencies: Counter[str] = field(default_factory=Counter)
    postings: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def __len__(self) -> int:
        return len(self.texts)

    def add(self, split: str, id: str, terms: frozenset[str]) -> None:
        """Takes a text, by its terms; all before the first search."""
        self.texts.append((split, id, terms))
        self.frequencies.update(terms)

    def near(self, split: str, terms: frozenset[str]) -> Iterator[tuple[str, str]]:
        """The split and id of each text of another split that is nearly this one."""
        if not self.postings:
            for number, (_, _, own) in enumerate(self.texts):
                for term in self._rarest(own):
                    self.postings[term].append(number)
        for number in {number for term in self._rarest(terms) for number in self.postings.get(term, ())}:
            other, id, own = self.texts[number]
            if other != split and jaccard(own, terms) >= NEARLY:
                yield other, id

    def _rarest(self, terms: frozenset[str]) -> list[str]:
        """So many of the rarest terms that a text without any of them cannot share NEARLY of all."""
        few = len(terms) - ceil(NEARLY * len(terms)) + 1
        return sorted(terms, key=lambda term: (self.frequencies[term], term))[:few] if terms else []


def _sets(subject: Subject) -> list[list[str]]:
    """Splits that stand beside each other: the given ones, and the parts of each partition."""
    sets: Mapping[str, list[str]] = defaultdict(list)
    for name, part in parts(subject.view.connection).items():
        sets[part.partition].append(name)
    return [splits for splits in (given(subject.view.connection), *sets.values()) if len(splits) > 1]


def _is_measured(split: str) -> bool:
    return split.rpartition("/")[2] != "train"


def _split(subject: Subject, name: str) -> Split:
    archive = Archive(Path(subject.view.archive), subject.view.connection)
    return split(archive, name, documents_of(archive, name))


def _texts(subject: Subject, name: str) -> Iterator[tuple[str, Question]]:
    """The ids and texts that a split knows of: its queries, then what else is relevant to them."""
    own = _split(subject, name)
    yield from own.queries.items()
    relevant = {id for judged in own.qrels.values() for id, relevance in judged.items() if relevance > 0}
    for chunk in chunks(sorted(relevant - own.queries.keys())):
        yield from subject.view.get(chunk).items()


def _terms(subject: Subject, question: Question) -> frozenset[str]:
    return frozenset(term for field in subject.tokens(question) for term in field)


def _quoting(subject: Subject, answers: Iterable[Answer]) -> Iterator[str]:
    """The ids of the answers that quote their question."""
    for chunk in chunks(answers):
        questions = subject.view.get({answer.question_id for answer in chunk})
        known = ((answer, questions[answer.question_id]) for answer in chunk if answer.question_id in questions)
        yield from (answer.id for answer, question in known if _quotes(subject, answer, question))


def _quotes(subject: Subject, answer: Answer, question: Question) -> bool:
    said = subject.analyzer.text(answer.body, answer.markup)
    title = " ".join(WORD.findall(question.title.casefold()))
    if title.count(" ") + 1 >= QUOTED_WORDS and f" {title} " in f" {' '.join(WORD.findall(said.casefold()))} ":
        return True
    asked = subject.analyzer.text(question.body, question.markup)
    return not set(eight_words(asked)).isdisjoint(eight_words(said))
