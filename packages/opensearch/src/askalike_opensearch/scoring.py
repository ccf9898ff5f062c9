"""Scores of a cluster: its similarities, the statistics behind them, and which of its hits must be scored again here.

The term statistics of a similarity are those of questions' own texts, which are not available to the similarity of
another field. So the similarity of rephrasings encodes frequency and length as one number, and each query contains the
score of each number."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askalike import SettingsError, TopDocs
from askalike.plugin.index import (
    MAX_REPHRASING_GAIN,
    Array,
    FieldStatistics,
    Floats,
    TermScorer,
    field_of,
    find_distinct,
    find_positions,
    integer_scale,
    mark_terms,
    round_lengths,
    score_bounds,
    score_fields,
    term_information,
    word_of,
)
from askalike.similarities.bm25 import Bm25Similarity
from askalike.similarities.dfr import DfrSimilarity
from askalike.similarities.ib import IbSimilarity
from askalike.similarities.lm_dirichlet import LmDirichletSimilarity
from askalike.similarities.lm_jelinek_mercer import LmJelinekMercerSimilarity
from askalike.similarities.tfidf import TfidfSimilarity
from askalike_opensearch.connection import OpenSearchConnection, PendingSearch
from askalike_opensearch.index import MAX_WINDOW
from askalike_opensearch.state import IndexState

BASE = 4_096
"""Frequencies and lengths are below this, so that both fit into the 24 bits of a float32's mantissa."""
MAX_FREQUENCY = 64
"""Higher frequencies of a term in a rephrasing are capped at this for the cluster's search."""
REPHRASINGS = {
    "type": "scripted",
    "script": {
        "source": f"return query.boost * (Math.min(doc.freq, {BASE - 1}) * {BASE} + {BASE - 1} "
        f"- Math.min(doc.length, {BASE - 1}));"
    },
}
"""It increases with the frequency and decreases with the length, as Lucene requires of a similarity."""
_LOOK_UP = f"""
int code = (int) _score;
int frequency = code / {BASE};
int length = {BASE - 1} - code % {BASE};
List lengths = params.lengths, scores = params.scores;
int place = Collections.binarySearch(lengths, length);
int column = place < 0 ? -place - 1 : place;
int row = (frequency > scores.size() ? scores.size() : frequency) - 1;
return (double) scores.get(row)[column < lengths.size() ? column : lengths.size() - 1];
"""


def score_missing(
    known: Sequence[TopDocs] | None, docids: Sequence[Array], score: Callable[[Sequence[Array]], Sequence[Floats]]
) -> list[Floats]:
    """Return the score of each query's documents; those that are known already are not scored with `score` again."""
    if known is None:
        return list(score(docids))
    places = [find_positions(top.docids, wanted) for top, wanted in zip(known, docids, strict=True)]
    absent = [at < 0 for at in places]
    missing = [wanted[own] for wanted, own in zip(docids, absent, strict=True)]
    fresh = score(missing) if any(map(len, missing)) else [np.empty(0)] * len(docids)
    scores = [np.append(top.scores, np.nan)[at] for top, at in zip(known, places, strict=True)]
    for own, is_absent, more in zip(scores, absent, fresh, strict=True):
        own[is_absent] = more
    return scores


def similarity_settings(similarity: TermScorer) -> Mapping[str, Any]:
    """Return the same formula as a similarity of an OpenSearch index. Raises SettingsError if it has none."""
    match similarity:
        case Bm25Similarity():
            return {"type": "BM25", "k1": similarity.k1, "b": similarity.b}
        case LmDirichletSimilarity():
            return {"type": "LMDirichlet", "mu": similarity.mu}
        case LmJelinekMercerSimilarity():
            return {"type": "LMJelinekMercer", "lambda": similarity.lam}
        case DfrSimilarity():
            model, effect = similarity.basic_model, similarity.after_effect
            return {"type": "DFR", "basic_model": model, "after_effect": effect, **_normalisation(similarity)}
        case IbSimilarity():
            lam = {"lambda": similarity.lam}
            normalisation = _normalisation(similarity)
            return {"type": "IB", "distribution": similarity.distribution, **lam, **normalisation}
        case TfidfSimilarity():
            idf = "Math.log((field.docCount + 1.0) / (term.docFreq + 1.0)) + 1.0"
            weight = f"return query.boost * Math.pow({idf}, {similarity.idf_power!r});"
            score = "return weight * Math.sqrt(doc.freq) / Math.sqrt(doc.length);"
            return {"type": "scripted", "weight_script": {"source": weight}, "script": {"source": score}}
    raise SettingsError(f"{type(similarity).__name__} has no counterpart in OpenSearch; rank without --engine")


def _normalisation(similarity: DfrSimilarity | IbSimilarity) -> dict[str, str | float]:
    name = similarity.normalisation
    parameters = {"h3": ("mu", similarity.mu), "z": ("z", similarity.z)}
    if name == "none":
        return {"normalization": "no"}
    parameter, value = parameters.get(name, ("c", similarity.c))
    return {"normalization": name, f"normalization.{name}.{parameter}": value}


