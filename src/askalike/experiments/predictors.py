"""Query performance prediction: estimates how well a query will be answered, only from its words and scores.

Pre-retrieval: the maximum idf, and SCQ (Zhao, Scholer and Tsegay 2008). Post-retrieval: clarity (Cronen-Townsend, Zhou
and Croft 2002), WIG (Zhou and Croft 2007) and NQC (Shtok, Kurland and Carmel 2012). The last two compare with the score
of the whole collection as one document, which is not defined for every similarity: here it is the mean score of the
first COLLECTION_DEPTH documents.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from askalike.core.errors import SettingsError
from askalike.core.types import Floats, Question, TopDocs
from askalike.index.lexical.searcher import CollectionFrequencies
from askalike.rankers import Searcher, resolve
from askalike.rankers.lexical import LexicalSearcher

COLLECTION_DEPTH = 1_000
CLARITY_DOCUMENTS, CLARITY_TERMS = 100, 100
WIG_DOCUMENTS = 5
NQC_DOCUMENTS = 100
BATCH_SIZE = 256


@dataclass(frozen=True, slots=True)
class QueryEvidence:
    """Facts about a query that do not need judgements.

    terms: the statistics of its distinct terms. scores: of its first COLLECTION_DEPTH documents, best first; at least
    one. relevance: term → P(w|R), for the words of the first documents. words: the statistics of these, in that order.
    """

    terms: CollectionFrequencies
    scores: Floats
    relevance: Mapping[str, float]
    words: CollectionFrequencies


def max_idf(evidence: QueryEvidence) -> float:
    """The maximum idf of a term: a rare word is specific."""
    return float(evidence.terms.idf.max(initial=0.0))


def scq(evidence: QueryEvidence) -> float:
    """The maximum of (1 + ln ttf) · ln(1 + N / df) over terms: MaxSCQ (Zhao et al. 2008, eq. 4)."""
    df, ttf = evidence.terms.df, evidence.terms.ttf
    known = df > 0
    values = (1 + np.log(ttf[known])) * np.log1p(evidence.terms.collection.documents / df[known])
    return float(values.max(initial=0.0))


def clarity(evidence: QueryEvidence) -> float:
    """The divergence of the relevance model from the collection, in bits: Σ P(w|R) · log2(P(w|R) / P(w|C))."""
    shares = np.array(list(evidence.relevance.values()))
    in_collection = evidence.words.ttf / evidence.words.collection.total
    return float((shares * np.log2(shares / in_collection)).sum())


def wig(evidence: QueryEvidence) -> float:
    """The first scores minus the collection's, over the root of the query's length (Zhou and Croft 2007)."""
    gain = evidence.scores[:WIG_DOCUMENTS].mean() - evidence.scores.mean()
    return float(gain / np.sqrt(max(len(evidence.terms.df), 1)))


def nqc(evidence: QueryEvidence) -> float:
    """The standard deviation of the first scores over the collection's score (Shtok et al. 2012, eq. 3)."""
    return float(evidence.scores[:NQC_DOCUMENTS].std() / evidence.scores.mean())


PREDICTORS: Mapping[str, Callable[[QueryEvidence], float]] = {
    "max idf": max_idf,
    "SCQ": scq,
    "clarity": clarity,
    "WIG": wig,
    "NQC": nqc,
}
"""Name → predictor; a greater value predicts better results."""


def predict_performance(searcher: Searcher, queries: Mapping[str, Question]) -> Mapping[str, Mapping[str, float]]:
    """Return predictor → query id → its value, 0 if nothing is retrieved.

    Raises SettingsError for a ranker that does not rank questions by their words, or whose index is in a cluster.
    """
    if not isinstance(searcher, LexicalSearcher) or searcher.view.kind == "answers":
        raise SettingsError(f"{searcher.name}: performance prediction needs a lexical ranking of questions")
    ids = list(queries)
    values: dict[str, dict[str, float]] = {name: dict.fromkeys(ids, 0.0) for name in PREDICTORS}
    for start in range(0, len(ids), BATCH_SIZE):
        batch = {id: queries[id] for id in ids[start : start + BATCH_SIZE]}
        for id, evidence in _collect_evidence(searcher, batch).items():
            for name, predict in PREDICTORS.items():
                values[name][id] = predict(evidence)
    return values


def _collect_evidence(searcher: LexicalSearcher, queries: Mapping[str, Question]) -> Mapping[str, QueryEvidence]:
    """Return the evidence of each query that has a hit."""
    retrieved = searcher.retrieve(resolve(searcher, queries), COLLECTION_DEPTH)
    evidence = {}
    for id, terms, top in zip(queries, retrieved.encoded.queries, retrieved.topdocs, strict=True):
        if not len(top.scores):
            continue
        relevance = _relevance_model(searcher, top)
        statistics = [searcher.term_frequencies(words) for words in (sorted({*terms.terms}), list(relevance))]
        evidence[id] = QueryEvidence(statistics[0], top.scores, relevance, statistics[1])
    return evidence


def _relevance_model(searcher: LexicalSearcher, top: TopDocs) -> Mapping[str, float]:
    """Return the likeliest words of the first documents, P(w|R) ∝ Σ_d P(w|d) · P(q|d), normalised to sum to 1."""
    docids, scores = top.docids[:CLARITY_DOCUMENTS].tolist(), top.scores[:CLARITY_DOCUMENTS].tolist()
    documents = searcher.view.questions_by_docid(docids)
    shares: dict[str, float] = defaultdict(float)
    for docid, score in zip(docids, scores, strict=True):
        terms: Sequence[str] = searcher.own_terms(documents[docid]) if docid in documents else ()
        for term in terms:
            shares[term] += score / len(terms)
    best = sorted(sorted(shares), key=lambda term: -shares[term])[:CLARITY_TERMS]
    total = sum(shares[term] for term in best)
    return {term: shares[term] / total for term in best}
