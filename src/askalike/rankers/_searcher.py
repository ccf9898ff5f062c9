"""A ranker opened at one point in time, and ranking with it: queries in, a run out.

The documents to rank may be given, or limited by a filter.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from askalike.core.arrays import Docids, Floats, Ints, Scores
from askalike.core.errors import InputError, SettingsError
from askalike.core.filters import AllowedDocs, Filter
from askalike.core.hits import CORRECTED, PAIR, TYPED_QUERY_ID, Contribution, Explanation, Run
from askalike.core.records import Question
from askalike.index.engine import TitlesSearcher
from askalike.index.rows import find_distinct
from askalike.rankers._queries_and_results import (
    Corrector,
    Explanations,
    ResolvedQuery,
    Retrieved,
    Texts,
    fill_missing,
    resolve,
)
from askalike.store import Snapshot
from askalike.text.words import fold_title, title_key

TYPED_DEPTH = 48
"""Maximum number of documents from each part of a hybrid while a question is typed."""
DEPTH_FACTOR = 4
"""Factor by which the depth of a search is increased if too few hits remain."""
Candidates = Mapping[str, Sequence[str]]
"""Query id → the ids of the documents to rank for it."""
EXACT_BONUS = 1e-6
"""Added, relative to the best score, to that of a question with exactly the typed title if it was not the first."""


class Neighbours(NamedTuple):
    """Questions that are similar to some questions of the archive, none of them to itself.

    docids, titles, texts: for each question (n,); how similar the titles are, and the whole texts, from 0 to 1.
    """

    docids: Sequence[Docids]
    questions: Texts
    titles: Sequence[Floats]
    texts: Sequence[Floats]


class Searcher(ABC):
    """A ranker at one point in time: the index as it was committed when `Ranker.open` was called. Threads share it."""

    correctors: Sequence[Corrector] = ()
    """Correct the spelling of queries with the searcher's own words."""
    detects_language = False
    """Whether the language of a query matters where neither query nor archive has one."""
    languages: Sequence[str] | None = None
    """The languages that its encoder knows, see Ranker.languages."""
    bridges_languages = False
    """Whether its encoder compares a query with texts in other languages."""
    proposes = True
    """Whether it can retrieve, and not only score documents that other rankers retrieve."""
    titles: TitlesSearcher | None = None
    """Looks up titles; None if titles are no field next to others."""
    adds_titles = True
    """Whether a question with exactly the typed title that was not retrieved is added."""
    has_similarity = False
    """Whether a score is a similarity of two texts, independent of the other hits, as a cosine is."""

    def __init__(self, name: str, view: Snapshot) -> None:
        self.name, self.view = name, view
        self.language = view.language
        """The language of the whole archive; None if it has several or an unknown one."""
        self.text_languages = view.languages if self.language is None else ()
        """The languages of a multilingual archive; empty for any other."""
        self.own_languages = [self.language] if self.language else self.text_languages
        """The languages of the texts, as far as they are known."""

    def find_titles(self, queries: Sequence[ResolvedQuery]) -> Mapping[int, Sequence[int]]:
        """Look up the questions whose titles are equal to those of the queries but for case and punctuation.

        Returns the row of a query → their docids, ascending. A query with a body has none.
        """
        if self.titles is None:
            return {}
        keys = [0 if one.query.body else title_key(one.query.title) for one in queries]
        return self.titles.find_titles(keys, [one.excluded for one in queries])

    @abstractmethod
    def retrieve(self, queries: Sequence[ResolvedQuery], k: int, allowed: AllowedDocs | None = None) -> Retrieved:
        """Return the k best documents of each query, ties by docid. allowed: those that may be found; None for all."""

    @abstractmethod
    def score(
        self, queries: Sequence[ResolvedQuery], docids: Sequence[Docids], known: Retrieved | None = None
    ) -> Retrieved:
        """Return each query's documents in the given order, retrieved or not, with their scores and absolute scores.

        known: what this searcher retrieved for the same queries, so that nothing is encoded or scored twice.
        """

    def find_talk(self, sentences: Sequence[Question]) -> Mapping[Question, float]:
        """Return the log odds that sentences, as titles, are talk around a question, of those for which it can tell."""
        return {}

    def find_neighbours(self, questions: Texts, k: int) -> Neighbours:
        """Return the k questions or more that are most similar to each of some questions of the view, by docid.

        A similarity is the mean of both directions, each relative to the score of the question itself.
        """
        found = self.find_similar(questions, k)
        hits = self.view.questions_by_docid({docid for row in found for docid in row.tolist()})
        docids = [np.array([docid for docid in row.tolist() if docid in hits], np.int64) for row in found]
        finders: dict[int, list[int]] = {docid: [] for docid in hits}
        for own, row in zip(questions, docids, strict=True):
            for docid in row.tolist():
                finders[docid].append(own)
        there = self.compare_stored(questions, docids)
        back = self.compare_stored(hits, [np.array(row, np.int64) for row in finders.values()])
        means = []
        for forward, backward in zip(there, back, strict=True):
            scores = {docid: iter(row.tolist()) for docid, row in zip(hits, backward, strict=True)}
            returned = ([next(scores[docid]) for docid in row.tolist()] for row in docids)
            means.append([(one + other) / 2 for one, other in zip(forward, returned, strict=True)])
        return Neighbours(docids, hits, *means)

    def find_similar(self, questions: Texts, k: int) -> list[Docids]:
        """Return for each question the k others that it finds by its title, and those that it finds by its text."""
        found = [search(self, reading, k + 1).docids for reading in _read_twice(questions)]
        return [np.setdiff1d(np.concatenate(rows), [own]) for own, *rows in zip(questions, *found, strict=True)]

    def compare_stored(self, questions: Texts, docids: Sequence[Docids]) -> list[list[Floats]]:
        """Return how similar each question's title, then its whole text, is to documents, relative to its own."""
        pools = [np.append(row, own) for own, row in zip(questions, docids, strict=True)]
        compared = []
        for reading in _read_twice(questions):
            scored = self.score(resolve(self, reading), pools)
            scores = map(fill_missing, scored.absolute or ())
            compared.append([np.minimum(row[:-1] / max(row[-1], 1e-9), 1) for row in scores])
        return compared

    @abstractmethod
    def explain(
        self, retrieved: Retrieved, docids: Sequence[Docids], texts: Texts, *, exact: bool = False
    ) -> list[Explanations]:
        """Return for each query docid → why it has its score, for some of its retrieved documents.

        retrieved: from this searcher. texts: the documents by docid. exact: whether each word's contribution is exact,
        however long that takes; else words may have shares by similar words beside them, and function words no fields.
        """


