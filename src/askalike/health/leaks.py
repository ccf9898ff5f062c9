"""Checks for leaks: texts and links that reveal the labels that a ranker is measured with."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil

from askalike.core.iteration import chunks
from askalike.core.records import Answer, Question, Split
from askalike.health.findings import MAX_EXAMPLES, CheckContext, Finding, count_with_examples
from askalike.health.templates import word_ngrams
from askalike.labels.splits import document_kind, load_split
from askalike.store import imported_splits, partition_parts, read_labels, sample_answers
from askalike.store.contents import SAMPLE_SIZE, find_faults
from askalike.store.labels import count_links
from askalike.text.banners import words_after_banner
from askalike.text.words import WORD

NEAR_DUPLICATE_JACCARD = 0.8
"""Minimum Jaccard similarity of the sets of terms of near duplicates."""
MIN_QUOTED_WORDS = 5
"""Minimum number of words of a quoted title; a shorter one may be in its answer by chance."""


def named_originals(context: CheckContext) -> Finding:
    """Find labelled questions whose body begins with a banner and the title of what a label joins them to.

    An import removes banners whose end can be seen. In public copies of CQADupStack the banner, the title and the body
    are one line.
    """
    titles = _joined_titles(context)
    words = {
        question.id: _join_words(words_after_banner(question.body, question.markup))
        for chunk in chunks(sorted(titles))
        for question in context.view.get_questions(chunk).values()
        if question.body
    }
    count, examples = count_with_examples(
        id for id, text in words.items() if text and any(f"{text} ".startswith(f"{title} ") for title in titles[id])
    )
    meaning = "They contain their original's title, so measures are too high; compare rankers without these questions."
    return Finding("named_originals", count, len(words), "labelled questions with a body", meaning, examples)


def same_text_across_splits(context: CheckContext) -> Finding:
    """Find queries of evaluated splits with a near duplicate among the queries and relevant questions of another split.

    The search is exact (see NearDuplicateIndex). Only the terms of the queries are in memory; other texts are streamed.
    """
    near: dict[tuple[str, str], str] = {}
    total = 0
    for splits in _split_groups(context):
        queries = NearDuplicateIndex()
        for name in filter(_is_evaluated, splits):
            for id, query in _load_split(context, name).queries.items():
                queries.add(name, id, _question_terms(context, query))
        total += len(queries)
        for name in splits if len(queries) else ():
            for id, text in _split_texts(context, name):
                for split, query_id in queries.find_near_duplicates(name, _question_terms(context, text)):
                    near.setdefault((split, query_id), f"{query_id} ({split}) ~ {id} ({name})")
    count, examples = count_with_examples(near.values())
    meaning = "Texts of one split are queries in another; divide by cluster, or remove these texts from one."
    return Finding("same_text_across_splits", count, total, "queries of dev, test and folds", meaning, examples)


def clusters_across_splits(context: CheckContext) -> Finding:
    """Find queries of evaluated splits whose duplicate cluster is also in another split.

    A chain of links is enough: the original of a test query may be the duplicate of a question in a training pair.
    """
    view = context.view
    clusters = view.clusters()
    leaking: list[str] = []
    total = 0
    for splits in _split_groups(context):
        by_query = {
            name: {x.query_id: clusters.cluster_of(x.text_id) for x in read_labels(view, name)} for name in splits
        }
        n_splits = Counter(cluster for split_clusters in by_query.values() for cluster in set(split_clusters.values()))
        for name in filter(_is_evaluated, splits):
            total += len(by_query[name])
            leaking += [f"{id} ({name})" for id, cluster in by_query[name].items() if n_splits[cluster] > 1]
    count, examples = count_with_examples(leaking)
    meaning = "Training pairs reveal these queries' answers through a chain of links; divide by cluster."
    return Finding("clusters_across_splits", count, total, "queries of dev, test and folds", meaning, examples)


def related_duplicates(context: CheckContext) -> Finding:
    """Find duplicate links between two questions that are also joined by a related link."""
    clusters = context.view.clusters()
    cluster = clusters.cluster_of
    links = context.view.links("related")
    inside = sum(cluster(link.source) == cluster(link.target) for link in links)
    n_related = count_links(context.view, "related")
    count, total, examples = find_faults(context.view, "related_duplicates", MAX_EXAMPLES)
    meaning = "Related links would reveal these labels to a model; askalike's training signals leave them out."
    details = (f"{inside:,} of {n_related:,} related links are inside a duplicate cluster",) if inside else ()
    return Finding("related_duplicates", count, total, "duplicate links", meaning, examples, details)


def answers_quoting_questions(context: CheckContext) -> Finding:
    """Find answers with their question's title, or eight words of its body in a row, in a sample of at most 20,000."""
    total = len(context.archive.view("answers"))
    n = min(SAMPLE_SIZE, total)
    sampled = context.track(sample_answers(context.view), total=n, description="answers quoting questions")
    count, examples = count_with_examples(_quoting_answer_ids(context, sampled))
    meaning = "From these, a model of questions and answers learns to compare words; consider leaving them out."
    of = "answers" if total <= SAMPLE_SIZE else "sampled answers"
    return Finding("answers_quoting_questions", count, n, of, meaning, examples)


