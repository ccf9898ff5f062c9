"""The inverted index in a cluster: terms that are analysed here, scored there by the similarity of the index.

A question's own terms and those of its rephrasings are in two fields, so that the statistics count each question once.
The cluster's scores of rephrasings, which would go by another field's statistics, only propose; they are scored here.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askalike.errors import SettingsError
from askalike.index.cluster.connection import ClusterConnection, PendingSearch
from askalike.index.cluster.index import (
    MAX_WINDOW,
    ClusterIndex,
    ClusterState,
    ClusterWriter,
    exclusion_clauses,
    filter_clauses,
    split_docids,
)
from askalike.index.cluster.statistics import TermStatistics
from askalike.index.lexical.index import PostingsLayout
from askalike.index.lexical.searcher import MIN_INFORMATION, QueryTerms, TermContributions
from askalike.index.lexical.term_scores import TermScorer
from askalike.index.rows import Array, DocAttributes
from askalike.types import AllowedDocs, LaterTopDocs, TopDocs

MAX_TOKEN = 30_000
MAX_COMPLETIONS = 50
REPHRASINGS_PER_HIT, MORE_REPHRASINGS = 4, 100
"""How many rephrasings are fetched first, as several may belong to one question."""
QUESTIONS_PER_HIT = 2
"""They are of so many questions for each one wanted, as the cluster does not know their exact scores."""
DECIMALS = 9
SMALLEST_SCORE = 1e-30
OWN, REPHRASING = "terms", "rephrasing"


class ClusterPostingsIndex(ClusterIndex["ClusterPostingsSearcher", "ClusterPostingsWriter"]):
    """An inverted index for one similarity."""

    def __init__(
        self, cluster: ClusterConnection, name: str, layout: PostingsLayout, similarity: Mapping[str, Any]
    ) -> None:
        """similarity: its settings as OpenSearch takes them. Raises SettingsError for a layout that Lucene lacks."""
        if layout.exact_lengths:
            raise SettingsError("a cluster rounds document lengths as Lucene does; set lengths=byte")
        if layout.scale != 1:
            raise SettingsError("a cluster counts whole words; set title_weight and body_weight to whole numbers")
        super().__init__(cluster, name, layout.fingerprint)
        self._similarity = similarity

    def schema(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        tokenizer = {"type": "whitespace", "max_token_length": MAX_TOKEN}
        analysis = {"tokenizer": {"terms": tokenizer}, "analyzer": {"terms": {"type": "custom", "tokenizer": "terms"}}}
        field = {"type": "text", "analyzer": "terms", "similarity": "ranker", "index_options": "freqs"}
        settings = {"analysis": analysis, "index.similarity": {"ranker": self._similarity}}
        words = {"vocabulary": {"type": "keyword"}, "length": {"type": "integer"}}
        return settings, {OWN: field, REPHRASING: field, **words}

    def make_searcher(self) -> "ClusterPostingsSearcher":
        return ClusterPostingsSearcher(self.cluster, self.name, self.state.phrasings)

    def make_writer(self, generation: str, state: ClusterState) -> "ClusterPostingsWriter":
        return ClusterPostingsWriter(self, generation, state)


class ClusterPostingsWriter(ClusterWriter[ClusterPostingsIndex]):
    """Adds questions (or answers) as lists of terms."""

    def add(self, docid: int, phrasings: Sequence[tuple[int, Sequence[str]]], attributes: DocAttributes) -> None:
        """Add a question as (phrasing, terms), its own text being phrasing 0. Docids must ascend."""
        self.replace((docid,))
        for phrasing, terms in phrasings:
            text = " ".join(terms)
            field = REPHRASING if phrasing else OWN
            fields = {field: text, "vocabulary": sorted(set(terms)), "length": len(terms)}
            self.put(docid, phrasing, attributes, fields, 2 * len(text) + 200)


@dataclass(frozen=True, slots=True)
class PreparedClusterQueries:
    """Queries with the completions of their unfinished words."""

    queries: Sequence[QueryTerms]
    similarity: TermScorer
    completions: Sequence[Sequence[str]]

    @property
    def terms(self) -> set[str]:
        """All terms that the queries look for."""
        return {term for query in self.queries for term in query.terms} | {t for row in self.completions for t in row}


class ClusterPostingsSearcher:
    """Searches an inverted index of a cluster. Its methods are those of index.lexical's PostingsSearcher."""

    def __init__(self, cluster: ClusterConnection, index: str, phrasings: int) -> None:
        """phrasings: of how many texts a question has most."""
        self._cluster, self._index, self._phrasings = cluster, index, phrasings
        self._fields = (OWN, REPHRASING) if phrasings > 1 else (OWN,)
        self._statistics = TermStatistics(cluster, index, OWN)

    def prepare(self, queries: Sequence[QueryTerms], similarity: TermScorer) -> PreparedClusterQueries:
        """Look up the completions of unfinished words."""
        completions = []
        for query in queries:
            found = dict.fromkeys([*query.prefix_terms, *self.complete(query.prefix)]) if query.prefix else {}
            completions.append([term for term in found if term not in query.terms])
        return PreparedClusterQueries(queries, similarity, completions)

    def search(self, prepared: PreparedClusterQueries, k: int, allowed: AllowedDocs | None = None) -> Sequence[TopDocs]:
        """Return the k best questions of each query, each by its best phrasing."""
        if k < 1:
            return [TopDocs(np.empty(0, np.int64), np.empty(0)) for _ in prepared.queries]
        filters, sizes = filter_clauses(allowed), {OWN: k, REPHRASING: REPHRASINGS_PER_HIT * k + MORE_REPHRASINGS}
        pending = [self._search_fields(prepared, row, sizes, filters) for row in range(len(prepared.queries))]

        def fetch_more(row: int) -> TopDocs:
            """Fetch more rephrasings until they are of more questions than are wanted."""
            searches, size = pending[row], sizes[REPHRASING]
            while (hits := searches[REPHRASING].hits if REPHRASING in searches else ()) and len(hits) == size:
                if len({hit["sort"][1] for hit in hits}) > QUESTIONS_PER_HIT * k or size >= MAX_WINDOW:
                    break
                size = min(4 * size, MAX_WINDOW)
                more = self._search_fields(prepared, row, {OWN: k, REPHRASING: size}, filters)
                searches = {**searches, REPHRASING: more[REPHRASING]}
            return _top_docs(self._read_scores(prepared, row, searches), k)

        return LaterTopDocs(len(pending), lambda: [fetch_more(row) for row in range(len(pending))])

    def score(self, prepared: PreparedClusterQueries, candidates: Sequence[Array]) -> list[NDArray[np.float64]]:
        """Return the score of each query's candidates: docids in any order; 0 where nothing matches."""
        pending = [
            [self._search_docids(prepared, row, some) for some in split_docids(docids, self._phrasings)]
            for row, docids in enumerate(candidates)
        ]
        scores = []
        for row, (docids, searches) in enumerate(zip(candidates, pending, strict=True)):
            found: dict[int, float] = {}
            for search in searches:
                found |= self._read_scores(prepared, row, search)
            scores.append(np.array([found.get(docid, 0.0) for docid in docids.tolist()]))
        return scores

    def self_scores(self, prepared: PreparedClusterQueries) -> NDArray[np.float64]:
        """Return what a text of each query's own words would score for it, 0 for a query without words."""
        self._statistics.look_up(prepared.terms)
        totals = []
        for query, completions in zip(prepared.queries, prepared.completions, strict=True):
            counts = Counter(query.terms)
            if not counts and not completions:
                totals.append(0.0)
                continue
            weights = np.array([*counts.values(), *([1] * len(completions))], np.float64)
            length = len(query.terms) + bool(completions)
            lengths = np.full(len(weights), length, np.int64)
            each = self._statistics.score(prepared.similarity, [*counts, *completions], weights, lengths) * weights
            totals.append(each[: len(counts)].sum() + min(each[len(counts) :], default=0.0))
        return np.array(totals, np.float64)

    def coverage(self, prepared: PreparedClusterQueries, candidates: Sequence[Array]) -> list[NDArray[np.float64]]:
        """Return which share of each query's words its candidates have; see PostingsSearcher.coverage."""
        self._statistics.look_up(prepared.terms)
        shares = []
        for query, completions, docids in zip(prepared.queries, prepared.completions, candidates, strict=True):
            idf = self._statistics.information([*dict.fromkeys(query.terms), *completions])
            unfinished = min((idf[term] for term in completions), default=0.0)
            finished = {term: idf[term] for term in query.terms}
            best = dict.fromkeys(docids.tolist(), 0.0)
            for docid, _, terms in self._read_terms(query, docids) if len(docids) else ():
                present = set(terms)
                shared = sum(value for term, value in finished.items() if term in present)
                shared += unfinished if present.intersection(completions) else 0.0
                best[docid] = max(best[docid], shared)
            total = max(sum(finished.values()) + unfinished, MIN_INFORMATION)
            shares.append(np.array([best[docid] / total for docid in docids.tolist()], np.float64))
        return shares

    def contributions(
        self, prepared: PreparedClusterQueries, candidates: Sequence[Array]
    ) -> list[list[TermContributions]]:
        """Return what each term adds to the score of each query's candidates (docids in any order)."""
        rows: list[list[TermContributions]] = []
        for row, docids in enumerate(candidates):
            best = {int(docid): (0.0, TermContributions()) for docid in docids}
            texts = self._read_terms(prepared.queries[row], docids) if len(docids) else []
            scored = self._score_texts(prepared, row, [terms for _, _, terms in texts])
            for (docid, phrasing, _), scores in zip(texts, scored, strict=True):
                if (total := _sum_scores(scores)) > best[docid][0]:
                    best[docid] = total, TermContributions(phrasing, scores)
            rows.append([best[int(docid)][1] for docid in docids])
        return rows

    def complete(self, prefix: str) -> list[str]:
        """Return the terms that begin with a prefix, those in most questions first, at most MAX_COMPLETIONS."""
        escaped = "".join(f"\\{c}" if not c.isalnum() else c for c in prefix)
        words = {
            "field": "vocabulary",
            "include": f"{escaped}.*",
            "size": MAX_COMPLETIONS,
            "shard_size": 10 * MAX_COMPLETIONS,
        }
        aggregation = {"words": {"terms": {**words, "order": [{"_count": "desc"}, {"_key": "asc"}]}}}
        own: Mapping[str, Any] = {"term": {"phrasing": 0}}
        found: dict[str, None] = {}
        for condition in (own, {"bool": {"must_not": own}})[: len(self._fields)]:
            body = {
                "size": 0,
                "query": {"bool": {"filter": [condition, {"prefix": {"vocabulary": prefix}}]}},
                "aggs": aggregation,
            }
            result = self._cluster.search_later(self._index, body).result
            found |= dict.fromkeys(bucket["key"] for bucket in result["aggregations"]["words"]["buckets"])
        return list(found)[:MAX_COMPLETIONS]

    def _search_docids(self, prepared: PreparedClusterQueries, row: int, docids: Array) -> dict[str, PendingSearch]:
        sizes = {OWN: len(docids), REPHRASING: len(docids) * self._phrasings}
        return self._search_fields(prepared, row, sizes, [{"terms": {"docid": docids.tolist()}}])

    def _search_fields(
        self, prepared: PreparedClusterQueries, row: int, sizes: Mapping[str, int], filters: Sequence[Mapping[str, Any]]
    ) -> dict[str, PendingSearch]:
        """Return a search for own texts, and one for rephrasings where there are any."""
        query, completions = prepared.queries[row], prepared.completions[row]
        searches = {}
        for field in self._fields:
            clauses = _term_clauses(field, Counter(query.terms), completions)
            if not clauses:
                continue
            excluded = exclusion_clauses(query.excluded_docid, query.excluded_phrasing)
            found = {"should": clauses, "minimum_should_match": 1, "filter": filters, "must_not": excluded}
            order = {"sort": [{"_score": "desc"}, {"docid": "asc"}], "track_total_hits": False}
            body = {
                "query": {"bool": found},
                "size": min(sizes[field], MAX_WINDOW),
                "min_score": SMALLEST_SCORE,
                **order,
            }
            source = [field] if self._phrasings > 1 else False
            searches[field] = self._cluster.search_later(self._index, {**body, "_source": source})
        return searches

    def _read_scores(
        self, prepared: PreparedClusterQueries, row: int, searches: Mapping[str, PendingSearch]
    ) -> dict[int, float]:
        """Return docid → the score of its best phrasing.

        Where questions have rephrasings all texts are scored here, so that equal ones tie.
        """
        hits = [hit for search in searches.values() for hit in search.hits]
        scores, docids = [hit["sort"][0] for hit in hits], [hit["sort"][1] for hit in hits]
        if self._phrasings > 1:
            texts = [next(iter(hit["_source"].values())).split(" ") for hit in hits]
            scores = [_sum_scores(scores) for scores in self._score_texts(prepared, row, texts)]
        best: dict[int, float] = {}
        for docid, score in zip(docids, scores, strict=True):
            best[docid] = max(score, best.get(docid, 0.0))
        return best

    def _read_terms(self, query: QueryTerms, docids: Array) -> list[tuple[int, int, list[str]]]:
        """Return (docid, phrasing, terms) of every phrasing of these docids that the query may find."""
        excluded = exclusion_clauses(query.excluded_docid, query.excluded_phrasing)
        conditions = {"filter": [{"terms": {"docid": docids.tolist()}}], "must_not": excluded}
        order = [{"docid": "asc"}, {"phrasing": "asc"}]
        body = {"query": {"bool": conditions}, "size": len(docids) * self._phrasings, "sort": order}
        hits = self._cluster.search_later(self._index, {**body, "_source": list(self._fields)}).hits
        return [(*hit["sort"], next(iter(hit["_source"].values())).split()) for hit in hits]

    def _score_texts(
        self, prepared: PreparedClusterQueries, row: int, texts: Sequence[Sequence[str]]
    ) -> list[list[tuple[str, float]]]:
        """Return what each term of a query adds to the score of each of some texts, given as terms."""
        if not texts:
            return []
        self._statistics.look_up(prepared.terms)
        weights: Mapping[str, int] = Counter(prepared.queries[row].terms)
        completions = set(prepared.completions[row])
        matches = []
        for place, terms in enumerate(texts):
            counts = Counter(term for term in terms if term in weights or term in completions)
            matches += [(place, term, n, len(terms)) for term, n in counts.items()]
        if not matches:
            return [[] for _ in texts]
        places, terms, tf, lengths = zip(*matches, strict=True)
        scores = self._statistics.score(prepared.similarity, terms, np.array(tf, np.float64), np.array(lengths))
        rows: list[dict[str, float]] = [{} for _ in texts]
        for place, term, score in zip(places, terms, scores.tolist(), strict=True):
            rows[place][term] = score * weights.get(term, 1)
        return [_drop_lesser_completions(scores, weights) for scores in rows]