def _read_twice(questions: Texts) -> Iterator[dict[str, Question]]:
    """Yield the questions' titles, then their whole texts, as queries that find the questions themselves, too."""
    whole = {f"{TYPED_QUERY_ID}{docid}": replace(q, id=f"{TYPED_QUERY_ID}{docid}") for docid, q in questions.items()}
    yield {id: replace(question, body="") for id, question in whole.items()}
    yield whole


def add_absolute(searcher: Searcher, retrieved: Retrieved) -> Retrieved:
    """Return what was retrieved with the absolute score of each document."""
    if retrieved.absolute is not None:
        return retrieved
    return searcher.score(retrieved.queries, retrieved.docids, retrieved)


def rank(
    searcher: Searcher, queries: Mapping[str, Question], k: int, *, candidates: Candidates | None = None,
    filter: Filter | None = None, prefix: bool = False,
) -> Run:  # fmt: skip
    """Return the k best documents of each query: best first, ties in archive order, only documents that match.

    candidates: query id → the ids to rank for it. All of them are then ranked, ties in the given order.
    filter: only documents that satisfy it are retrieved, and still k of them if possible.
    prefix: the last word of each query may be unfinished.
    queries: query id → question. A query with the id of an archive's question is that question, and finds neither
    itself nor its rephrasings; one with the id of a rephrasing (`QUESTION#2`) finds its question by its other
    phrasings. `identify_queries` gives queries from elsewhere ids that no question has.
    """
    if not isinstance(searcher, Searcher):
        raise InputError(f"rank: expected a searcher, as Ranker.open returns it, got {searcher!r}")
    if k < 0:
        raise SettingsError(f"k must be at least 0, got {k}")
    return to_run(searcher.view, search(searcher, queries, k, candidates=candidates, filter=filter, prefix=prefix))