def table_clause(field: str, term: str, lengths: Sequence[int], scores: Floats) -> Mapping[str, Any]:
    """Return the clause that scores texts with a term. scores: (frequencies from 1, lengths), lengths ascending."""
    parameters = {"lengths": list(lengths), "scores": scores.tolist()}
    script = {"source": _LOOK_UP, "params": parameters}
    return {"script_score": {"query": {"term": {field: term}}, "script": script}}


LONGEST = "longest"
"""Key of a state's facts for the lengths of the longest own text and of the longest rephrasing."""


@dataclass(slots=True)
class TermCounts:
    """A term's df and ttf in a field of own texts, and its maximum frequency in that field of a rephrasing."""

    df: int = 0
    ttf: int = 0
    max_frequency: int = 1
    is_present: bool = False

    def add(self, df: int, ttf: int) -> None:
        """Add a shard's counts of own texts."""
        self.df, self.ttf, self.is_present = self.df + df, self.ttf + ttf, self.is_present or df > 0

    def add_rephrasings(self, df: int, ttf: int) -> None:
        """Add a shard's counts of rephrasings."""
        self.max_frequency, self.is_present = max(self.max_frequency, ttf - df + 1), self.is_present or df > 0


class TermStatistics:
    """Document frequencies of terms and totals over the whole index, read from every shard and cached.

    They are Lucene's, as used by `dfs_query_then_fetch`.
    """

    def __init__(
        self, cluster: OpenSearchConnection, index: str, state: IndexState, fields: Sequence[tuple[str, str]]
    ) -> None:
        """fields: the names of each field in own texts and in rephrasings."""
        self._cluster, self._index, self._routings = cluster, index, state.routings
        self._fields = fields
        self._known: dict[str, TermCounts] = {}
        self._tables: dict[tuple[TermScorer, str], Floats] = {}
        self._own: Sequence[FieldStatistics] = ()
        self._longest: Sequence[Sequence[int]] = (state.facts or {}).get(LONGEST, [(0, 0)] * len(fields))
        lengths = [np.arange(1, min(of_rephrasing, BASE - 1) + 1) for _, of_rephrasing in self._longest]
        self._rephrasing_lengths = [find_distinct(round_lengths(own)).tolist() for own in lengths]

    @property
    def field_count(self) -> int:
        """The number of fields."""
        return len(self._fields)

    def look_up(self, terms: Iterable[str]) -> None:
        """Read the statistics of those terms that are not cached yet."""
        new = [term for term in dict.fromkeys(terms) if term not in self._known]
        if not new and self._own:
            return
        counts = {term: TermCounts() for term in new}
        totals = np.zeros((len(self._fields), 2), np.int64)
        for document in self._read_term_vectors(new):
            vectors = document.get("term_vectors", {})
            for number, (own, rephrasing) in enumerate(self._fields):
                totals[number] += _read_field(vectors.get(own), number, counts, TermCounts.add)
                _read_field(vectors.get(rephrasing), number, counts, TermCounts.add_rephrasings)
        self._known |= counts
        if not self._own:
            sums = zip(totals.tolist(), self._longest, strict=True)
            self._own = [FieldStatistics.of_counts(n, words, longest) for (n, words), (longest, _) in sums]

    def count(self, term: str) -> int:
        """Return the df of a term, at least 1 if any text has it, even if only rephrasings do; else 0."""
        known = self._known[term]
        return max(known.df, 1) if known.is_present else 0

    def score(self, similarity: TermScorer, terms: Sequence[str], tf: Floats, lengths: NDArray[np.int64]) -> Floats:
        """Return the score of each term in a text of that length, as in a local index: float64 (n)."""
        names, places = np.unique(np.array(terms, np.object_), return_inverse=True)
        bounds = self._bounds(similarity, names.tolist())
        rounded = round_lengths(np.maximum(lengths, 1)).astype(np.float64)
        df, ttf = self._counts(names)[places].T

        def score(at: Any, own: FieldStatistics) -> Floats:
            return similarity.score(tf[at], rounded[at], df[at], ttf[at], own.collection)

        scores = score_fields(np.array(list(map(field_of, terms)), np.uint8), self._own, score)
        return np.minimum(scores, MAX_REPHRASING_GAIN * bounds[places])

    def scale(self, similarity: TermScorer, weights: Mapping[str, float]) -> Floats:
        """Return the integer that a score of 1 becomes, as in a local index: (1,). weights: of the query's terms."""
        bounds = self._bounds(similarity, list(weights))
        return integer_scale(np.array([np.sum(np.array(list(weights.values())) * bounds)]))

    def rephrasing_table(self, similarity: TermScorer, term: str) -> tuple[Sequence[int], Floats]:
        """Return the lengths of rephrasings, and a term's scores in them: (frequencies from 1, lengths)."""
        lengths = self._rephrasing_lengths[field_of(term)] or (1,)
        if (similarity, term) not in self._tables:
            most = min(self._known[term].max_frequency, MAX_FREQUENCY, max(lengths))
            tf, length = (grid.ravel() for grid in np.meshgrid(np.arange(1.0, most + 1), lengths, indexing="ij"))
            scores = self.score(similarity, [term] * len(tf), tf, length.astype(np.int64))
            self._tables[similarity, term] = scores.reshape(most, len(lengths))
        return lengths, self._tables[similarity, term]

    def information(self, terms: Sequence[str]) -> dict[str, float]:
        """Return the idf of each term, see `term_information`."""
        df = self._counts(terms)[:, 0]

        def inform(at: Any, own: FieldStatistics) -> Floats:
            return term_information(df[at], own.collection.documents)

        idf = score_fields(np.array(list(map(field_of, terms)), np.uint8), self._own, inform)
        return dict(zip(terms, idf.tolist(), strict=True))

    def _bounds(self, similarity: TermScorer, terms: Sequence[str]) -> Floats:
        df, ttf = self._counts(terms).T

        def bound(at: Any, own: FieldStatistics) -> Floats:
            return score_bounds(similarity, df[at], ttf[at], own)

        return score_fields(np.array(list(map(field_of, terms)), np.uint8), self._own, bound)

    def _counts(self, terms: Iterable[str]) -> Floats:
        """Return (terms, 2): each term's df and ttf in questions' own texts."""
        known = (self._known[term] for term in terms)
        return np.array([(one.df, one.ttf) for one in known], np.float64).reshape(-1, 2)

    def _read_term_vectors(self, terms: Sequence[str]) -> Sequence[Mapping[str, Any]]:
        """Return every shard's statistics of these terms, requested as term vectors of an artificial document."""
        if not self._routings:  # nothing is indexed yet
            return []
        texts = {
            name: " ".join(word_of(term) for term in terms if field_of(term) == number) or "x"
            for number, names in enumerate(self._fields)
            for name in names
        }
        document = {"doc": texts, "fields": list(texts)}
        options = {"term_statistics": True, "field_statistics": True, "positions": False, "offsets": False}
        documents = [{"_index": self._index, "routing": routing, **document, **options} for routing in self._routings]
        return self._cluster.term_vectors(documents)