def _term_clauses(field: str, counts: Mapping[str, int], completions: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the clauses whose scores add up; of an unfinished word's completions the best one counts."""
    make: Callable[..., Mapping[str, Any]] = lambda term, n=1: {"term": {field: {"value": term, "boost": n}}}  # noqa: E731
    clauses = [make(term, n) for term, n in counts.items()]
    return [*clauses, {"dis_max": {"queries": [make(term) for term in completions]}}] if completions else clauses


def _drop_lesser_completions(scores: Mapping[str, float], weights: Mapping[str, int]) -> list[tuple[str, float]]:
    """Return the scores of a text's terms, of the completions the best one alone."""
    completed = [pair for pair in scores.items() if pair[0] not in weights]
    best = [max(completed, key=lambda pair: pair[1])] if completed else []
    return [(term, scores[term]) for term in weights if term in scores] + best


def _sum_scores(scores: Sequence[tuple[str, float]]) -> float:
    """Return the sum, rounded so that it does not depend on the order of the terms."""
    return round(sum(score for _, score in scores), DECIMALS)


def _top_docs(scores: Mapping[int, float], k: int) -> TopDocs:
    docids, values = np.array(list(scores), np.int64), np.array(list(scores.values()), np.float64)
    order = np.lexsort((docids, -values))[:k]
    return TopDocs(docids[order], values[order])