def search(
    searcher: Searcher, queries: Mapping[str, Question], k: int, *, candidates: Candidates | None = None,
    filter: Filter | None = None, prefix: bool = False,
) -> Retrieved:  # fmt: skip
    """Return what `rank` returns as docids, with all that the searcher knows about them."""
    resolved = resolve(searcher, queries, prefix)
    if candidates is None:
        return retrieve(searcher, resolved, k, allowed_docs(searcher.view, filter))
    titles = searcher.find_titles(resolved)
    pools = find_pools(searcher.view, resolved, candidates, filter)
    ranked = rank_pools(searcher.score(resolved, pools))
    return first_hits(searcher, ranked, titles, k, adds=False)


def retrieve(
    searcher: Searcher, queries: Sequence[ResolvedQuery], k: int, allowed: AllowedDocs | None = None
) -> Retrieved:
    """Return the k best documents of each query, those with exactly its title first; see `first_hits`."""
    titles = searcher.find_titles(queries)  # first, as a cluster looks them up together with the search
    retrieved = searcher.retrieve(queries, k, allowed)
    return first_hits(searcher, retrieved, titles, k, allowed, adds=searcher.adds_titles)


def first_hits(
    searcher: Searcher, ranked: Retrieved, titles: Mapping[int, Sequence[int]], k: int,
    allowed: AllowedDocs | None = None, *, adds: bool,
) -> Retrieved:  # fmt: skip
    """Return the first k documents of each query; questions with exactly the typed title come first.

    titles: see `find_titles`; empty if none are looked up. A question that overtakes others gets a score just above
    theirs. adds: whether those that are not ranked are added, if they are allowed.
    """
    titles = _keep_equal_titles(searcher, ranked, titles) if titles else titles
    if titles and adds:
        ranked = _add_documents(searcher, ranked, titles, allowed)
    scores = list(ranked.scores)
    orders: dict[int, Ints] = {}
    for row, docids in titles.items():
        exact = [place for place, docid in enumerate(ranked.docids[row].tolist()) if docid in docids]
        if exact and exact[-1] >= len(exact):  # another question comes before one of them
            own = scores[row] = scores[row].copy()
            own[exact] = own[0] + EXACT_BONUS * max(1.0, abs(own[0]))
            orders[row] = _best_first(own, k)
    if not orders and all(len(own) <= k for own in ranked.docids):
        return ranked
    places = [orders.get(row, np.arange(min(k, len(own)))) for row, own in enumerate(ranked.docids)]
    return replace(ranked, scores=scores).select(places)


def _keep_equal_titles(
    searcher: Searcher, ranked: Retrieved, titles: Mapping[int, Sequence[int]]
) -> Mapping[int, Sequence[int]]:
    """Return those of the questions that have the query's title, or have it as a rephrasing, and are not first anyway.

    Indexes know only a key of each title, which another one may have.
    """
    moved = {row: own for row, own in titles.items() if {*own} != {*ranked.docids[row][: len(own)].tolist()}}
    questions = searcher.view.questions_by_docid(chain.from_iterable(moved.values())) if moved else {}
    known = {n: {*map(fold_title, (own.title, *own.rephrasings))} for n, own in questions.items()}
    wanted = {row: fold_title(ranked.queries[row].query.title) for row in moved}
    return {row: [n for n in own if wanted[row] in known.get(n, ())] for row, own in moved.items()}


def _add_documents(
    searcher: Searcher, ranked: Retrieved, wanted: Mapping[int, Sequence[int]], allowed: AllowedDocs | None
) -> Retrieved:
    """Return what was retrieved with further documents of some queries, which are scored if they are missing."""
    pools = {}
    for row, docids in wanted.items():
        present = set(ranked.docids[row].tolist())
        missing = [docid for docid in docids if docid not in present]
        if missing and allowed:
            missing = np.array(missing)[np.isin(missing, allowed.docids)].tolist()
        if missing:
            pools[row] = np.append(ranked.docids[row], missing).astype(np.int64)
    if not pools:
        return ranked
    scored = searcher.score([ranked.queries[row] for row in pools], list(pools.values()))
    return ranked.replace_rows(list(pools), rank_pools(scored))


def explain_ids(
    searcher: Searcher, query: Question, ids: Sequence[str], *, prefix: bool = False, exact: bool = False
) -> Mapping[str, Explanation]:
    """Return id → why that document has its score for the query, for those of `ids` that are in the view.

    exact: see Searcher.explain.
    """
    docids = searcher.view.docids(ids)
    resolved = resolve(searcher, {query.id: query}, prefix)
    given = np.array(list(docids.values()), np.int64)
    [reasons] = explain_retrieved(searcher, searcher.score(resolved, [given]), [given], exact=exact)
    return {id: reasons[docid] for id, docid in docids.items() if docid in reasons}


