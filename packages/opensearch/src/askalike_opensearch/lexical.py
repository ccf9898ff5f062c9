"""The inverted index in a cluster: texts are analysed here, and scored there by the similarity of the index.

Each field of a question is a field in the cluster. A question's own terms and those of its rephrasings are in two, so
that the statistics count each question once.
The cluster's scores are float32: hits with nearly equal scores are scored here, in the integers of a local index.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askalike import AllowedDocs, SettingsError, TopDocs
from askalike.plugin.index import (
    MAX_COMPLETIONS,
    MIN_INFORMATION,
    Array,
    CandidateMatches,
    DocAttributes,
    Excluded,
    FieldWeights,
    LexicalLayout,
    QueryTerms,
    TermContributions,
    TermScorer,
    field_of,
    mark_terms,
    round_to_integers,
    word_of,
)
from askalike_opensearch.connection import OpenSearchConnection, PendingSearch
from askalike_opensearch.index import (
    MAX_WINDOW,
    OpenSearchIndex,
    OpenSearchWriter,
    exclusion_clauses,
    filter_clauses,
    search_titles,
    split_docids,
)
from askalike_opensearch.scoring import (
    LONGEST,
    REPHRASINGS,
    TermStatistics,
    larger_windows,
    nearly_equal,
    score_missing,
    sort_hits,
    table_clause,
)
from askalike_opensearch.spelling import OpenSearchTermSpeller
from askalike_opensearch.state import IndexState

MAX_CACHED_PREFIXES = 10_000
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
        super().__init__(cluster, name, layout.fingerprint)
        self._similarity = similarity
        self.fields = [(_name(OWN, number), _name(REPHRASING, number)) for number in range(layout.field_count)]
        """The names of each field in own texts and in rephrasings."""

    def schema(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        tokenizer = {"type": "whitespace", "max_token_length": MAX_TOKEN}
        analysis = {"tokenizer": {"terms": tokenizer}, "analyzer": {"terms": {"type": "custom", "tokenizer": "terms"}}}
        field = {"type": "text", "analyzer": "terms", "similarity": "ranker", "index_options": "freqs"}
        similarities = {"ranker": self._similarity, "rephrasings": REPHRASINGS}
        settings = {"analysis": analysis, "index.similarity": similarities}
        rephrasing = {**field, "similarity": "rephrasings"}
        own, of_rephrasings = zip(*self.fields, strict=True)
        words = {"vocabulary": {"type": "keyword"}}
        return settings, dict.fromkeys(own, field) | dict.fromkeys(of_rephrasings, rephrasing) | words

    def make_searcher(self, state: IndexState) -> "OpenSearchLexicalSearcher":
        return OpenSearchLexicalSearcher(self.cluster, self.name, state, self.fields)

    def make_writer(self, generation: str, state: IndexState) -> "OpenSearchLexicalWriter":
        return OpenSearchLexicalWriter(self, generation, state)


class OpenSearchLexicalWriter(OpenSearchWriter[OpenSearchLexicalIndex]):
    """Adds questions (or answers) as lists of terms."""

    def add(self, docid: int, phrasings: Sequence[tuple[int, Sequence[str]]], attributes: DocAttributes) -> None:
        """Add a question as (phrasing, terms), its own text being phrasing 0. Docids must ascend."""
        self.replace((docid,))
        fields = range(len(self.index.fields))
        for phrasing, terms in phrasings:
            words = [word_of(term) for term in terms]
            names = [names[phrasing > 0] for names in self.index.fields]
            texts = {
                name: " ".join(word for word, term in zip(words, terms, strict=True) if field_of(term) == field)
                for field, name in zip(fields, names, strict=True)
            }
            document = {name: text for name, text in texts.items() if text or name == names[0]}
            size = 2 * sum(map(len, terms)) + 200
            self.put(docid, phrasing, attributes, {**document, "vocabulary": sorted(set(words))}, size)
        lengths = [Counter(map(field_of, terms)) for _, terms in phrasings]
        self._note_lengths([[lengths[0][n], max((own[n] for own in lengths[1:]), default=0)] for n in fields])

    def _note_lengths(self, lengths: Sequence[Sequence[int]]) -> None:
        """Note the lengths of an own text and of its longest rephrasing in each field, where they are the longest."""
        before = (self.state.facts or {}).get(LONGEST, [[0, 0] for _ in lengths])
        longest = [list(map(max, one, other)) for one, other in zip(before, lengths, strict=True)]
        if longest != before:
            self.state = replace(self.state, facts={LONGEST: longest})


Text = tuple[int, int, Sequence[str]]
"""Docid, phrasing, and the terms of all fields of a text."""


@dataclass(frozen=True)
class PreparedOpenSearchQueries:
    """Queries with the terms that complete their unfinished words, in all fields.

    fields: the weights of fields. texts: for each query, docid → its texts that the query may find, if they have been
    read.
    """

    queries: Sequence[QueryTerms]
    similarity: TermScorer
    fields: FieldWeights
    completions: Sequence[Sequence[str]]
    texts: Sequence[dict[int, list[Text]]]

    @cached_property
    def terms(self) -> set[str]:
        """All terms that the queries look for."""
        return {term for query in self.queries for term in query.terms} | {t for row in self.completions for t in row}

    def completion_weight(self, row: int, term: str) -> float:
        """Return the weight of a term as a completion; 1 for any other."""
        query = self.queries[row]
        return 1.0 if term in query.terms else query.completion_weights.get(word_of(term), 1.0)

    def weight(self, row: int, term: str) -> float:
        """Return the weight of a term in a query: that of its field, times that of its word as a completion, if it is
        one, and the word's factor.
        """
        factors = self.queries[row].field_factors
        weight = self.fields[field_of(term)] if self.fields else 1.0
        weight *= self.queries[row].word_factors.get(word_of(term), 1.0)
        weight *= self.completion_weight(row, term)
        return weight * factors[field_of(term)] if factors else weight


class OpenSearchLexicalSearcher:
    """Searches an inverted index of a cluster. Its methods are those of index.lexical's PostingsSearcher."""

    def __init__(
        self, cluster: OpenSearchConnection, index: str, state: IndexState, fields: Sequence[tuple[str, str]]
    ) -> None:
        """fields: see OpenSearchLexicalIndex."""
        self._cluster, self._index, self._phrasings = cluster, index, state.phrasings
        kinds = dict(zip((OWN, REPHRASING), zip(*fields, strict=True), strict=True))
        self._names = kinds if state.phrasings > 1 else {OWN: kinds[OWN]}
        """The names of the fields in own texts, and in rephrasings if there are any."""
        self._fields = [name for names in self._names.values() for name in names]
        self._statistics = TermStatistics(cluster, index, state, fields)
        self._completions: dict[str, list[str]] = {}
        self.speller = OpenSearchTermSpeller(cluster, index, self._fields, self._statistics)
        """Finds terms that are spelt nearly like a word."""

    def prepare(
        self, queries: Sequence[QueryTerms], similarity: TermScorer, fields: FieldWeights
    ) -> PreparedOpenSearchQueries:
        """Look up the completions of unfinished words. Raises SettingsError for queries with weights of words."""
        if any(query.weights is not None for query in queries):
            raise SettingsError("OpenSearch cannot weight the words of a query; rank without --engine")
        queries = list(queries)
        completions = []
        for query in queries:
            found = dict.fromkeys([*query.prefix_terms, *self.complete(query.prefix)]) if query.prefix else {}
            marked = [term for field in range(self._statistics.field_count) for term in mark_terms(found, field)]
            completions.append([term for term in marked if term not in query.terms])
        return PreparedOpenSearchQueries(queries, similarity, fields, completions, [{} for _ in queries])

    def search(
        self, prepared: PreparedOpenSearchQueries, k: int, allowed: AllowedDocs | None = None
    ) -> Sequence[TopDocs]:
        """Return the k best questions of each query, each by its best phrasing."""
        if k < 1:
            return [TopDocs(np.empty(0, np.int64), np.empty(0)) for _ in prepared.queries]
        filters = filter_clauses(allowed)
        sizes = {OWN: k + MORE_TEXTS, REPHRASING: REPHRASINGS_PER_HIT * k + MORE_REPHRASINGS}
        rows = list(range(len(prepared.queries)))
        pending = [self._search_fields(prepared, row, sizes, filters) for row in rows]
        fetched, found = [sizes] * len(pending), [dict[int, float]()] * len(pending)
        while rows:  # of all queries together, until no further text can be among the k best of any
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

    def find_titles(self, keys: Sequence[int], exclusions: Sequence[Excluded | None]) -> Mapping[int, Sequence[int]]:
        """See TitlesSearcher."""
        return search_titles(self._cluster, self._index, keys, exclusions)

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

    def _own_scores(self, prepared: PreparedOpenSearchQueries, row: int) -> NDArray[np.float64]:
        """Return the score of a query for a text with the same words, in each field, (F); 0 without words."""
        query, completions = prepared.queries[row], prepared.completions[row]
        counts = Counter(query.terms)
        own = np.zeros(self._statistics.field_count)
        if not (terms := [*counts, *completions]):
            return own
        fields = np.array(list(map(field_of, terms)))
        tf = np.array([*counts.values(), *([1] * len(completions))], np.float64)
        of_query = Counter(map(field_of, query.terms)) + Counter(set(map(field_of, completions)))
        lengths = np.array([of_query[field] for field in fields.tolist()], np.int64)
        heaviest = max((prepared.completion_weight(row, term) for term in completions), default=1.0)
        own_weights = [
            heaviest / prepared.completion_weight(row, term) if term in completions else 1.0 for term in terms
        ]
        weights = tf * np.array([prepared.weight(row, term) for term in terms]) * own_weights
        each = self._statistics.score(prepared.similarity, terms, tf, lengths) * weights
        own += np.bincount(fields[: len(counts)], each[: len(counts)], len(own))
        for field in set(map(field_of, completions)):
            own[field] += each[len(counts) :][fields[len(counts) :] == field].min()
        return own

    def _absolute_scores(
        self, prepared: PreparedOpenSearchQueries, row: int, docids: Array, texts: Sequence[Text]
    ) -> NDArray[np.float64]:
        """Return the absolute score of each docid for a query, see CandidateMatches. texts: of these docids."""
        query, completions = prepared.queries[row], prepared.completions[row]
        idf = self._statistics.information([*dict.fromkeys(query.terms), *completions])
        for field in range(self._statistics.field_count):
            same = [term for term in completions if field_of(term) == field]
            least = min((idf[term] for term in same), default=0.0)
            idf |= {term: least * prepared.completion_weight(row, term) for term in same}
        own = np.array([self._own_scores(prepared, row), self._sum_words(idf, query.terms, completions)])
        own = np.maximum(own, MIN_INFORMATION)
        best = {docid: np.zeros_like(own) for docid in docids.tolist()}
        scored = self._score_texts(prepared, row, [terms for _, _, terms in texts])
        for (docid, _, terms), scores in zip(texts, scored, strict=True):
            in_fields = np.zeros(own.shape[1])
            for term, score in scores:
                in_fields[field_of(term)] += score
            shared = self._sum_words(idf, {*terms}.intersection(query.terms), {*terms}.intersection(completions))
            best[docid] = np.maximum(best[docid], [in_fields, shared])
        factors = np.array(query.field_factors or (1.0,) * own.shape[1])
        return np.array([((best[docid] / own).mean(0) * factors).max() for docid in docids.tolist()], np.float64)

    def _sum_words(
        self, idf: Mapping[str, float], terms: Iterable[str], completions: Iterable[str]
    ) -> NDArray[np.float64]:
        """Return the idf of distinct terms in each field, (F); of the completions in a field, the heaviest counts."""
        total = np.zeros(self._statistics.field_count)
        completed = np.zeros_like(total)
        for term in dict.fromkeys(terms):
            total[field_of(term)] += idf[term]
        for term in completions:
            completed[field_of(term)] = max(completed[field_of(term)], idf[term])
        return total + completed

    def match(
        self, prepared: PreparedOpenSearchQueries, candidates: Sequence[Array], known: Sequence[TopDocs] | None = None
    ) -> CandidateMatches:
        """Match each query with its candidates: docids in any order. known: retrieved ones, not scored again."""
        scores = score_missing(known, candidates, partial(self.score, prepared))
        self._statistics.look_up(prepared.terms)
        texts = self._read_texts(prepared, candidates)
        rows = zip(range(len(texts)), candidates, texts, strict=True)
        return CandidateMatches(candidates, scores, [self._absolute_scores(prepared, *row) for row in rows])

    def contributions(
        self, prepared: PreparedOpenSearchQueries, candidates: Sequence[Array], known: CandidateMatches | None = None
    ) -> list[list[TermContributions]]:
        """Return what each term adds to the score of each query's candidates (docids in any order)."""
        rows: list[list[TermContributions]] = []
        for row, (docids, texts) in enumerate(zip(candidates, self._read_texts(prepared, candidates), strict=True)):
            best = {int(docid): (0.0, TermContributions()) for docid in docids}
            scored = self._score_texts(prepared, row, [terms for _, _, terms in texts])
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
        excluded = exclusion_clauses(query.excluded)
        order = {"sort": [{"_score": "desc"}, {"docid": "asc"}], "track_total_hits": False}
        searches = {}
        for kind, size in sizes.items():
            clauses = self._term_clauses(prepared, row, kind) if kind in self._names else []
            if not clauses:
                continue
            found = {"should": clauses, "minimum_should_match": 1, "filter": filters, "must_not": excluded}
            body = {"query": {"bool": found}, "size": min(size, MAX_WINDOW), "min_score": SMALLEST_SCORE, **order}
            body["_source"] = self._phrasings == 1 and size <= SHORT_LIST and self._fields
            searches[kind] = self._cluster.search_later(self._index, body)
        return searches

    def _term_clauses(self, prepared: PreparedOpenSearchQueries, row: int, kind: str) -> list[Mapping[str, Any]]:
        """Return the clauses whose scores are summed; of the completions in a field, only the best counts."""

        def make(term: str, count: int = 1) -> Mapping[str, Any]:
            name = self._names[kind][field_of(term)]
            boost = count * prepared.weight(row, term)
            if kind == OWN:
                return {"term": {name: {"value": word_of(term), "boost": boost}}}
            lengths, scores = self._statistics.rephrasing_table(prepared.similarity, term)
            return table_clause(name, word_of(term), lengths, boost * scores)

        if kind == REPHRASING:
            self._statistics.look_up(prepared.terms)
        completions: dict[int, list[Mapping[str, Any]]] = {}
        for term in prepared.completions[row]:
            completions.setdefault(field_of(term), []).append(make(term))
        clauses = [make(term, count) for term, count in Counter(prepared.queries[row].terms).items()]
        return [*clauses, *({"dis_max": {"queries": queries}} for queries in completions.values())]

    def _order_hits(
        self, prepared: PreparedOpenSearchQueries, found: Sequence[Mapping[int, float]], counts: Sequence[int]
    ) -> list[TopDocs]:
        """Return the k best of each query's docid → score. Near ties are rescored exactly."""
        hits = list(map(sort_hits, found))
        uncertain = [nearly_equal(top.scores, k) for top, k in zip(hits, counts, strict=True)]
        unclear = [top.docids[which] for top, which in zip(hits, uncertain, strict=True)]
        texts = self._read_texts(prepared, unclear)
        ordered = []
        for row, (top, which, k) in enumerate(zip(hits, uncertain, counts, strict=True)):
            if which.any():
                top.scores[which] = self._score_exactly(prepared, row, unclear[row], texts[row])
                top = sort_hits(dict(zip(top.docids.tolist(), top.scores.tolist(), strict=True)))
            ordered.append(TopDocs(top.docids[:k], top.scores[:k]))
        return ordered

    def _score_exactly(
        self, prepared: PreparedOpenSearchQueries, row: int, docids: Array, texts: Sequence[Text]
    ) -> NDArray[np.float64]:
        """Return the score of each docid as a local index computes it. texts: of these docids."""
        best = dict.fromkeys(docids.tolist(), 0.0)
        scored = self._score_texts(prepared, row, [terms for _, _, terms in texts])
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
                    prepared.texts[row][docid] = [(docid, 0, self._read_terms(hit["_source"]))]
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
                of_query[docid].append((docid, phrasing, self._read_terms(hit["_source"])))
        return [
            [text for docid in docids.tolist() for text in of_query[docid]]
            for docids, of_query in zip(candidates, known, strict=True)
        ]

    def _read_terms(self, source: Mapping[str, str]) -> list[str]:
        """Return the terms of all fields of a text."""
        named = [(number, source.get(name, "")) for names in self._names.values() for number, name in enumerate(names)]
        return [term for number, text in named for term in mark_terms(text.split(" ") if text else (), number)]

    def _search_texts(self, query: QueryTerms, docids: Sequence[int]) -> PendingSearch | None:
        """Return a search for all phrasings of these docids that the query may find; None if there are none."""
        if not docids:
            return None
        excluded = exclusion_clauses(query.excluded)
        conditions = {"filter": [{"terms": {"docid": docids}}], "must_not": excluded}
        order = [{"docid": "asc"}, {"phrasing": "asc"}]
        body = {"query": {"bool": conditions}, "size": len(docids) * self._phrasings, "sort": order}
        return self._cluster.search_later(self._index, {**body, "_source": self._fields})

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
            lengths_of = Counter(map(field_of, terms))
            matches += [(place, term, n, lengths_of[field_of(term)]) for term, n in counts.items()]
        if not matches:
            return [[] for _ in texts]
        places, terms, tf, lengths = zip(*matches, strict=True)
        scores = self._statistics.score(prepared.similarity, terms, np.array(tf, np.float64), np.array(lengths))
        factors = {
            term: n * prepared.weight(row, term) for term, n in {**dict.fromkeys(completions, 1), **weights}.items()
        }
        scale = self._statistics.scale(prepared.similarity, factors)
        weighted = scores * np.array([factors[term] for term in terms], np.float64)
        rounded = round_to_integers(weighted, scale) / scale
        rows: list[dict[str, float]] = [{} for _ in texts]
        for place, term, score in zip(places, terms, rounded.tolist(), strict=True):
            rows[place][term] = score
        return [_drop_lesser_completions(scores, weights) for scores in rows]


def _name(kind: str, field: int) -> str:
    """Return the name of a field in the cluster."""
    return f"{kind}{field or ''}"


def _drop_lesser_completions(scores: Mapping[str, float], weights: Mapping[str, int]) -> list[tuple[str, float]]:
    """Return the scores of a text's terms; of the completions in a field, only the best one."""
    best: dict[int, tuple[str, float]] = {}
    for term, score in scores.items():
        if term not in weights and score > best.get(field_of(term), ("", 0.0))[1]:
            best[field_of(term)] = term, score
    return [*((term, scores[term]) for term in weights if term in scores), *best.values()]
