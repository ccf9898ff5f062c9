"""Checks for leaks: what lets a ranker know the answers that it is measured by."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil

from askalike.health.boilerplate import WORD_PATTERN, word_ngrams
from askalike.health.findings import MAX_EXAMPLES, CheckContext, Finding, count_with_examples
from askalike.iteration import chunks
from askalike.labels.splits import document_kind, load_split
from askalike.store.integrity import related_duplicate_links
from askalike.store.labels import imported_splits, read_labels
from askalike.store.partitions import partition_parts
from askalike.store.samples import SAMPLE_SIZE, sample_answers
from askalike.store.statistics import count_links
from askalike.types import Answer, Question, Split

NEAR_DUPLICATE_JACCARD = 0.8
"""Two texts are nearly the same where this part of all their different terms is in both (Jaccard)."""
MIN_QUOTED_WORDS = 5
"""A title of fewer words may stand in its answer by chance."""


def same_text_across_splits(context: CheckContext) -> Finding:
    """Queries of a split not for training whose text a query or relevant question of another split nearly has.

    Nothing is estimated: see Nearby. Holds the terms of those queries, and streams all other texts past them.
    """
    near: dict[tuple[str, str], str] = {}
    asked = 0
    for splits in _split_groups(context):
        queries = NearDuplicateIndex()
        for name in filter(_is_evaluated, splits):
            for id, query in _load_split(context, name).queries.items():
                queries.add(name, id, _question_terms(context, query))
        asked += len(queries)
        for name in splits if len(queries) else ():
            for id, text in _split_texts(context, name):
                for own, query_id in queries.find_near_duplicates(name, _question_terms(context, text)):
                    near.setdefault((own, query_id), f"{query_id} ({own}) ~ {id} ({name})")
    count, examples = count_with_examples(near.values())
    meaning = "What is learned from one split is asked in another; cut by cluster, or take these texts out of one."
    return Finding("same_text_across_splits", count, asked, "queries of dev, test and folds", meaning, examples)


def clusters_across_splits(context: CheckContext) -> Finding:
    """Queries of a split not for training whose duplicate cluster another split beside it knows of, too.

    A chain of links is enough: the test query's original may be the duplicate of what a training pair has.
    """
    clusters = context.view.clusters()
    leaking: list[str] = []
    total = 0
    for splits in _split_groups(context):
        labels = {name: read_labels(context.view, name) for name in splits}
        cluster_by_query = {
            name: {label.query_id: clusters.cluster_of(label.text_id) for label in labels[name]} for name in splits
        }
        n_splits = Counter(cluster for of_split in cluster_by_query.values() for cluster in set(of_split.values()))
        for name in filter(_is_evaluated, splits):
            total += len(cluster_by_query[name])
            leaking += [f"{id} ({name})" for id, cluster in cluster_by_query[name].items() if n_splits[cluster] > 1]
    count, examples = count_with_examples(leaking)
    meaning = "Training pairs give these queries' answers away through a chain of links; cut by cluster."
    return Finding("clusters_across_splits", count, total, "queries of dev, test and folds", meaning, examples)


def related_duplicates(context: CheckContext) -> Finding:
    """Duplicate links whose two ends a related link joins as well."""
    clusters = context.view.clusters()
    inside = sum(
        clusters.cluster_of(link.source) == clusters.cluster_of(link.target) for link in context.view.links("related")
    )
    n_related = count_links(context.view, "related")
    count, total, examples = related_duplicate_links(context.view, MAX_EXAMPLES)
    meaning = "Related links learned from as they are carry these labels; askalike's training signals leave them out."
    details = (f"{inside:,} of {n_related:,} related links are inside a duplicate cluster",) if inside else ()
    return Finding("related_duplicates", count, total, "duplicate links", meaning, examples, details)


def answers_quoting_questions(context: CheckContext) -> Finding:
    """Answers that hold their question's title, or eight words of its text in a row; of a sample of at most 20,000."""
    total = len(context.archive.view("answers"))
    n = min(SAMPLE_SIZE, total)
    sampled = context.track(sample_answers(context.view), total=n, description="answers quoting questions")
    count, examples = count_with_examples(_quoting_answer_ids(context, sampled))
    meaning = "A model of questions and answers learns from these to compare words; know it, or leave them out."
    of = "answers" if total <= SAMPLE_SIZE else "sampled answers"
    return Finding("answers_quoting_questions", count, n, of, meaning, examples)


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """The part of all terms of two texts that both have."""
    both = len(one & other)
    return both / max(len(one) + len(other) - both, 1)