def explain_retrieved(
    searcher: Searcher, retrieved: Retrieved, docids: Sequence[Docids], texts: Texts | None = None, *,
    exact: bool = False,
) -> list[Explanations]:  # fmt: skip
    """Return for each query docid → why it has its score, with the words that the user typed; nothing for answers.

    texts: documents that have been read already, by docid. exact: see Searcher.explain.
    """
    view = searcher.view
    if view.kind == "answers":
        return [{} for _ in docids]
    if texts is None:
        texts = view.questions_by_docid(np.concatenate(docids).tolist())
    present = [wanted[[docid in texts for docid in wanted.tolist()]] if len(wanted) else wanted for wanted in docids]
    reasons = searcher.explain(retrieved, present, texts, exact=exact)
    queries = zip(retrieved.queries, reasons, strict=True)
    return [_show_typed_words(own, one.corrections) if one.corrections else own for one, own in queries]


def to_run(view: Snapshot, retrieved: Retrieved) -> Run:
    """Return the retrieved documents by ids, without those deleted since."""
    docids = np.concatenate([np.empty(0, np.int64), *retrieved.docids])
    columns = {}
    distinct = find_distinct(docids)
    ids = view.ids_of(distinct.tolist())
    found: list[Any] = [*map(ids.__getitem__, np.searchsorted(distinct, docids).tolist())]
    lacks_any = None in ids
    start = 0
    for one, scores in zip(retrieved.queries, retrieved.scores, strict=True):
        own = found[start : (start := start + len(scores))]
        if lacks_any:
            scores = scores[[id is not None for id in own]]
            own = [id for id in own if id is not None]
        columns[one.id] = own, scores
    return Run(columns)


def allowed_docs(view: Snapshot, filter: Filter | None) -> AllowedDocs | None:
    """Return the documents that satisfy a filter. An index can only apply it to questions, not to answers."""
    if not filter:
        return None
    return AllowedDocs(lambda: view.filtered_docids(filter), filter if view.kind == "questions" else None)


def find_pools(
    view: Snapshot, queries: Sequence[ResolvedQuery], candidates: Candidates, filter: Filter | None = None
) -> list[Docids]:
    """Return the docids of each query's distinct candidates that satisfy the filter, without the query itself."""
    docids = view.docids({id for one in queries for id in candidates.get(one.id, ())})
    if filter:
        allowed = set(view.filtered_docids(filter).tolist())
        docids = {id: docid for id, docid in docids.items() if docid in allowed}
    return [_pool(candidates.get(one.id, ()), docids, one) for one in queries]


def rank_pools(scored: Retrieved) -> Retrieved:
    """Return given documents, best first, ties in the given order; a missing score becomes the minimum, at most 0."""
    filled = [np.where(np.isnan(s), s[~np.isnan(s)].min(initial=0.0), s) for s in scored.scores]
    return replace(scored, scores=filled).select([_best_first(scores) for scores in filled])


def _best_first(scores: Scores, k: int | None = None) -> Ints:
    return np.argsort(-scores, kind="stable")[:k]


def _pool(candidates: Iterable[str], docids: Mapping[str, int], query: ResolvedQuery) -> Docids:
    own = query.excluded.docid if query.excluded and query.excluded.phrasing is None else None
    pool = [docids[id] for id in dict.fromkeys(candidates) if docids.get(id, own) != own]
    return np.array(pool, np.int64)


def _show_typed_words(reasons: Explanations, corrections: Mapping[str, str]) -> Explanations:
    """Return the explanations with `typed → corrected` in place of each corrected word."""
    shown = {corrected.lower(): f"{typed}{CORRECTED}{corrected}" for typed, corrected in corrections.items()}
    labels = {}
    for label in {row.word for reason in reasons.values() for row in reason.contributions}:
        word, near, other = label.partition(PAIR)
        if typed := shown.get(word.lower()):
            labels[label] = f"{typed}{near}{other}"
    return {docid: _relabel(reason, labels) if labels else reason for docid, reason in reasons.items()}


def _relabel(explanation: Explanation, labels: Mapping[str, str]) -> Explanation:
    """Return the explanation with other words. labels: word → what is shown instead."""
    rows = [
        Contribution(labels[row.word], row.fields, row.score) if row.word in labels else row
        for row in explanation.contributions
    ]
    return replace(explanation, contributions=tuple(rows))
