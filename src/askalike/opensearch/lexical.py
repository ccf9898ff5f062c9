"""The inverted index in a cluster: texts are analysed here, and scored there by the similarity of the index.

A question's own terms and those of its rephrasings are in two fields, so that the statistics count each question once.
The cluster's scores are float32: hits with nearly equal scores are scored here, in the integers of a local index.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askalike.core.errors import SettingsError
from askalike.core.types import AllowedDocs, TopDocs
from askalike.index.lexical.index import LexicalLayout
from askalike.index.lexical.prepared import FieldWeights, QueryTerms
from askalike.index.lexical.searcher import MIN_INFORMATION, CandidateMatches, TermContributions
from askalike.index.lexical.term_scores import TermScorer, round_to_integers
from askalike.index.lexical.vocabulary import MAX_CACHED_PREFIXES, MAX_COMPLETIONS
from askalike.index.rows import Array, DocAttributes, score_missing
from askalike.opensearch.connection import OpenSearchConnection, PendingSearch
from askalike.opensearch.index import (
    MAX_WINDOW,
    OpenSearchIndex,
    OpenSearchWriter,
    exclusion_clauses,
    filter_clauses,
    split_docids,
)
from askalike.opensearch.rephrasings import SIMILARITY, table_clause
from askalike.opensearch.spelling import OpenSearchTermSpeller
from askalike.opensearch.state import IndexState
from askalike.opensearch.statistics import LONGEST, TermStatistics
from askalike.opensearch.uncertain import larger_windows, nearly_equal, sort_hits

MAX_TOKEN = 30_000
SHORT_LIST = 100
"""Maximum length of a result list fetched with the texts of its hits: searches that show hits need these; runs are
longer."""
MORE_TEXTS = 10
REPHRASINGS_PER_HIT, MORE_REPHRASINGS = 4, 100
"""k + MORE_TEXTS own texts and REPHRASINGS_PER_HIT * k + MORE_REPHRASINGS rephrasings are fetched first, since several
rephrasings may belong to one question."""
SMALLEST_SCORE = 1e-30
OWN, REPHRASING = "terms", "rephrasing"


class OpenSearchLexicalIndex(OpenSearchIndex["OpenSearchLexicalSearcher", "OpenSearchLexicalWriter"]):
    """An inverted index for one similarity."""

    def __init__(
        self, cluster: OpenSearchConnection, name: str, layout: LexicalLayout, similarity: Mapping[str, Any]
    ) -> None:
        """similarity: its settings in OpenSearch's format. Raises SettingsError for a layout unknown to Lucene."""
        if layout.exact_lengths:
            raise SettingsError("a cluster rounds document lengths as Lucene does; set lengths=byte")
        if layout.field_count != 1:
            raise SettingsError("a cluster searches one field; set fields=text")
        super().__init__(cluster, name, layout.fingerprint)
        self._similarity = similarity

    def schema(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        tokenizer = {"type": "whitespace", "max_token_length": MAX_TOKEN}
        analysis = {"tokenizer": {"terms": tokenizer}, "analyzer": {"terms": {"type": "custom", "tokenizer": "terms"}}}
        field = {"type": "text", "analyzer": "terms", "similarity": "ranker", "index_options": "freqs"}
        similarities = {"ranker": self._similarity, "rephrasings": SIMILARITY}
        settings = {"analysis": analysis, "index.similarity": similarities}
        rephrasing = {**field, "similarity": "rephrasings"}
        return settings, {OWN: field, REPHRASING: rephrasing, "vocabulary": {"type": "keyword"}}

    def make_searcher(self, state: IndexState) -> "OpenSearchLexicalSearcher":
        return OpenSearchLexicalSearcher(self.cluster, self.name, state)

    def make_writer(self, generation: str, state: IndexState) -> "OpenSearchLexicalWriter":
        return OpenSearchLexicalWriter(self, generation, state)


class OpenSearchLexicalWriter(OpenSearchWriter[OpenSearchLexicalIndex]):
    """Adds questions (or answers) as lists of terms."""

    def add(self, docid: int, phrasings: Sequence[tuple[int, Sequence[str]]], attributes: DocAttributes) -> None:
        """Add a question as (phrasing, terms), its own text being phrasing 0. Docids must ascend."""
        self.replace((docid,))
        for phrasing, terms in phrasings:
            text = " ".join(terms)
            field = REPHRASING if phrasing else OWN
            fields = {field: text, "vocabulary": sorted(set(terms))}
            self.put(docid, phrasing, attributes, fields, 2 * len(text) + 200)
        self._note_lengths(len(phrasings[0][1]), max((len(terms) for _, terms in phrasings[1:]), default=0))

    def _note_lengths(self, *lengths: int) -> None:
        """Note the lengths of an own text and of its longest rephrasing, if they are the longest so far."""
        before = (self.state.facts or {}).get(LONGEST, [0, 0])
        longest = [max(pair) for pair in zip(before, lengths, strict=True)]
        if longest != before:
            self.state = replace(self.state, facts={LONGEST: longest})


Text = tuple[int, int, str]
"""Docid, phrasing, and terms with spaces between them, of a text."""


@dataclass(frozen=True, slots=True)
class PreparedOpenSearchQueries:
    """Queries with the completions of their unfinished words.

    texts: for each query, docid → its texts that the query may find, if they have been read.
    """

    queries: Sequence[QueryTerms]
    similarity: TermScorer
    completions: Sequence[Sequence[str]]
    texts: Sequence[dict[int, list[Text]]]

    @property
    def terms(self) -> set[str]:
        """All terms that the queries look for."""
        return {term for query in self.queries for term in query.terms} | {t for row in self.completions for t in row}


class OpenSearchLexicalSearcher:
    """Searches an inverted index of a cluster. Its methods are those of index.lexical's PostingsSearcher."""

    def __init__(self, cluster: OpenSearchConnection, index: str, state: IndexState) -> None:
        self._cluster, self._index, self._phrasings = cluster, index, state.phrasings
        self._fields = (OWN, REPHRASING) if state.phrasings > 1 else (OWN,)
        self._statistics = TermStatistics(cluster, index, state, OWN, REPHRASING)
        self._completions: dict[str, list[str]] = {}
        self.speller = OpenSearchTermSpeller(cluster, index, self._fields, self._statistics)
        """Finds terms that are spelt nearly like a word."""

    def prepare(
        self, queries: Sequence[QueryTerms], similarity: TermScorer, fields: FieldWeights
    ) -> PreparedOpenSearchQueries:
        """Look up the completions of unfinished words. Raises SettingsError for queries with weights of words."""
        if any(query.weights is not None for query in queries):
            raise SettingsError("OpenSearch cannot weight the words of a query; rank without --opensearch")
        completions = []
        for query in queries:
            found = dict.fromkeys([*query.prefix_terms, *self.complete(query.prefix)]) if query.prefix else {}
            completions.append([term for term in found if term not in query.terms])
        return PreparedOpenSearchQueries(queries, similarity, completions, [{} for _ in queries])

    def search(
        self, prepared: PreparedOpenSearchQueries, k: int, allowed: AllowedDocs | None = None
    ) -> Sequence[TopDocs]:
        """Return the k best questions of each query, each by its best phrasing."""
        if k < 1:
            return [TopDocs(np.empty(0, np.int64), np.empty(0)) for _ in prepared.queries]
        filters = filter_clauses(allowed)
        sizes = {OWN: k + MORE_TEXTS, REPHRASING: REPHRASINGS_PER_HIT * k + MORE_REPHRASINGS}
        pending = [self._search_fields(prepared, row, sizes, filters) for row in range(len(prepared.queries))]

        def fetch_all() -> list[TopDocs]:
            """Fetch more texts for all queries together, until no further text can be among the k best of any query."""
            fetched, found = [sizes] * len(pending), [dict[int, float]()] * len(pending)
            rows = list(range(len(pending)))
            while rows:
                more: dict[int, dict[str, int]] = {}
                for row in rows:
                    found[row] = self._read_hits(prepared, row, pending[row])
                    if windows := larger_windows(pending[row], fetched[row], found[row], k):
                        more[row] = windows
                for row, windows in more.items():
                    pending[row] = pending[row] | self._search_fields(prepared, row, windows, filters)
                    fetched[row] = fetched[row] | windows
                rows = list(more)
            return self._order_hits(prepared, found, [k] * len(found))

        return fetch_all()

    def score(self, prepared: PreparedOpenSearchQueries, candidates: Sequence[Array]) -> list[NDArray[np.float64]]:
        """Return the score of each query's candidates: docids in any order; 0 where nothing matches."""
        pending = [
            [self._search_docids(prepared, row, some) for some in split_docids(docids, self._phrasings)]
            for row, docids in enumerate(candidates)
        ]
        found = [
            {docid: score for search in searches for docid, score in self._read_hits(prepared, row, search).items()}
            for row, searches in enumerate(pending)
        ]
        scores = []
        for docids, top in zip(candidates, self._order_hits(prepared, found, list(map(len, found))), strict=True):
            exact = dict(zip(top.docids.tolist(), top.scores.tolist(), strict=True))
            scores.append(np.array([exact.get(docid, 0.0) for docid in docids.tolist()]))
        return scores

    def self_scores(self, prepared: PreparedOpenSearchQueries) -> NDArray[np.float64]:
        """Return the score of each query for a text with the same words; 0 for a query without words."""
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

    def coverage(self, prepared: PreparedOpenSearchQueries, candidates: Sequence[Array]) -> list[NDArray[np.float64]]:
        """Return the share of each query's words that its candidates have; see PostingsSearcher.coverage."""
        self._statistics.look_up(prepared.terms)
        shares = []
        for query, completions, docids, texts in zip(
            prepared.queries, prepared.completions, candidates, self._read_texts(prepared, candidates), strict=True
        ):
            idf = self._statistics.information([*dict.fromkeys(query.terms), *completions])
            unfinished = min((idf[term] for term in completions), default=0.0)
            finished = {term: idf[term] for term in query.terms}
            best = dict.fromkeys(docids.tolist(), 0.0)
            for docid, _, terms in texts:
                present = set(terms.split())
                shared = sum(value for term, value in finished.items() if term in present)
                shared += unfinished if present.intersection(completions) else 0.0
                best[docid] = max(best[docid], shared)
            total = max(sum(finished.values()) + unfinished, MIN_INFORMATION)
            shares.append(np.array([best[docid] / total for docid in docids.tolist()], np.float64))
        return shares

    def match(
        self, prepared: PreparedOpenSearchQueries, candidates: Sequence[Array], known: Sequence[TopDocs] | None = None
    ) -> CandidateMatches:
        """Match each query with its candidates: docids in any order. known: retrieved ones, not scored again."""
        scores = score_missing(known, candidates, partial(self.score, prepared))
        return CandidateMatches(candidates, scores, self.coverage(prepared, candidates))

    def contributions(
        self, prepared: PreparedOpenSearchQueries, candidates: Sequence[Array], known: CandidateMatches | None = None
    ) -> list[list[TermContributions]]:
        """Return what each term adds to the score of each query's candidates (docids in any order)."""
        rows: list[list[TermContributions]] = []
        for row, (docids, texts) in enumerate(zip(candidates, self._read_texts(prepared, candidates), strict=True)):
            best = {int(docid): (0.0, TermContributions()) for docid in docids}
            scored = self._score_texts(prepared, row, [terms.split() for _, _, terms in texts])
            for (docid, phrasing, _), scores in zip(texts, scored, strict=True):
                if (total := sum(score for _, score in scores)) > best[docid][0]:
                    best[docid] = total, TermContributions(phrasing, scores)
            rows.append([best[int(docid)][1] for docid in docids])
        return rows

    def complete(self, prefix: str) -> list[str]:
        """Return the terms that begin with a prefix, by descending document frequency, at most MAX_COMPLETIONS."""
        known = self._completions
        if prefix not in known:
            if len(known) >= MAX_CACHED_PREFIXES:
                known = self._completions = {}
            known[prefix] = self._find_completions(prefix)
        return known[prefix]

    def _find_completions(self, prefix: str) -> list[str]:
        escaped = "".join(f"\\{c}" if not c.isalnum() else c for c in prefix)
        words = {"field": "vocabulary", "include": f"{escaped}.*", "size": MAX_COMPLETIONS}
        orders: Sequence[Mapping[str, str]] = ({"_count": "desc"}, {"_key": "asc"})
        own: Mapping[str, Any] = {"term": {"phrasing": 0}}
        found: dict[str, None] = {}
        for condition, order in (own, orders), ({"bool": {"must_not": own}}, orders[1:]):
            if condition is not own and len(self._fields) < 2:
                break
            terms = {**words, "shard_size": 10 * MAX_COMPLETIONS, "order": list(order)}
            query = {"bool": {"filter": [condition, {"prefix": {"vocabulary": prefix}}]}}
            body = {"size": 0, "query": query, "aggs": {"words": {"terms": terms}}}
            buckets = self._cluster.search_later(self._index, body).buckets("words")
            found |= dict.fromkeys(bucket["key"] for bucket in buckets)
        return list(found)[:MAX_COMPLETIONS]

    def _search_docids(self, prepared: PreparedOpenSearchQueries, row: int, docids: Array) -> dict[str, PendingSearch]:
        sizes = {OWN: len(docids), REPHRASING: len(docids) * self._phrasings}
        return self._search_fields(prepared, row, sizes, [{"terms": {"docid": docids.tolist()}}])

    def _search_fields(
        self,
        prepared: PreparedOpenSearchQueries,
        row: int,
        sizes: Mapping[str, int],
        filters: Sequence[Mapping[str, Any]],
    ) -> dict[str, PendingSearch]:
        """Return a search for own texts, and one for rephrasings if there are any."""
        query = prepared.queries[row]
        excluded = exclusion_clauses(query.excluded_docid, query.excluded_phrasing)
        order = {"sort": [{"_score": "desc"}, {"docid": "asc"}], "track_total_hits": False}
        searches = {}
        for field, size in sizes.items():
            clauses = self._term_clauses(prepared, row, field) if field in self._fields else []
            if not clauses:
                continue
            found = {"should": clauses, "minimum_should_match": 1, "filter": filters, "must_not": excluded}
            body = {"query": {"bool": found}, "size": min(size, MAX_WINDOW), "min_score": SMALLEST_SCORE, **order}
            body["_source"] = self._phrasings == 1 and size <= SHORT_LIST and [OWN]
            searches[field] = self._cluster.search_later(self._index, body)
        return searches

    def _term_clauses(self, prepared: PreparedOpenSearchQueries, row: int, field: str) -> list[Mapping[str, Any]]:
        """Return the clauses whose scores are summed; of an unfinished word's completions, only the best counts."""

        def make(term: str, count: int = 1) -> Mapping[str, Any]:
            if field == OWN:
                return {"term": {field: {"value": term, "boost": count}}}
            lengths, scores = self._statistics.rephrasing_table(prepared.similarity, term)
            return table_clause(field, term, lengths, count * scores)

        if field == REPHRASING:
            self._statistics.look_up(prepared.terms)
        completions = [make(term) for term in prepared.completions[row]]
        clauses = [make(term, count) for term, count in Counter(prepared.queries[row].terms).items()]
        return [*clauses, {"dis_max": {"queries": completions}}] if completions else clauses

    def _order_hits(
        self, prepared: PreparedOpenSearchQueries, found: Sequence[Mapping[int, float]], counts: Sequence[int]
    ) -> list[TopDocs]:
        """Return the k best of each query's docid → score. Near ties are rescored exactly."""
        hits = [sort_hits(np.array(list(of_query), np.int64), np.array(list(of_query.values()))) for of_query in found]
        uncertain = [nearly_equal(top.scores, k) for top, k in zip(hits, counts, strict=True)]
        unclear = [top.docids[which] for top, which in zip(hits, uncertain, strict=True)]
        texts = self._read_texts(prepared, unclear)
        ordered = []
        for row, (top, which, k) in enumerate(zip(hits, uncertain, counts, strict=True)):
            if which.any():
                top.scores[which] = self._score_exactly(prepared, row, unclear[row], texts[row])
                top = sort_hits(top.docids, top.scores)
            ordered.append(TopDocs(top.docids[:k], top.scores[:k]))
        return ordered

    def _score_exactly(
        self, prepared: PreparedOpenSearchQueries, row: int, docids: Array, texts: Sequence[Text]
    ) -> NDArray[np.float64]:
        """Return the score of each docid as a local index computes it. texts: of these docids."""
        best = dict.fromkeys(docids.tolist(), 0.0)
        scored = self._score_texts(prepared, row, [terms.split() for _, _, terms in texts])
        for (docid, _, _), scores in zip(texts, scored, strict=True):
            best[docid] = max(best[docid], sum(score for _, score in scores))
        return np.array(list(best.values()), np.float64)

    def _read_hits(
        self, prepared: PreparedOpenSearchQueries, row: int, searches: Mapping[str, PendingSearch]
    ) -> dict[int, float]:
        """Return docid → the cluster's score of its best phrasing; cache the texts that came with the hits."""
        best: dict[int, float] = {}
        for search in searches.values():
            for hit in search.hits:
                score, docid = hit["sort"]
                best[docid] = max(score, best.get(docid, 0.0))
                if "_source" in hit:
                    prepared.texts[row][docid] = [(docid, 0, hit["_source"][OWN])]
        return best

    def _read_texts(self, prepared: PreparedOpenSearchQueries, candidates: Sequence[Array]) -> list[list[Text]]:
        """Return all texts of each query's candidates that the query may find. Each is read only once."""
        known = prepared.texts
        missing = [
            [d for d in docids.tolist() if d not in of_query]
            for docids, of_query in zip(candidates, known, strict=True)
        ]
        pending = [self._search_texts(*pair) for pair in zip(prepared.queries, missing, strict=True)]
        for of_query, docids, search in zip(known, missing, pending, strict=True):
            of_query |= {docid: [] for docid in docids}
            for hit in search.hits if search else ():
                docid, phrasing = hit["sort"]
                of_query[docid].append((docid, phrasing, *hit["_source"].values()))
        return [
            [text for docid in docids.tolist() for text in of_query[docid]]
            for docids, of_query in zip(candidates, known, strict=True)
        ]

    def _search_texts(self, query: QueryTerms, docids: Sequence[int]) -> PendingSearch | None:
        """Return a search for all phrasings of these docids that the query may find; None if there are none."""
        if not docids:
            return None
        excluded = exclusion_clauses(query.excluded_docid, query.excluded_phrasing)
        conditions = {"filter": [{"terms": {"docid": docids}}], "must_not": excluded}
        order = [{"docid": "asc"}, {"phrasing": "asc"}]
        body = {"query": {"bool": conditions}, "size": len(docids) * self._phrasings, "sort": order}
        return self._cluster.search_later(self._index, {**body, "_source": list(self._fields)})

    def _score_texts(
        self, prepared: PreparedOpenSearchQueries, row: int, texts: Sequence[Sequence[str]]
    ) -> list[list[tuple[str, float]]]:
        """Return the contribution of each term of a query to the score of each text, given as terms."""
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
        scale = self._statistics.scale(prepared.similarity, {**dict.fromkeys(completions, 1), **weights})
        weighted = scores * np.array([weights.get(term, 1) for term in terms], np.float64)
        rounded = round_to_integers(weighted, scale) / scale
        rows: list[dict[str, float]] = [{} for _ in texts]
        for place, term, score in zip(places, terms, rounded.tolist(), strict=True):
            rows[place][term] = score
        return [_drop_lesser_completions(scores, weights) for scores in rows]


def _drop_lesser_completions(scores: Mapping[str, float], weights: Mapping[str, int]) -> list[tuple[str, float]]:
    """Return the scores of a text's terms; of the completions, only the best one."""
    completed = [pair for pair in scores.items() if pair[0] not in weights]
    best = [max(completed, key=lambda pair: pair[1])] if completed else []
    return [(term, scores[term]) for term in weights if term in scores] + best