def _read_field(
    vectors: Mapping[str, Any] | None, field: int, counts: Mapping[str, TermCounts],
    add: Callable[[TermCounts, int, int], None],
) -> tuple[int, int]:  # fmt: skip
    """Add a shard's counts of a field's terms; return its number of documents with the field, and of their words."""
    if vectors is None:
        return 0, 0
    for word, found in vectors["terms"].items():
        [term] = mark_terms([word], field)
        if term in counts:
            add(counts[term], found.get("doc_freq", 0), found.get("ttf", 0))
    sums = vectors["field_statistics"]
    return max(sums["doc_count"], 0), max(sums["sum_ttf"], 0)


NEARLY_EQUAL = 1 - 2e-6
"""The cluster's scores differ from the exact ones by less than this factor."""


def sort_hits(scores: Mapping[int, float], k: int | None = None) -> TopDocs:
    """Return the k best documents (None: all) of docid → score, ties by docid."""
    docids, values = np.array(list(scores), np.int64), np.array(list(scores.values()), np.float64)
    order = np.lexsort((docids, -values))[:k]
    return TopDocs(docids[order], values[order])


def larger_windows(
    searches: Mapping[str, PendingSearch], fetched: Mapping[str, int], found: Mapping[int, float], k: int
) -> dict[str, int]:
    """Return field → the number of texts to fetch, for fields with further texts that may be among the k best."""
    worst = sorted(found.values(), reverse=True)[:k][-1] if len(found) >= k else 0.0
    return {
        field: min(4 * fetched[field], MAX_WINDOW)
        for field, search in searches.items()
        if fetched[field] == len(search.hits) < MAX_WINDOW and _may_go_on(search.hits, worst)
    }


def _may_go_on(hits: Sequence[Mapping[str, Any]], worst: float) -> bool:
    """Return whether hits after these may be better than the worst wanted one. Ties are by docid."""
    last: float = hits[-1]["sort"][0]
    return last > worst * NEARLY_EQUAL and last != worst


def nearly_equal(scores: NDArray[np.float64], k: int) -> NDArray[np.bool_]:
    """Return which of some descending scores are in a group of nearly equal ones that begins in the first k.

    A group with exactly the same score need not be rescored: its texts have the same terms equally often.
    """
    uncertain = np.zeros(len(scores), np.bool_)
    ends = [*np.flatnonzero(scores[1:] < scores[:-1] * NEARLY_EQUAL) + 1, len(scores)]
    for start, end in zip([0, *ends], ends, strict=False):
        uncertain[start:end] = start < min(k, end) and scores[start] != scores[end - 1]
    return uncertain
