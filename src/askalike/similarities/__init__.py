"""Term-weighting formulas, one per file: the score of one term in one document, as Lucene 9 computes it."""

from askalike.similarities._similarity import Similarity

__all__ = ["Similarity"]
