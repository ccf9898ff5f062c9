"""The built-in similarities in OpenSearch's format, and the one that scores rephrasings by a table.

Term statistics are those of questions' own texts, which are not available to the similarity of another field. So the
similarity of rephrasings encodes frequency and length as one number, and each query contains the score of each number.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from askalike.core.errors import SettingsError
from askalike.core.types import Floats
from askalike.index.lexical.term_scores import TermScorer
from askalike.similarities.bm25 import Bm25Similarity
from askalike.similarities.dfr import DfrSimilarity
from askalike.similarities.ib import IbSimilarity
from askalike.similarities.lm_dirichlet import LmDirichletSimilarity
from askalike.similarities.lm_jelinek_mercer import LmJelinekMercerSimilarity
from askalike.similarities.tfidf import TfidfSimilarity

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
            lam, normalisation = {"lambda": similarity.lam}, _normalisation(similarity)
            return {"type": "IB", "distribution": similarity.distribution, **lam, **normalisation}
        case TfidfSimilarity():
            idf = "Math.log((field.docCount + 1.0) / (term.docFreq + 1.0)) + 1.0"
            weight = f"return query.boost * Math.pow({idf}, {similarity.idf_power!r});"
            score = "return weight * Math.sqrt(doc.freq) / Math.sqrt(doc.length);"
            return {"type": "scripted", "weight_script": {"source": weight}, "script": {"source": score}}
    raise SettingsError(f"{type(similarity).__name__} has no counterpart in OpenSearch; rank without --opensearch")


def _normalisation(similarity: DfrSimilarity | IbSimilarity) -> dict[str, str | float]:
    name, parameters = similarity.normalisation, {"h3": ("mu", similarity.mu), "z": ("z", similarity.z)}
    if name == "none":
        return {"normalization": "no"}
    parameter, value = parameters.get(name, ("c", similarity.c))
    return {"normalization": name, f"normalization.{name}.{parameter}": value}


def table_clause(field: str, term: str, lengths: Sequence[int], scores: Floats) -> Mapping[str, Any]:
    """Return the clause that scores texts with a term. scores: (frequencies from 1, lengths), lengths ascending."""
    parameters = {"lengths": list(lengths), "scores": scores.tolist()}
    script = {"source": _LOOK_UP, "params": parameters}
    return {"script_score": {"query": {"term": {field: term}}, "script": script}}