@dataclass(slots=True)
class NearDuplicateIndex:
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

    def find_near_duplicates(self, split: str, terms: frozenset[str]) -> Iterator[tuple[str, str]]:
        """The split and id of each text of another split that is nearly this one."""
        if not self.postings:
            for number, (_, _, own) in enumerate(self.texts):
                for term in self._rarest_terms(own):
                    self.postings[term].append(number)
        for number in {number for term in self._rarest_terms(terms) for number in self.postings.get(term, ())}:
            other, id, own = self.texts[number]
            if other != split and jaccard(own, terms) >= NEAR_DUPLICATE_JACCARD:
                yield other, id

    def _rarest_terms(self, terms: frozenset[str]) -> list[str]:
        """So many of the rarest terms that a text without any of them cannot share NEARLY of all."""
        few = len(terms) - ceil(NEAR_DUPLICATE_JACCARD * len(terms)) + 1
        return sorted(terms, key=lambda term: (self.frequencies[term], term))[:few] if terms else []


def _split_groups(context: CheckContext) -> list[list[str]]:
    """Splits that stand beside each other: the given ones, and the parts of each partition."""
    sets: Mapping[str, list[str]] = defaultdict(list)
    for name, part in partition_parts(context.view).items():
        sets[part.partition].append(name)
    return [splits for splits in (imported_splits(context.view), *sets.values()) if len(splits) > 1]


def _is_evaluated(split: str) -> bool:
    return split.rpartition("/")[2] != "train"


def _load_split(context: CheckContext, name: str) -> Split:
    return load_split(context.archive, name, document_kind(context.archive, name))


def _split_texts(context: CheckContext, name: str) -> Iterator[tuple[str, Question]]:
    """The ids and texts that a split knows of: its queries, then what else is relevant to them."""
    own = _load_split(context, name)
    yield from own.queries.items()
    relevant = {id for judged in own.qrels.values() for id, relevance in judged.items() if relevance > 0}
    for chunk in chunks(sorted(relevant - own.queries.keys())):
        yield from context.view.get_questions(chunk).items()


def _question_terms(context: CheckContext, question: Question) -> frozenset[str]:
    return frozenset(term for field in context.tokens(question) for term in field)


def _quoting_answer_ids(context: CheckContext, answers: Iterable[Answer]) -> Iterator[str]:
    """The ids of the answers that quote their question."""
    for chunk in chunks(answers):
        questions = context.view.get_questions({answer.question_id for answer in chunk})
        known = ((answer, questions[answer.question_id]) for answer in chunk if answer.question_id in questions)
        yield from (answer.id for answer, question in known if _quotes_question(context, answer, question))


def _quotes_question(context: CheckContext, answer: Answer, question: Question) -> bool:
    said = context.analyzer.plain_text(answer.body, answer.markup)
    title = " ".join(WORD_PATTERN.findall(question.title.casefold()))
    if (
        title.count(" ") + 1 >= MIN_QUOTED_WORDS
        and f" {title} " in f" {' '.join(WORD_PATTERN.findall(said.casefold()))} "
    ):
        return True
    asked = context.analyzer.plain_text(question.body, question.markup)
    return not set(word_ngrams(asked)).isdisjoint(word_ngrams(said))