@dataclass(slots=True)
class NearDuplicateIndex:
    """Finds the near duplicates of a text exactly: two near duplicates share one of the rarest terms of each.

    See `_rarest_terms` (prefix filtering, Chaudhuri et al. 2006).
    """

    texts: list[tuple[str, str, frozenset[str]]] = field(default_factory=list)
    frequencies: Counter[str] = field(default_factory=Counter)
    postings: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def __len__(self) -> int:
        return len(self.texts)

    def add(self, split: str, id: str, terms: frozenset[str]) -> None:
        """Add a text by its terms. All texts are added before the first search."""
        self.texts.append((split, id, terms))
        self.frequencies.update(terms)

    def find_near_duplicates(self, split: str, terms: frozenset[str]) -> Iterator[tuple[str, str]]:
        """Yield split and id of each near duplicate in another split."""
        if not self.postings:
            for number, (_, _, text_terms) in enumerate(self.texts):
                for term in self._rarest_terms(text_terms):
                    self.postings[term].append(number)
        for number in {number for term in self._rarest_terms(terms) for number in self.postings.get(term, ())}:
            other_split, id, text_terms = self.texts[number]
            jaccard = len(text_terms & terms) / max(len(text_terms | terms), 1)
            if other_split != split and jaccard >= NEAR_DUPLICATE_JACCARD:
                yield other_split, id

    def _rarest_terms(self, terms: frozenset[str]) -> list[str]:
        """Return enough of the rarest terms so that a text without any of them cannot be a near duplicate."""
        n = len(terms) - ceil(NEAR_DUPLICATE_JACCARD * len(terms)) + 1
        return sorted(terms, key=lambda term: (self.frequencies[term], term))[:n] if terms else []


def _joined_titles(context: CheckContext) -> Mapping[str, set[str]]:
    """Return the id of each labelled question, with the titles of what labels join it to."""
    titles: Mapping[str, set[str]] = defaultdict(set)
    for chunk in chunks(context.view.links("duplicate")):
        ends = context.view.get_questions({end for link in chunk for end in (link.source, link.target)})
        for link in chunk:
            titles[link.source].add(_join_words(ends[link.target].title))
            titles[link.target].add(_join_words(ends[link.source].title))
    for name in imported_splits(context.view):
        split = _load_split(context, name)
        for query_id, judged in split.qrels.items():
            title = _join_words(split.queries[query_id].title)
            for id in (id for id, grade in judged.items() if grade > 0):
                titles[id].add(title)
    return titles


def _split_groups(context: CheckContext) -> list[list[str]]:
    """Return the groups of splits that belong together: the imported splits, and the parts of each partition."""
    partitions: Mapping[str, list[str]] = defaultdict(list)
    for name, part in partition_parts(context.view).items():
        partitions[part.partition].append(name)
    return [splits for splits in (imported_splits(context.view), *partitions.values()) if len(splits) > 1]


def _is_evaluated(split: str) -> bool:
    return split.rpartition("/")[2] != "train"


def _load_split(context: CheckContext, name: str) -> Split:
    return load_split(context.archive, name, document_kind(context.archive, name))


def _split_texts(context: CheckContext, name: str) -> Iterator[tuple[str, Question]]:
    """Yield ids and texts of a split: its queries, then the questions relevant to them."""
    split = _load_split(context, name)
    yield from split.queries.items()
    relevant = {id for judged in split.qrels.values() for id, relevance in judged.items() if relevance > 0}
    for chunk in chunks(sorted(relevant - {query.id for query in split.queries.values()})):
        yield from context.view.get_questions(chunk).items()


def _question_terms(context: CheckContext, question: Question) -> frozenset[str]:
    return frozenset(term for field in context.tokens(question) for term in field)


def _quoting_answer_ids(context: CheckContext, answers: Iterable[Answer]) -> Iterator[str]:
    for chunk in chunks(answers):
        questions = context.view.get_questions({answer.question_id for answer in chunk})
        pairs = ((answer, questions[answer.question_id]) for answer in chunk if answer.question_id in questions)
        yield from (answer.id for answer, question in pairs if _quotes_question(context, answer, question))


def _quotes_question(context: CheckContext, answer: Answer, question: Question) -> bool:
    answer_text = context.analyzer.plain_text(answer.body, answer.markup)
    title = _join_words(question.title)
    if title.count(" ") + 1 >= MIN_QUOTED_WORDS and f" {title} " in f" {_join_words(answer_text)} ":
        return True
    body = context.analyzer.plain_text(question.body, question.markup)
    return not set(word_ngrams(body)).isdisjoint(word_ngrams(answer_text))


def _join_words(text: str) -> str:
    return " ".join(WORD.findall(text.casefold()))
