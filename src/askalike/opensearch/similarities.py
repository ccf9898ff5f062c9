"""The built-in similarities in OpenSearch's format."""

from collections.abc import Mapping
from typing import Any

from askalike.core.errors import SettingsError
from askalike.index.lexical.term_scores import TermScorer
from askalike.similarities.bm25 import Bm25Similarity
from askalike.similarities.dfr import DfrSimilarity
from askalike.similarities.ib import IbSimilarity
from askalike.similarities.lm_dirichlet import LmDirichletSimilarity
from askalike.similarities.lm_jelinek_mercer import LmJelinekMercerSimilarity
from askalike.similarities.tfidf import TfidfSimilarity


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
