"""The terms of a cluster's index that a misspelt word may stand for."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from askalike.index.cluster.connection import ClusterConnection
from askalike.index.lexical.edits import code_points, find_near_terms, sign_terms
from askalike.index.lexical.spelling import MAX_REMEMBERED_TERMS, NearTerm, rank_near_terms
from askalike.index.lexical.terms import pack_terms

MAX_TERMS = 1_000
"""How many terms near a word are considered; more are near short words alone, which nobody corrects."""
VOCABULARY = "vocabulary"
OWN_TEXT: Mapping[str, Any] = {"term": {"phrasing": 0}}


class ClusterTermSpeller:
    """Knows an index's terms, and finds those that are spelt nearly like a word. As index.lexical's TermSpeller."""

    def __init__(self, cluster: ClusterConnection, index: str, fields: Sequence[str]) -> None:
        """fields: those that hold terms; their dictionaries are looked through."""
        self._cluster, self._index, self._fields = cluster, index, fields
        self._is_known: dict[str, bool] = {}

    def unknown(self, terms: Sequence[str]) -> set[str]:
        """Return those of the terms that no document holds."""
        if len(self._is_known) > MAX_REMEMBERED_TERMS:
            self._is_known = {}
        if new := [term for term in dict.fromkeys(terms) if term not in self._is_known]:
            counts = self._count_documents(new)
            self._is_known.update((term, term in counts) for term in new)
        return {term for term in terms if not self._is_known[term]}

    def docids(self, term: str, count: int) -> list[int]:
        """Return the lowest docids of the questions that hold a term, at most so many."""
        body = {"query": {"term": {VOCABULARY: term}}, "collapse": {"field": "docid"}, "sort": ["docid"]}
        hits = self._cluster.search_later(self._index, {**body, "size": count, "_source": False}).hits
        return [int(hit["sort"][0]) for hit in hits]

    def near(
        self, word: str, max_edits: int, *, beginning: int = 0, tail: int = 0, open_end: bool = False
    ) -> list[NearTerm]:
        """Return the terms that differ from a word by at most so many edits, the best first; see TermSpeller.near.

        Where the word may have a tail no edits are allowed, where its end is open at most one.
        """
        if tail:
            shortest = max(beginning, len(word) - tail, 1)
            proposed: Iterable[str] = (word[:length] for length in range(shortest, len(word) + 1))
        elif open_end:
            proposed = self._find_beginnings(word, beginning)
        else:
            proposed = self._suggest(word, max_edits)
        counts = self._count_documents([term for term in dict.fromkeys(proposed) if term.startswith(word[:beginning])])
        terms = sorted(counts)
        dictionary = pack_terms(terms)
        ids, edits, ends = find_near_terms(
            *dictionary, *sign_terms(*dictionary), 0, len(terms), code_points(word), max_edits, tail, open_end
        )
        rows = zip(ids.tolist(), edits.tolist(), ends.tolist(), strict=True)
        return rank_near_terms(word, tail, [(counts[terms[i]], NearTerm(terms[i], n, end)) for i, n, end in rows])

    def _suggest(self, word: str, max_edits: int) -> list[str]:
        """Return the terms of the dictionaries within so many edits."""
        options = {"suggest_mode": "always", "size": MAX_TERMS, "shard_size": MAX_TERMS, "accuracy": 0.0}
        options |= {"prefix_length": 0, "min_word_length": 1, "max_edits": max_edits, "analyzer": "terms"}
        suggest = {field: {"text": word, "term": {"field": field, **options}} for field in self._fields}
        result = self._cluster.search_later(self._index, {"size": 0, "suggest": suggest}).result
        suggested = result.get("suggest", {})  # none where the index is being made, and has no shard yet
        entries = [entry for of_field in suggested.values() for entry in of_field]
        return [option["text"] for entry in entries for option in entry["options"]]

    def _find_beginnings(self, word: str, beginning: int) -> list[str]:
        """Return the terms that begin with a text within one edit of a word whose first letters are right."""
        pattern = f"{_escape(word[:beginning])}({'|'.join(_one_edit(word[beginning:]))}).*"
        matching = {"regexp": {VOCABULARY: {"value": pattern}}}
        return list(self._aggregate(matching, pattern, MAX_TERMS))

    def _count_documents(self, terms: Sequence[str]) -> dict[str, int]:
        """Return term → how many questions' own texts have it, of those terms that any text has."""
        if not terms:
            return {}
        return self._aggregate({"terms": {VOCABULARY: list(terms)}}, list(terms), len(terms))

    def _aggregate(self, matching: Mapping[str, Any], include: str | list[str], size: int) -> dict[str, int]:
        buckets = {
            "terms": {"field": VOCABULARY, "include": include, "size": size},
            "aggs": {"own": {"filter": OWN_TEXT}},
        }
        body = {"size": 0, "query": {"bool": {"filter": [matching]}}, "aggs": {"terms": buckets}}
        found = self._cluster.search_later(self._index, body).buckets("terms")
        return {bucket["key"]: int(bucket["own"]["doc_count"]) for bucket in found}


def _one_edit(text: str) -> list[str]:
    """Return patterns for a text as it is, and with a letter replaced, added, left out, or swapped with the next."""
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
