"""Spelling corrections from the terms of an index in a cluster."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from askalike.plugin.index import NearSearch, NearTerm, mark_terms, select_near_terms
from askalike_opensearch.connection import OpenSearchConnection, PendingSearch, batches
from askalike_opensearch.scoring import TermStatistics

MAX_TERMS = 1_000
"""Maximum number of similar terms of a word; only short words have more, and these are not corrected."""
COUNTED_AT_ONCE = 4_000
"""Number of terms whose document frequencies one search returns."""
VOCABULARY = "vocabulary"
OWN_TEXT: Mapping[str, Any] = {"term": {"phrasing": 0}}


class OpenSearchTermSpeller:
    """Finds the terms of an index that are spelt similarly to a word, as index.lexical's TermVocabulary does."""

    def __init__(
        self, cluster: OpenSearchConnection, index: str, fields: Sequence[str], statistics: TermStatistics
    ) -> None:
        """fields: the fields whose term dictionaries are searched."""
        self._cluster, self._index, self._fields, self._statistics = cluster, index, fields, statistics

    def count(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the df of each term that a document contains, the highest of its fields; others are left out."""
        marked = [mark_terms(terms, field) for field in range(self._statistics.field_count)]
        self._statistics.look_up(term for own in marked for term in own)
        rows = zip(terms, *marked, strict=True)
        return {term: n for term, *own in rows if (n := max(map(self._statistics.count, own), default=0))}

    def docids_of_each(self, terms: Sequence[str], count: int) -> list[list[int]]:
        """Return the lowest docids of the questions that contain each term, up to a limit."""
        pending = []
        for term in terms:
            body = {"query": {"term": {VOCABULARY: term}}, "collapse": {"field": "docid"}, "sort": ["docid"]}
            pending.append(self._cluster.search_later(self._index, {**body, "size": count, "_source": False}))
        return [[int(hit["sort"][0]) for hit in search.hits] for search in pending]

    def near_each(self, searches: Sequence[NearSearch]) -> list[list[NearTerm]]:
        """Return the terms near each word, best first; see TermVocabulary.near.

        With a tail no edits are allowed, with an open end at most one.
        """
        asked = [self._propose(one) for one in searches]
        proposed = [
            [term for term in propose() if term.startswith(one.word[: one.beginning])]
            for one, propose in zip(searches, asked, strict=True)
        ]
        counts = self._count_documents(sorted({term for terms in proposed for term in terms}))
        return [
            select_near_terms(one, {term: counts[term] for term in terms if term in counts})
            for one, terms in zip(searches, proposed, strict=True)
        ]

    def _propose(self, one: NearSearch) -> Callable[[], Iterable[str]]:
        """Request the terms that may be near a word; return a function that reads the answer."""
        if one.tail:
            shortest = max(one.beginning, len(one.word) - one.tail, 1)
            return lambda: (one.word[:length] for length in range(shortest, len(one.word) + 1))
        if one.open_end:
            beginnings = self._find_beginnings(one.word, one.beginning)
            return lambda: (bucket["key"] for bucket in beginnings.buckets("terms"))
        suggestions = self._suggest(one.word, one.max_edits)
        return lambda: _read_suggestions(suggestions)

    def _suggest(self, word: str, max_edits: int) -> PendingSearch:
        """Request the terms of the dictionaries within an edit distance."""
        options = {"suggest_mode": "always", "size": MAX_TERMS, "shard_size": MAX_TERMS, "accuracy": 0.0}
        options |= {"prefix_length": 0, "min_word_length": 1, "max_edits": max_edits, "analyzer": "terms"}
        suggest = {field: {"text": word, "term": {"field": field, **options}} for field in self._fields}
        return self._cluster.search_later(self._index, {"size": 0, "suggest": suggest})

    def _find_beginnings(self, word: str, beginning: int) -> PendingSearch:
        """Request the terms with a prefix within one edit of a word whose first letters are correct."""
        pattern = f"{_escape(word[:beginning])}({'|'.join(_one_edit(word[beginning:]))}).*"
        matching = {"regexp": {VOCABULARY: {"value": pattern}}}
        return self._aggregate(matching, pattern, MAX_TERMS)

    def _count_documents(self, terms: Sequence[str]) -> dict[str, int]:
        """Return term → the number of questions whose own text has it, for the terms that any text has."""
        pending = [
            self._aggregate({"terms": {VOCABULARY: some}}, some, len(some)) for some in batches(terms, COUNTED_AT_ONCE)
        ]
        buckets = (bucket for search in pending for bucket in search.buckets("terms"))
        return {bucket["key"]: int(bucket["own"]["doc_count"]) for bucket in buckets}

    def _aggregate(self, matching: Mapping[str, Any], include: str | list[str], size: int) -> PendingSearch:
        """Request the number of documents that contain each term."""
        buckets = {
            "terms": {"field": VOCABULARY, "include": include, "size": size},
            "aggs": {"own": {"filter": OWN_TEXT}},
        }
        body = {"size": 0, "query": {"bool": {"filter": [matching]}}, "aggs": {"terms": buckets}}
        return self._cluster.search_later(self._index, body)


def _read_suggestions(search: PendingSearch) -> list[str]:
    suggested = search.result.get("suggest", {})  # none if the index is being created and has no shard yet
    entries = [entry for of_field in suggested.values() for entry in of_field]
    return [option["text"] for entry in entries for option in entry["options"]]


def _one_edit(text: str) -> list[str]:
    """Return patterns for a text unchanged, and with a letter replaced, added, removed, or swapped with the next."""
    patterns = [_escape(text)]
    for n in range(len(text) + 1):
        before, after = _escape(text[:n]), _escape(text[n + 1 :])
        patterns.append(f"{before}.{_escape(text[n:])}")
        if n < len(text):
            patterns += [f"{before}.{after}", f"{before}{after}"]
        if n + 1 < len(text):
            patterns.append(f"{before}{_escape(text[n + 1] + text[n] + text[n + 2 :])}")
    return list(dict.fromkeys(pattern or "()" for pattern in patterns))


def _escape(text: str) -> str:
    return "".join(f"\\{c}" if not c.isalnum() else c for c in text)
